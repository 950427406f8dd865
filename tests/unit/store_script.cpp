#include "catch.h"

#include <set>
#include <string>

#include "store/scripts.h"

using namespace petstore;

TEST_CASE("all scripts are embedded with their digests", "[store]")
{
    const store::Scripts& s = store::scripts();
    std::set<std::string> digests;
    for (const redis::Script* script :
         {&s.create_pets, &s.list_by_status, &s.set_status, &s.limit, &s.strike,
          &s.touch_account, &s.unban, &s.write_record, &s.delete_record,
          &s.clear_caches}) {
        CAPTURE(script->text);
        CHECK(script->text.find("KEYS") != std::string::npos);
        CHECK(script->sha1.size() == 40);
        CHECK(script->sha1.find_first_not_of("0123456789abcdef")
              == std::string::npos);
        digests.insert(script->sha1);
    }
    CHECK(digests.size() == 10);
    CHECK(&store::scripts() == &s);
    CHECK(s.limit.sha1 != s.strike.sha1);
}
