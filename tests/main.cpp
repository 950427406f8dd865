#if !__has_include(<catch2/catch_all.hpp>)
#define CATCH_CONFIG_RUNNER
#endif
#include "catch.h"

// Tests have the names of their files as tags, by which tiers.cmake selects
// them. The option for that would be a second argument, and Catch2 3.7 lists
// the tests of one argument only.
int main(int argc, char* argv[])
{
    Catch::Session session;
    session.configData().filenamesAsTags = true;
    return session.run(argc, argv);
}
