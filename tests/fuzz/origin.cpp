// Origins of petstore_cors.
#include "api/origin.h"
#include "fuzz.h"

using namespace petstore;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    const auto text = fuzz::text_of(data, size);
    if (api::origin_problem(text) == nullptr) {
        const auto host = text.find("://");
        REQUIRE(host != std::string_view::npos && host != 0);
        REQUIRE(text.size() > host + 3);
        REQUIRE(text.find_first_of("/?#@ ", host + 3)
                == std::string_view::npos);
        for (const char c : text) {
            REQUIRE(c > ' ' && c < 0x7F && !(c >= 'A' && c <= 'Z'));
        }
    }
    return 0;
}
