#include "command.h"

#include <array>
#include <charconv>
#include <hiredis/hiredis.h>
#include <memory>
#include <new>

#include "error_table.h"
#include "replication.h"

namespace petstore::redis {

namespace {

// Most commands need no second allocation.
constexpr std::size_t kUsualArguments = 12;

constexpr std::string_view kCallByText = "EVAL";

}  // namespace

Command::Command(std::string_view name)
{
    args_.reserve(kUsualArguments);
    arg(name);
}

Command::Command(const Script& script, std::int64_t keys) : Command("EVALSHA")
{
    script_ = &script;
    arg(script.sha1).arg(keys);
}

Command& Command::key(std::string_view name)
{
    if (routing_ == 0) {
        routing_ = args_.size();
    }
    return own(name);
}

Command& Command::own(std::string_view value)
{
    // Room for the key names of a typical call.
    constexpr std::size_t kFirstReserve = 192;
    if (own_.empty()) {
        own_.reserve(kFirstReserve);
    }
    args_.push_back({nullptr, own_.size(), value.size()});
    own_.append(value);
    return *this;
}

Command& Command::arg(std::int64_t value)
{
    std::array<char, 20> digits;
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    return own({digits.data(), static_cast<std::size_t>(end - digits.data())});
}

Command& Command::replication_id()
{
    has_replication_id_ = true;
    return arg(Replication::kUnknownId);
}

std::string_view Command::routing_key() const noexcept
{
    return routing_ == 0 ? std::string_view()
                         : std::string_view(data_of(args_[routing_]),
                                            args_[routing_].size);
}

bool Command::fall_back_to_text(const Reply& reply) noexcept
{
    if (script_ == nullptr || form_ == Form::text
        || !is_unknown_script(reply)) {
        return false;
    }
    form_ = form_ == Form::digest ? Form::text_or_digest : Form::text;
    return true;
}

Command Command::owned() const
{
    std::size_t borrowed = 0;
    for (const Arg& arg : args_) {
        borrowed += arg.borrowed != nullptr ? arg.size : 0;
    }
    Command copy(*this);
    copy.own_.reserve(own_.size() + borrowed);
    for (Arg& arg : copy.args_) {
        if (arg.borrowed != nullptr) {
            const std::size_t offset = copy.own_.size();
            copy.own_.append(arg.borrowed, arg.size);
            arg = {nullptr, offset, arg.size};
        }
    }
    return copy;
}

std::size_t Command::size_bound() const noexcept
{
    constexpr std::size_t kFrame = 32;  // '$', the size in digits, line ends
    const Script* const text = carried_script();
    std::size_t size = kFrame + (text != nullptr ? text->text.size() : 0);
    for (const Arg& arg : args_) {
        size += kFrame + arg.size;
    }
    return size;
}

std::vector<std::string_view> Command::argv() const
{
    std::vector<std::string_view> views;
    views.reserve(args_.size());
    for (const Arg& arg : args_) {
        views.emplace_back(data_of(arg), arg.size);
    }
    if (const Script* const text = carried_script()) {
        views[0] = kCallByText;
        views[1] = text->text;
    }
    return views;
}

void Command::append_to(std::string& out, const Script* text) const
{
    // The longest command that a request sends is a page of 100.
    constexpr std::size_t kOnStack = 112;
    std::array<const char*, kOnStack> stack_texts;
    std::array<std::size_t, kOnStack> stack_sizes;
    std::vector<const char*> heap_texts;
    std::vector<std::size_t> heap_sizes;
    const char** texts = stack_texts.data();
    std::size_t* sizes = stack_sizes.data();
    if (args_.size() > kOnStack) {
        heap_texts.resize(args_.size());
        heap_sizes.resize(args_.size());
        texts = heap_texts.data();
        sizes = heap_sizes.data();
    }
    for (std::size_t i = 0; i < args_.size(); ++i) {
        texts[i] = data_of(args_[i]);
        sizes[i] = args_[i].size;
    }
    if (text != nullptr) {
        texts[0] = kCallByText.data();
        sizes[0] = kCallByText.size();
        texts[1] = text->text.data();
        sizes[1] = text->text.size();
    }

    char* formatted = nullptr;
    const auto size = redisFormatCommandArgv(
        &formatted, static_cast<int>(args_.size()), texts, sizes);
    if (size < 0) {
        throw std::bad_alloc();
    }
    const std::unique_ptr<char, decltype(&redisFreeCommand)> owner(
        formatted, redisFreeCommand);
    out.append(formatted, static_cast<std::size_t>(size));
}

}  // namespace petstore::redis
