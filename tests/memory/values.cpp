// A value is right or missing: lack of memory must not look like a client's
// error or like damaged data.
#include <openssl/err.h>
#include <openssl/opensslv.h>

#include "api/digest.h"
#include "api/json.h"
#include "api/page.h"
#include "redis/command.h"
#include "redis/decoder.h"
#include "shortage.h"
#include "store/pets/pet_commands.h"
#include "unit/known_ids.h"
#include "unit/store_replies.h"

using namespace petstore;

namespace {

const char* const kName = "a name that needs memory";

struct Body {
    void act() { parsed = api::parse_new_pet(text); }
    void check(bool thrown) const
    {
        if (thrown) {
            return;
        }
        const auto* pet = std::get_if<api::NewPet>(&parsed);
        REQUIRE(pet);
        CHECK(pet->name == kName);
    }
    const std::string text =
        R"({"name":"a name that \u006eeeds memory","categoryId":7,)"
        R"("a member that is of no interest":[1,{"a":"b"}],"status":"sold"})";
    std::variant<api::NewPet, api::Error> parsed;
};

struct Query {
    void act()
    {
        api::ListQuery query;
        query.limit = 20;
        query.after = 40;
        query.status = api::Status::sold;
        const auto link = api::page_links("https://example.com/v1", query, 60);
        const auto from = link.find('?') + 1;
        parsed = api::parse_list_query(
            std::string_view(link).substr(from, link.find('>') - from));
    }
    void check(bool thrown) const
    {
        if (thrown) {
            return;
        }
        const auto* query = std::get_if<api::ListQuery>(&parsed);
        REQUIRE(query);
        CHECK(query->after == 60);
        CHECK(query->status == api::Status::sold);
    }
    std::variant<api::ListQuery, api::Error> parsed;
};

// OpenSSL reports a lack of memory like any other failure. It must already be
// initialized: it crashes if memory runs out during initialization.
struct Digest {
    void act()
    {
        try {
            digest = api::sha256("text");
        } catch (const std::runtime_error&) {
            failed = true;
        }
    }
    void check(bool thrown) const
    {
        CHECK((thrown || failed || digest == right));
        CHECK(ERR_peek_error() == 0);
    }
    const api::Digest right = api::sha256("text");
    api::Digest digest{};
    bool failed = false;
};

struct Command {
    void act()
    {
        redis::Command command("SET");
        command.arg("key").own(std::string(300, 'x')).arg(std::int64_t{7});
        for (int i = 0; i < 150; ++i) {
            command.arg(std::int64_t{i});
        }
        command.append_to(out);
    }
    void check(bool thrown) const
    {
        if (thrown) {
            CHECK(out.empty());
        } else {
            CHECK(out.rfind("*154\r\n$3\r\nSET\r\n$3\r\nkey\r\n$300\r\n", 0)
                  == 0);
        }
    }
    std::string out;
};

// A stream that cannot be read for lack of memory breaks the connection; no
// reply is truncated or invented.
struct Stream {
    void act()
    {
        redis::Decoder decoder;
        for (const char byte : text) {
            const redis::Reply* reply = nullptr;
            if (!decoder.feed({&byte, 1})) {
                broken = true;
                return;
            }
            const auto state = decoder.next(reply);
            if (state == redis::Decoder::State::broken) {
                broken = true;
                return;
            }
            if (state == redis::Decoder::State::reply) {
                right &= reply->size() == 2
                         && (*reply)[0].text() == std::string_view(kName)
                         && (*reply)[1].integer() == 5;
                ++replies;
            }
        }
    }
    void check(bool thrown) const
    {
        CHECK(right);
        CHECK((thrown || broken || replies == 3));
    }
    const std::string text = array({bulk(kName), integer(5)})
                             + array({bulk(kName), integer(5)})
                             + array({bulk(kName), integer(5)});
    bool right = true;
    bool broken = false;
    int replies = 0;
};

struct Page {
    void act()
    {
        store::PageQuery query;
        query.limit = 2;
        store::PageReader reader(query);
        good = reader.add(0, reply);
        body = reader.finish(ids).body;
    }
    void check(bool thrown) const
    {
        if (!thrown) {
            CHECK(good);
            CHECK(body
                  == R"([{"id":1,"name":"a name that needs memory",)"
                     R"("categoryId":7,"status":"sold"}])");
        }
    }
    Replies replies;
    const redis::Reply& reply =
        replies(array({bulk("s7:" + std::string(kName))}));
    const store::PetIds ids = one_segment();
    bool good = false;
    std::string body;
};

struct ErrorBody {
    void act()
    {
        body = api::error_body({api::ErrorCode::not_found, "There is none."});
    }
    void check(bool thrown) const
    {
        if (!thrown) {
            CHECK(body
                  == R"({"code":"not_found","message":"There is none.",)"
                     R"("status":404})");
        }
    }
    std::string body;
};

}  // namespace

TEST_CASE("bodies")
{
    fail_each_allocation<Body>();
}

TEST_CASE("queries and links")
{
    fail_each_allocation<Query>();
}

TEST_CASE("digests")
{
    // OpenSSL 3.5 computes digests without allocating.
    constexpr bool kAllocates = OPENSSL_VERSION_NUMBER < 0x30100000L;
    fail_each_allocation<Digest, kAllocates>();
}

TEST_CASE("commands")
{
    fail_each_allocation<Command>();
}

TEST_CASE("streams of replies")
{
    fail_each_allocation<Stream>();
}

TEST_CASE("pages")
{
    fail_each_allocation<Page>();
}

TEST_CASE("errors")
{
    fail_each_allocation<ErrorBody>();
}
