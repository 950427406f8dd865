#include "api/digest.h"

#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "api/text.h"
#include "catch.h"

using namespace petstore::api;

namespace {

std::string hex_of(std::string_view bytes)
{
    return to_hex(bytes_of(sha256(bytes)));
}

constexpr char kOfAbc[] =
    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

}  // namespace

TEST_CASE("SHA-256 of known texts", "[digest]")
{
    CHECK(
        hex_of("")
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK(hex_of("abc") == kOfAbc);
    CHECK(
        hex_of(std::string(1000, 'a'))
        == "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
    // A digest does not affect the next one.
    CHECK(hex_of("abc") == kOfAbc);
    CHECK(
        hex_of({})
        == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST_CASE("SHA-256 works on both sides of a fork", "[digest]")
{
    REQUIRE(hex_of("abc") == kOfAbc);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        _exit(hex_of("abc") == kOfAbc ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(status == 0);
    CHECK(hex_of("abc") == kOfAbc);
}
