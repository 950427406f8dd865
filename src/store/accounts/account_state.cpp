#include "account_state.h"

#include <array>
#include <cstring>
#include <endian.h>

namespace petstore::store {

namespace {

static_assert(sizeof(double) == 8, "IEEE 754 binary64 is what Lua has");
static_assert(sizeof(float) == 4, "IEEE 754 binary32 is what scripts unpack");

template <std::size_t Size>
std::optional<std::array<std::int64_t, Size / sizeof(double)>>
decode_numbers(std::string_view bytes) noexcept
{
    std::array<std::int64_t, Size / sizeof(double)> numbers;
    if (bytes.size() != Size) {
        return std::nullopt;
    }
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto number = decode_number(bytes.substr(sizeof(double) * i));
        if (!number) {
            return std::nullopt;
        }
        numbers[i] = *number;
    }
    return numbers;
}

}  // namespace

api::Millis AccountState::month_end() const noexcept
{
    return api::first_of_next_month(utc_day) * api::kDaySeconds * 1000;
}

std::optional<AccountState>
AccountState::decode(std::string_view bytes) noexcept
{
    const auto numbers = decode_numbers<kSize>(bytes.substr(0, kSize));
    if (!numbers) {
        return std::nullopt;
    }
    const auto& [epoch, usual_day, minute, minute_end, day, day_end, month, ban,
                 utc_day, month_base] = *numbers;
    if (utc_day > api::kLastDay || month_base > month) {
        return std::nullopt;
    }
    return AccountState{epoch,   usual_day, minute, minute_end, day,
                        day_end, month,     ban,    utc_day,    month_base};
}

std::optional<AccountState>
AccountState::decode_windows(std::int64_t epoch, api::Day utc_day,
                             std::string_view bytes) noexcept
{
    const auto numbers = decode_numbers<kWindowsSize>(bytes);
    if (!numbers) {
        return std::nullopt;
    }
    const auto& [minute, minute_end, day, day_end, month] = *numbers;
    return AccountState{epoch,   utc_day, minute, minute_end, day,
                        day_end, month,   0,      utc_day,    0};
}

std::optional<std::int64_t> decode_number(std::string_view bytes) noexcept
{
    std::uint64_t bits;
    if (bytes.size() < sizeof(bits)) {
        return std::nullopt;
    }
    std::memcpy(&bits, bytes.data(), sizeof(bits));
    bits = le64toh(bits);
    double number;
    std::memcpy(&number, &bits, sizeof(number));
    // Also false for NaN.
    if (!(number >= 0 && number <= AccountState::kLargest)) {
        return std::nullopt;
    }
    const auto integer = static_cast<std::int64_t>(number);
    return static_cast<double>(integer) == number ? std::optional(integer)
                                                  : std::nullopt;
}

void append_numbers(std::string& out,
                    std::initializer_list<std::int64_t> numbers)
{
    for (const std::int64_t integer : numbers) {
        const auto number = static_cast<double>(integer);
        std::uint64_t bits;
        std::memcpy(&bits, &number, sizeof(bits));
        bits = htole64(bits);
        out.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
    }
}

bool fits_float(std::int64_t number) noexcept
{
    return static_cast<double>(static_cast<float>(number))
           == static_cast<double>(number);
}

void append_floats(std::string& out,
                   std::initializer_list<std::int64_t> numbers)
{
    for (const std::int64_t integer : numbers) {
        const auto number = static_cast<float>(integer);
        std::uint32_t bits;
        std::memcpy(&bits, &number, sizeof(bits));
        bits = htole32(bits);
        out.append(reinterpret_cast<const char*>(&bits), sizeof(bits));
    }
}

}  // namespace petstore::store
