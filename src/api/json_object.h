#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "error.h"

namespace petstore::api {

// A member of a JSON object.
struct JsonMember {
    enum class Kind {
        null,
        boolean,
        integer,  // a plain decimal inside int64
        text,
        texts,  // an array of strings
        other,
    };

    std::string name;
    Kind kind = Kind::other;
    bool flag = false;
    std::int64_t number = 0;
    std::string text;
    std::vector<std::string> texts;
};

// Parses a body by the rules of parse_new_pet(): one object of I-JSON. With
// `names`, stores only members with one of these names. Errors: missing_body
// (empty or white space only), invalid_json. Throws std::bad_alloc.
std::variant<std::vector<JsonMember>, Error>
parse_json_object(std::string_view body,
                  std::initializer_list<std::string_view> names = {});

// nullptr if it is missing.
JsonMember* find_member(std::vector<JsonMember>& members,
                        std::string_view name) noexcept;

}  // namespace petstore::api
