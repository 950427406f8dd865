#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace petstore::api {

using PetId = std::int64_t;

// The letter that a stored record starts with; see store/pets/record.h.
enum class Status : char { available = 'a', pending = 'p', sold = 's' };

std::optional<Status> parse_status(std::string_view text) noexcept;
std::optional<Status> status_of_letter(char letter) noexcept;
std::string_view to_string(Status status) noexcept;

// The fields of a pet that a client sets: all but the id.
struct NewPet {
    std::string name;
    std::int64_t category_id = 0;
    Status status = Status::available;
};

// A pet whose strings live elsewhere (in a reply or a record) and must outlive
// this view. `category` holds the digits as the client wrote them.
struct PetView {
    PetId id = 0;
    std::string_view name;
    std::string_view category;
    Status status = Status::available;
};

// Appends {"id":…,"name":…,"categoryId":…,"status":…} without white space.
void append_pet_json(std::string& out, const PetView& pet);

// Writes the same JSON for a pet whose name is already escaped as by
// append_json_text(), which halves the time for a page. `to` must have room for
// kMaxPetFrame bytes beyond name and category. Returns the end of the output.
char* write_escaped_pet_json(char* to, const PetView& pet) noexcept;

inline constexpr std::size_t kMaxPetFrame = 72;

inline constexpr std::size_t kMaxNameLength = 255;  // Unicode characters

// nullptr if the name is valid, else the problem, worded to follow "name ". A
// valid name has 1–255 characters, no control characters (Unicode category Cc:
// U+0000–001F, U+007F–009F), and not only white space.
const char* name_problem(std::string_view name) noexcept;

}  // namespace petstore::api
