#include "account_state.h"

#include <array>
#include <cstring>
#include <endian.h>

namespace petstore::store {

namespace {

static_assert(sizeof(double) == 8, "IEEE 754 binary64 is what Lua has");

std::optional<std::int64_t> decode_number(const char* bytes) noexcept
{
    std::uint64_t bits;
    std::memcpy(&bits, bytes, sizeof(bits));
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

}  // namespace

std::optional<AccountState>
AccountState::decode(std::string_view bytes) noexcept
{
    if (bytes.size() != kSize) {
        return std::nullopt;
    }
    std::array<std::int64_t, 6> numbers;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        const auto number = decode_number(bytes.data() + 8 * i);
        if (!number) {
            return std::nullopt;
        }
        numbers[i] = *number;
    }
    return AccountState{numbers[0], numbers[1], numbers[2],
                        numbers[3], numbers[4], numbers[5]};
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

}  // namespace petstore::store
