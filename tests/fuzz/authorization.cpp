// Authorization headers.
#include "api/bearer.h"
#include "api/text.h"
#include "fuzz.h"

using namespace petstore;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size)
{
    const auto header = fuzz::text_of(data, size);
    const auto token = api::bearer_token(header);
    if (!token) {
        return 0;
    }
    REQUIRE(!token->empty());
    REQUIRE(token->data() >= header.data()
            && token->data() + token->size() <= header.data() + header.size());
    switch (api::key_form(*token, "petstore")) {
    case api::KeyForm::issued:
        REQUIRE(token->substr(0, 9) == "petstore_");
        REQUIRE(token->size() == 9 + 43 + 6);
        [[fallthrough]];
    case api::KeyForm::imported:
        REQUIRE(token->size() <= api::kMaxKeyLength);
        REQUIRE(api::is_visible_ascii(*token));
        break;
    case api::KeyForm::malformed:
        break;
    }
    return 0;
}
