#pragma once

#include "redis/command.h"

// Makes a script call send the script's text: a new Redis knows no digests, and
// pipelined commands cannot be repeated after NOSCRIPT.
inline petstore::redis::Command as_text(petstore::redis::Command command)
{
    command.use_script_text();
    return command;
}
