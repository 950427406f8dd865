// Content-Type and Accept, dates and durations, selected by the first byte.
#include "api/date.h"
#include "api/media_type.h"
#include "fuzz.h"

using namespace petstore;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    if (size == 0) {
        return 0;
    }
    const auto text = fuzz::text_of(data + 1, size - 1);
    switch (data[0] % 3) {
    case 0:
        api::is_json_media_type(text);
        REQUIRE(!api::prefers(text, "text/html", "text/plain")
                || !api::prefers(text, "text/plain", "text/html"));
        break;
    case 1:
        if (const auto time = api::parse_date(text)) {
            REQUIRE(api::parse_date(api::iso_time(*time)) == time);
            REQUIRE(api::http_date(*time).size() == 29);
        }
        break;
    default:
        if (const auto seconds = api::parse_duration(text)) {
            REQUIRE(*seconds >= 0);
        }
        break;
    }
    return 0;
}
