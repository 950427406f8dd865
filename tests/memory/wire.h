#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "redis/link.h"
#include "redis/scheduler.h"
#include "redis/script.h"

// Records commands; the test supplies the replies. Like a real link, it
// allocates only to format a command. A command without memory is not sent.
class Wire final : public petstore::redis::Link,
                   public petstore::redis::Scheduler {
public:
    struct Sent {
        petstore::redis::ReplyHandler* handler;
        // The command's name, its first argument if it has 40 bytes as a
        // script's digest has, whether its last argument is -1, and whether it
        // reads the segments of ids.
        std::array<char, 16> name;
        std::array<char, 41> digest;
        bool whole;
        bool segments;

        bool is(std::string_view text) const { return text == name.data(); }
        bool calls(const petstore::redis::Script& script) const
        {
            return is("EVALSHA") && script.sha1 == digest.data();
        }
    };

    void send(const petstore::redis::Command& command,
              petstore::redis::ReplyHandler& handler) noexcept override
    {
        try {
            text_.clear();
            command.append_to(text_);
        } catch (...) {
            return handler.on_no_reply(petstore::redis::NoReply::not_sent);
        }
        // "*<arguments>\r\n$<size>\r\n<name>\r\n…"
        const auto start = text_.find('\n', text_.find('$')) + 1;
        const auto name = std::string_view(text_).substr(
            start, text_.find('\r', start) - start);
        Sent sent{&handler, {}, {}, false, false};
        name.copy(sent.name.data(), sent.name.size() - 1);
        const std::string_view size = "\r\n$40\r\n";
        const std::string_view rest =
            std::string_view(text_).substr(start + name.size());
        if (rest.substr(0, size.size()) == size) {
            rest.substr(size.size(), 40).copy(sent.digest.data(), 40);
        }
        const std::string_view end = "\r\n-1\r\n";
        sent.whole =
            text_.size() > end.size()
            && std::string_view(text_).substr(text_.size() - end.size()) == end;
        const std::string_view segments = ":segments\r\n";
        sent.segments = name == "MGET" && text_.find(segments) != text_.npos;
        sent_.at(last_++ % sent_.size()) = sent;
    }

    void schedule(petstore::redis::EndOfIterationTask& task,
                  Stage /*stage*/) noexcept override
    {
        tasks_.at(task_count_++) = &task;
    }

    std::uint64_t
    connection_generation(std::string_view /*key*/) const noexcept override
    {
        return 1;
    }

    void end_iteration()
    {
        for (std::size_t i = 0; i < task_count_; ++i) {
            tasks_[i]->run();
        }
        task_count_ = 0;
    }

    bool waits() const { return first_ != last_; }
    // Takes the oldest command, to which the caller then replies.
    Sent take() { return sent_.at(first_++ % sent_.size()); }

private:
    std::string text_ = std::string(4096, ' ');  // room for any command
    std::array<Sent, 64> sent_{};
    std::size_t first_ = 0;
    std::size_t last_ = 0;
    std::array<petstore::redis::EndOfIterationTask*, 16> tasks_{};
    std::size_t task_count_ = 0;
};
