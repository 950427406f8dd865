#include "catch.h"

#include <string>
#include <utility>

#include "store/inline_text.h"

using petstore::store::InlineText;
using Text = InlineText<24>;

TEST_CASE("a text is kept, whatever its length", "[store]")
{
    CHECK(Text().view().empty());
    for (const std::size_t size : {0, 1, 16, 23, 24, 25, 255, 256, 1000}) {
        INFO(size);
        const std::string text(size, 'x');
        const Text kept(text);
        CHECK(kept.view() == text);
        CHECK((kept.owned_bytes() != 0) == (size > 23));
        CHECK(Text({"ab", text}).view() == "ab" + text);
    }
}

TEST_CASE("a text moves, and is freed once", "[store]")
{
    const std::string lengthy(100, 'x');
    Text a(lengthy);
    Text b(std::move(a));
    CHECK(b.view() == lengthy);
    a = Text("short");
    CHECK(a.view() == "short");
    a = std::move(b);
    CHECK(a.view() == lengthy);
    a = Text(lengthy + lengthy);
    CHECK(a.view() == lengthy + lengthy);
}
