#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reply.h"
#include "script.h"

namespace petstore::redis {

// One Redis command as a list of arguments. arg() stores text as a view, which
// must stay valid until the command is sent for the last time; key(), own() and
// integers are stored inside.
class Command {
public:
    explicit Command(std::string_view name);

    // A call of `script` by its digest, with the number of keys that follow.
    // The script must outlive the command.
    Command(const Script& script, std::int64_t keys);

    // A Redis key. The first one routes the command in a Cluster.
    Command& key(std::string_view name);

    Command& arg(std::string_view value)
    {
        args_.push_back({value.data(), 0, value.size()});
        return *this;
    }

    // For values that do not outlive the caller.
    Command& own(std::string_view value);

    Command& arg(std::int64_t value);

    // Appends, as the last argument, the replication id of the server that the
    // command is written to, as its connection reported it; a Pipeline fills it
    // in. Dashes if the server does not report it; question marks if it did not
    // report it lately, or where nothing fills it in.
    Command& replication_id();
    bool has_replication_id() const noexcept { return has_replication_id_; }

    // The script accesses keys of other slots that the command does not
    // declare. Must not be sent after ASKING: Redis applies that to each of
    // these keys (scriptVerifyClusterState in its script.c), so a key that has
    // not been migrated yet would seem not to exist.
    void set_across_slots() noexcept { across_slots_ = true; }
    bool is_across_slots() const noexcept { return across_slots_; }

    // The key that decides which server executes the command; empty if any can.
    // Valid until the command changes.
    std::string_view routing_key() const noexcept;

    // Sends the script's text instead of its digest from now on.
    void use_script_text() noexcept { form_ = Form::text; }

    // Whether to send the command once more because `reply` says that the
    // server does not know the script. If so, it now carries the text. The
    // first time, its digest will do behind another command with the text.
    bool fall_back_to_text(const Reply& reply) noexcept;

    // The script whose text the command carries; nullptr for none.
    const Script* carried_script() const noexcept
    {
        return form_ == Form::digest ? nullptr : script_;
    }
    bool may_follow_text() const noexcept
    {
        return form_ == Form::text_or_digest;
    }

    // A copy that borrows no argument, to send when this command is gone.
    // Throws std::bad_alloc.
    Command owned() const;

    // An upper bound of the length of the RESP form.
    std::size_t size_bound() const noexcept;

    // Views into this command, valid until it changes.
    std::vector<std::string_view> argv() const;

    // Appends the command's RESP form, produced by hiredis. Throws
    // std::bad_alloc.
    void append_to(std::string& out) const { append_to(out, carried_script()); }
    // The same with the script's digest.
    void append_digest_to(std::string& out) const { append_to(out, nullptr); }

private:
    // How a call names its script.
    enum class Form : std::uint8_t {
        digest,
        text_or_digest,  // see fall_back_to_text()
        text,
    };

    // Owned bytes move when more are added, so they are located by offset.
    struct Arg {
        const char* borrowed;  // nullptr: own_[offset]
        std::size_t offset;
        std::size_t size;
    };

    const char* data_of(const Arg& arg) const noexcept
    {
        return arg.borrowed ? arg.borrowed : own_.data() + arg.offset;
    }

    // `text`: the script whose text takes the place of its digest, or nullptr.
    void append_to(std::string& out, const Script* text) const;

    std::vector<Arg> args_;  // of a call, with the digest
    std::string own_;
    const Script* script_ = nullptr;  // of a call
    std::size_t routing_ = 0;         // index in args_; 0 for none
    Form form_ = Form::digest;
    bool across_slots_ = false;
    bool has_replication_id_ = false;
};

}  // namespace petstore::redis
