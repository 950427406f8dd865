#include "catch.h"

#include <string>

#include "store/script.h"
#include "store_replies.h"

using namespace petstore;
using Words = std::vector<std::string>;

TEST_CASE("scripts are embedded with their digests", "[store]")
{
    namespace s = store::scripts;
    for (const store::Script* script :
         {&s::create_pet(), &s::list_by_status(), &s::set_status(), &s::limit(),
          &s::strike(), &s::touch_account(), &s::unban(), &s::clear_caches()}) {
        CAPTURE(script->name);
        CHECK(script->text.find("KEYS") != std::string_view::npos);
        CHECK(script->sha1.size() == 40);
        CHECK(script->sha1.find_first_not_of("0123456789abcdef")
              == std::string::npos);
    }
    CHECK(&s::limit() == &s::limit());
    CHECK(s::limit().sha1 != s::strike().sha1);
}

TEST_CASE("a script is called by digest, or by text after NOSCRIPT", "[store]")
{
    const store::Script& script = store::scripts::unban();
    CHECK(words(store::call(script, 3, false))
          == Words{"EVALSHA", script.sha1, "3"});
    CHECK(words(store::call(script, 3, true))
          == Words{"EVAL", std::string(script.text), "3"});
}
