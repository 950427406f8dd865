// Paths and the ids in them. An id has exactly one spelling.
#include "api/router.h"
#include "api/text.h"
#include "fuzz.h"

using namespace petstore;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    const auto path = fuzz::text_of(data, size);
    const auto route = api::route(api::Method::get, path, "/v1");
    REQUIRE(route.allow.empty()
            == (route.operation == api::Operation::none && !route.is_document));
    if (route.operation != api::Operation::get_pet) {
        REQUIRE(route.id.empty());
        return 0;
    }
    REQUIRE(!route.id.empty());
    REQUIRE(route.id.find('/') == std::string_view::npos);
    REQUIRE(path == "/v1/pets/" + std::string(route.id));
    if (const auto id = api::parse_int64(route.id)) {
        std::string canonical;
        api::append_int(canonical, *id);
        REQUIRE(canonical == route.id);
    }
    return 0;
}
