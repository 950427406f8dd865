#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace petstore::e2e {

// Frames of HTTP/2 (RFC 9113), for clients that write their own.

enum FrameType : std::uint8_t {
    kData,
    kHeaders,
    kPriority,
    kReset,
    kSettings,
    kPush,
    kPing,
    kGoaway,
    kWindow,
    kContinuation,
};

constexpr std::uint8_t kEndStream = 1;
constexpr std::uint8_t kAck = 1;
constexpr std::uint8_t kEndHeaders = 4;

constexpr std::size_t kFrameHead = 9;
constexpr std::string_view kPreface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

std::string http2_frame(std::uint8_t type, std::uint8_t flags, std::uint32_t id,
                        std::string_view payload);

std::string big_endian(std::uint64_t value, int bytes);
std::uint32_t number_at(const std::string& bytes, std::size_t at, int size);

// HPACK without Huffman coding or the dynamic table: every field is a literal.
std::string hpack_field(std::string_view name, std::string_view value);

}  // namespace petstore::e2e
