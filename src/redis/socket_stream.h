#pragma once

#include <memory>
#include <string>

#include "byte_stream.h"

namespace petstore::redis {

// Return a connected socket; hiredis resolves the name and connects. Both throw
// ConnectionError.
std::unique_ptr<ByteStream> connect_tcp(const std::string& host, int port,
                                        ByteStream::Timeout timeout);
std::unique_ptr<ByteStream> connect_unix(const std::string& path,
                                         ByteStream::Timeout timeout);

}  // namespace petstore::redis
