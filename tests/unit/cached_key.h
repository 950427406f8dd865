#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "store/keys/key_cache.h"

// A key of this account that the worker has cached, over a FakeLink's first
// connection.
inline petstore::store::Ref<petstore::store::CachedKey>
make_key(petstore::store::KeyCache& cache, const std::string& account,
         std::int64_t epoch)
{
    auto key = petstore::store::make_ref<petstore::store::CachedKey>();
    key->account = cache.account(account);
    key->limits = {60, 1000};
    key->epoch = epoch;
    key->generation = 1;
    return key;
}
