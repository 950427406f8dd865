#pragma once

#include "redis/command.h"

// The call of a script with its text: a fresh Redis knows no digests, and
// pipelined commands cannot be repeated after NOSCRIPT.
inline petstore::redis::Command as_text(petstore::redis::Command command)
{
    command.use_script_text();
    return command;
}
