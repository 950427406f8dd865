#pragma once

#include "back_end.h"
#include "limits.h"

namespace petstore::e2e {

// A back end and an nginx in front of it. %BACK_END% in the options is replaced
// by the back end's address. The location /shop/ is guarded and proxied; `shop`
// adds directives to it.
struct GuardedStore {
    explicit GuardedStore(NginxOptions options = {},
                          const std::string& shop = "",
                          BackEnd::Script script = {});

    BackEnd back_end;
    Store store;
    Http& http = store.http;

    // The number of requests charged to the store's key in its day.
    long long charged() const;
};

// Replaces %BACK_END% in the options.
NginxOptions with_back_end(NginxOptions options, const BackEnd& back_end);

// Checks that `path` is guarded: refused without a key and over the limit, and
// with this status for a valid key.
void expect_guarded(const Store& store, const std::string& path, int status);

extern const Headers kNoKey;
extern const Headers kUnknownKey;

}  // namespace petstore::e2e
