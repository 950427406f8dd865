#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "store/link.h"

// A link whose other end is the test. It allocates no more than a real one: to
// format a command, and a command that it has no memory for is not sent.
class Wire final : public petstore::store::TurnLink {
public:
    struct Sent {
        petstore::store::ReplyHandler* handler;
        // Of the command: its name, and whether its last argument is -1.
        std::array<char, 16> name;
        bool whole;

        bool is(std::string_view text) const { return text == name.data(); }
    };

    void send(const petstore::resp::Command& command,
              petstore::store::ReplyHandler& handler) noexcept override
    {
        try {
            text_.clear();
            command.append_to(text_);
        } catch (...) {
            return handler.on_loss(petstore::store::Loss::not_sent);
        }
        // "*<arguments>\r\n$<size>\r\n<name>\r\n…"
        const auto start = text_.find('\n', text_.find('$')) + 1;
        const auto name = text_.substr(start, text_.find('\r', start) - start);
        Sent sent{&handler, {}, text_.size() > 4};
        name.copy(sent.name.data(), sent.name.size() - 1);
        const std::string_view end = "\r\n-1\r\n";
        sent.whole =
            text_.size() > end.size()
            && std::string_view(text_).substr(text_.size() - end.size()) == end;
        sent_.at(last_++ % sent_.size()) = sent;
    }

    void defer(petstore::store::Deferred& deferred) noexcept override
    {
        deferred_.at(deferred_count_++) = &deferred;
    }

    std::uint64_t session() const noexcept override { return 1; }

    void end_iteration()
    {
        for (std::size_t i = 0; i < deferred_count_; ++i) {
            deferred_[i]->emit();
        }
        deferred_count_ = 0;
    }

    bool waits() const { return first_ != last_; }
    // The oldest command, which the caller now answers.
    Sent take() { return sent_.at(first_++ % sent_.size()); }

private:
    std::string text_ = std::string(4096, ' ');  // room for any command
    std::array<Sent, 64> sent_{};
    std::size_t first_ = 0;
    std::size_t last_ = 0;
    std::array<petstore::store::Deferred*, 16> deferred_{};
    std::size_t deferred_count_ = 0;
};
