#include "pet.h"

#include <charconv>
#include <cstring>

#include "text.h"
#include "utf8.h"

namespace petstore::api {
namespace {

constexpr bool is_control(char32_t point)
{
    return point < 0x20 || (point >= 0x7F && point < 0xA0);
}

// Unicode White_Space except control characters.
constexpr bool is_white_space(char32_t point)
{
    return point == 0x20 || point == 0xA0 || point == 0x1680
           || (point >= 0x2000 && point <= 0x200A) || point == 0x2028
           || point == 0x2029 || point == 0x202F || point == 0x205F
           || point == 0x3000;
}

constexpr std::string_view status_and_end(Status status)
{
    switch (status) {
    case Status::pending:
        return ",\"status\":\"pending\"}";
    case Status::sold:
        return ",\"status\":\"sold\"}";
    case Status::available:
        break;
    }
    return ",\"status\":\"available\"}";
}

constexpr std::string_view kId = "{\"id\":";
constexpr std::string_view kName = ",\"name\":\"";
constexpr std::string_view kCategory = "\",\"categoryId\":";
constexpr std::size_t kMaxIdDigits = 20;

static_assert(kMaxPetFrame
              == kId.size() + kMaxIdDigits + kName.size() + kCategory.size()
                     + status_and_end(Status::available).size());

inline char* write(char* to, std::string_view text) noexcept
{
    std::memcpy(to, text.data(), text.size());
    return to + text.size();
}

}  // namespace

std::optional<Status> parse_status(std::string_view text) noexcept
{
    for (const Status status :
         {Status::available, Status::pending, Status::sold}) {
        if (text == to_string(status)) {
            return status;
        }
    }
    return std::nullopt;
}

std::optional<Status> status_of_letter(char letter) noexcept
{
    switch (letter) {
    case 'a':
    case 'p':
    case 's':
        return static_cast<Status>(letter);
    default:
        return std::nullopt;
    }
}

std::string_view to_string(Status status) noexcept
{
    switch (status) {
    case Status::pending:
        return "pending";
    case Status::sold:
        return "sold";
    case Status::available:
        break;
    }
    return "available";
}

void append_pet_json(std::string& out, const PetView& pet)
{
    out.append(kId);
    append_int(out, pet.id);
    out.append(kName);
    append_json_text(out, pet.name);
    out.append(kCategory);
    out.append(pet.category);
    out.append(status_and_end(pet.status));
}

char* write_escaped_pet_json(char* to, const PetView& pet) noexcept
{
    to = write(to, kId);
    to = std::to_chars(to, to + kMaxIdDigits, pet.id).ptr;
    to = write(to, kName);
    to = write(to, pet.name);
    to = write(to, kCategory);
    to = write(to, pet.category);
    return write(to, status_and_end(pet.status));
}

const char* name_problem(std::string_view name) noexcept
{
    if (name.empty()) {
        return "must not be empty";
    }
    std::size_t length = 0;
    bool blank = true;
    bool control = false;
    while (!name.empty()) {
        const char32_t point = take_code_point(name);
        if (point == kNoCodePoint) {
            return "must be valid UTF-8";
        }
        ++length;
        control = control || is_control(point);
        blank = blank && is_white_space(point);
    }
    if (length > kMaxNameLength) {
        return "must not be longer than 255 characters";
    }
    if (control) {
        return "must not contain control characters";
    }
    return blank ? "must not be only white space" : nullptr;
}

}  // namespace petstore::api
