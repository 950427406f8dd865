// Compiled alone, because each commit changes it.
#include "build_version.h"

#include "petstore_commit.h"
#include "version.h"

namespace petstore::api {

namespace {

struct Text {
    char bytes[sizeof(kVersion) + sizeof(kCommitSuffix) - 1] = {};
};

constexpr Text joined()
{
    Text text;
    char* end = text.bytes;
    for (const char* c = kVersion; *c != '\0'; ++c) {
        *end++ = *c;
    }
    for (const char* c = kCommitSuffix; *c != '\0'; ++c) {
        *end++ = *c;
    }
    return text;
}

constexpr Text kBuildVersion = joined();

}  // namespace

const char* build_version() noexcept
{
    return kBuildVersion.bytes;
}

}  // namespace petstore::api
