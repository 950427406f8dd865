#include "hash_slot.h"

#include <array>

namespace petstore::redis {

namespace {

constexpr unsigned kPolynomial = 0x1021;

constexpr std::array<std::uint16_t, 256> make_table()
{
    std::array<std::uint16_t, 256> table{};
    for (unsigned byte = 0; byte < table.size(); ++byte) {
        unsigned crc = byte << 8;
        for (int bit = 0; bit < 8; ++bit) {
            crc = (crc & 0x8000) != 0 ? (crc << 1) ^ kPolynomial : crc << 1;
        }
        table[byte] = static_cast<std::uint16_t>(crc);
    }
    return table;
}

constexpr auto kTable = make_table();

std::string_view hash_tag(std::string_view key) noexcept
{
    const auto open = key.find('{');
    if (open == std::string_view::npos) {
        return key;
    }
    const auto close = key.find('}', open + 1);
    return close == std::string_view::npos || close == open + 1
               ? key
               : key.substr(open + 1, close - open - 1);
}

}  // namespace

std::uint16_t hash_slot(std::string_view key) noexcept
{
    unsigned crc = 0;
    for (const char c : hash_tag(key)) {
        const unsigned index = ((crc >> 8) ^ static_cast<unsigned char>(c));
        crc = (crc << 8 ^ kTable[index & 0xFF]) & 0xFFFF;
    }
    return static_cast<std::uint16_t>(crc % kHashSlots);
}

}  // namespace petstore::redis
