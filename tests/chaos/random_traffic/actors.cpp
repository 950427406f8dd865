#include "actors.h"

#include <algorithm>
#include <cstdio>

namespace petstore::e2e {

namespace {

// SplitMix64 by Sebastiano Vigna: yields the same numbers with every standard
// library, unlike std::uniform_int_distribution.
std::uint64_t mix(std::uint64_t value)
{
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
}

}  // namespace

Random::Random(std::uint64_t seed, std::string_view name) : state_(mix(seed))
{
    for (const char c : name) {
        state_ = mix(state_ + static_cast<unsigned char>(c) + 1);
    }
}

std::uint64_t Random::next()
{
    state_ += 0x9E3779B97F4A7C15u;
    return mix(state_);
}

int Random::between(int low, int high)
{
    const auto size = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<int>(next() % size);
}

std::chrono::milliseconds Random::millis(int low, int high)
{
    return std::chrono::milliseconds(between(low, high));
}

std::string Random::bytes(std::size_t size)
{
    std::string text(size, '\0');
    for (char& c : text) {
        c = static_cast<char>(next());
    }
    return text;
}

std::string Journal::stamped(const std::string& who,
                             const std::string& what) const
{
    const std::chrono::duration<double> since = Clock::now() - start_;
    char time[32];
    std::snprintf(time, sizeof(time), "%9.3f ", since.count());
    return time + who + ": " + what;
}

void Journal::note(const std::string& who, const std::string& what)
{
    const std::lock_guard lock(mutex_);
    notes_.push_back(stamped(who, what));
    if (notes_.size() > kNotes) {
        notes_.pop_front();
    }
}

void Journal::complain(const std::string& who, const std::string& what)
{
    const std::lock_guard lock(mutex_);
    if (!failed_) {
        notes_at_failure_ = notes_;
        failed_ = true;
    }
    if (complaints_.size() < kComplaints) {
        complaints_.push_back(stamped(who, what));
    }
}

void Journal::count(const std::string& what, std::uint64_t by)
{
    const std::lock_guard lock(mutex_);
    counts_[what] += by;
}

std::vector<std::string> Journal::complaints() const
{
    const std::lock_guard lock(mutex_);
    return complaints_;
}

std::string Journal::notes() const
{
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& note : failed_ ? notes_at_failure_ : notes_) {
        text += note + "\n";
    }
    return text;
}

std::uint64_t Journal::counted(const std::string& what) const
{
    const std::lock_guard lock(mutex_);
    const auto found = counts_.find(what);
    return found == counts_.end() ? 0 : found->second;
}

std::string Journal::counts() const
{
    const std::lock_guard lock(mutex_);
    std::string text;
    for (const auto& [what, number] : counts_) {
        text +=
            (text.empty() ? "" : ", ") + what + " " + std::to_string(number);
    }
    return text;
}

std::string excerpt(std::string_view bytes, std::size_t size)
{
    std::string text;
    for (const char c : bytes.substr(0, size)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte >= 0x20 && byte < 0x7F) {
            text.push_back(c);
        } else {
            char code[5];
            std::snprintf(code, sizeof(code), "\\x%02x", byte);
            text += c == '\r' ? "\\r" : c == '\n' ? "\\n" : code;
        }
    }
    if (bytes.size() > size) {
        text += "… (" + std::to_string(bytes.size()) + " bytes)";
    }
    return text;
}

}  // namespace petstore::e2e
