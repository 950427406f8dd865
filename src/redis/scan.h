#pragma once

#include <cstdint>
#include <string>

#include "command.h"
#include "reply.h"

namespace petstore::redis {

// Reads the names of a server's keys, a hash or a set, in pieces: while it is
// not done(), send next() and pass the reply to take(). Whatever exists from
// the first command to the last reply is found, and may be found twice.
class Scan {
public:
    // Elements per reply, roughly: few enough not to delay other clients.
    static constexpr std::int64_t kCount = 1000;

    // Of keys that match the pattern, on one server. Throw std::bad_alloc.
    static Scan of_keys(std::string pattern);
    static Scan of_hash(std::string key);
    static Scan of_set(std::string key);

    // Continues `scan` at `cursor`, which an earlier reply to it has returned.
    static Scan from(Scan scan, std::uint64_t cursor);

    bool done() const noexcept { return cursor_.empty(); }

    Command next() const;  // throws std::bad_alloc

    // Returns the names or members, or fields that are each followed by its
    // value, which are valid as long as the reply; nullptr if it is not one to
    // next(). The scan is then done. Throws std::bad_alloc.
    const Reply* take(const Reply& reply);

private:
    enum class Kind { keys, hash, set };

    Scan(Kind kind, std::string what);

    const Kind kind_;
    const std::string what_;    // the pattern, or the key
    std::string cursor_ = "0";  // empty at the end
};

}  // namespace petstore::redis
