#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace petstore::api {

using PetId = std::int64_t;

// The letter is what a stored record starts with, see store/record.h.
enum class Status : char { available = 'a', pending = 'p', sold = 's' };

std::optional<Status> parse_status(std::string_view text) noexcept;
std::optional<Status> status_of_letter(char letter) noexcept;
std::string_view to_string(Status status) noexcept;

// What a client may say of a pet: everything but its id.
struct NewPet {
    std::string name;
    std::int64_t category_id = 0;
    Status status = Status::available;
};

// A pet whose texts live elsewhere (in a reply, in a record); valid as long as
// they are. `category` holds the digits as the client wrote them.
struct PetView {
    PetId id = 0;
    std::string_view name;
    std::string_view category;
    Status status = Status::available;
};

// Appends {"id":…,"name":…,"categoryId":…,"status":…} without white space.
void append_pet_json(std::string& out, const PetView& pet);

// Writes the same for a pet whose name is JSON text already, as
// append_json_text() makes it; a page of such pets takes half the time. `to`
// has room for kMaxPetFrame bytes beyond name and category. Returns where it
// ends.
char* write_escaped_pet_json(char* to, const PetView& pet) noexcept;

inline constexpr std::size_t kMaxPetFrame = 72;

inline constexpr std::size_t kMaxNameLength = 255;  // Unicode characters

// nullptr for a name that may be stored, else what is wrong with it, worded to
// follow "name ": 1–255 characters, no control characters (Unicode category
// Cc: U+0000–001F, U+007F–009F), not only white space.
const char* name_problem(std::string_view name) noexcept;

}  // namespace petstore::api
