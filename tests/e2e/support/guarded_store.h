#pragma once

#include "back_end.h"
#include "limits.h"

namespace petstore::e2e {

// A back end, and an nginx in front of it. In every text of the options,
// %BACK_END% is the back end's address. The location /shop/ is guarded and
// proxied; `shop` adds directives to it.
struct GuardedStore {
    explicit GuardedStore(NginxOptions options = {},
                          const std::string& shop = "",
                          BackEnd::Script script = {});

    BackEnd back_end;
    Store store;
    Http& http = store.http;

    // Requests of the store's key that were counted in its minute.
    long long charged() const;
};

// The options with %BACK_END% replaced.
NginxOptions with_back_end(NginxOptions options, const BackEnd& back_end);

// Checks that `path` is guarded: without a key and over the limit it is
// refused, with a valid key the response has this status.
void expect_guarded(const Store& store, const std::string& path, int status);

extern const Headers kNoKey;
extern const Headers kUnknownKey;

}  // namespace petstore::e2e
