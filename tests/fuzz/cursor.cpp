// Cursors. Only output of encode_cursor() is accepted.
#include "api/page.h"
#include "fuzz.h"

using namespace petstore;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    const auto text = fuzz::text_of(data, size);
    if (text.find_first_of("&%+=") != std::string_view::npos) {
        return 0;
    }
    for (const char* filter :
         {"", "status=available&", "status=pending&", "status=sold&"}) {
        const auto result = api::parse_list_query(
            std::string(filter).append("cursor=").append(text));
        if (const auto* query = std::get_if<api::ListQuery>(&result)) {
            REQUIRE(api::encode_cursor(query->after, query->status) == text);
        }
    }
    return 0;
}
