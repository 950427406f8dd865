// The version, and the commit that a build in a git checkout appends to it.
#include <unistd.h>

#include "support/store.h"

using namespace petstore::e2e;

namespace {

std::string repository_file(const std::string& name)
{
    return read_file(std::string(E2E_SUPPORT) + "/../../../" + name);
}

}  // namespace

TEST_CASE("version: petstorectl and the log agree")
{
    const auto version =
        split(ctl("unix:/nowhere/redis.sock", {"version"}).out, '\n').at(0);
    REQUIRE(version.rfind("petstorectl ", 0) == 0);
    const auto number = version.substr(12);

    const auto commit =
        number.substr(std::min(number.find('+'), number.size()));
    CHECK((commit.empty()
           || (commit.size() == 13
               && commit.find_first_not_of("0123456789abcdef", 1)
                      == std::string::npos)));

    RedisServer redis;
    NginxOptions options;
    options.redis = redis.url();
    options.workers = 2;
    NginxServer nginx(options);
    const std::string line = "petstore: version " + number;
    const auto lines = [&] {
        std::size_t count = 0;
        for (const auto& each : split(nginx.error_log(), '\n')) {
            count += contains(each, line) ? 1 : 0;
        }
        return count;
    };
    CHECK(lines() == 1);
    nginx.reload();
    CHECK(lines() == 2);
    CHECK_FALSE(contains(NginxServer::check(options).err, "petstore: version"));
}

TEST_CASE("version: the commit is embedded in git checkouts only")
{
    TempDir dir;
    const std::string script = dir / "scripts/embed-commit";
    const std::string header = dir / "petstore_commit.h";
    run({"mkdir", dir / "scripts"});
    write_file(script, repository_file("scripts/embed-commit"));
    const auto suffix = [&](std::vector<std::string> variables) {
        std::vector<std::string> command{"env"};
        command.insert(command.end(), variables.begin(), variables.end());
        command.insert(command.end(), {"sh", script, header});
        const auto output = run(command);
        INFO(output.err);
        REQUIRE(output.code == 0);
        return split(read_file(header), '"').at(1);
    };
    const auto git = [&](std::vector<std::string> arguments) {
        std::vector<std::string> command{"git",
                                         "-C",
                                         dir.path(),
                                         "-c",
                                         "user.name=test",
                                         "-c",
                                         "user.email=test@example.org"};
        command.insert(command.end(), arguments.begin(), arguments.end());
        const auto output = run(command);
        INFO(output.err);
        REQUIRE(output.code == 0);
        return output.out;
    };
    CHECK(suffix({}) == "");
    git({"init", "-q"});
    CHECK(suffix({}) == "");  // no commit yet
    git({"commit", "-q", "--allow-empty", "-m", "first"});
    const auto first = "+" + git({"rev-parse", "HEAD"}).substr(0, 12);
    CHECK(suffix({}) == first);
    // The same in the checkout of another user. Needs root.
    if (geteuid() == 0) {
        run({"chown", "-R", "nobody", dir.path()});
        CHECK(suffix({}) == first);
        run({"chown", "-R", "root", dir.path()});
    }
    CHECK(suffix({"PETSTORE_COMMIT="}) == "");
    CHECK(suffix({"PETSTORE_COMMIT=1.2"}) == "+1.2");

    // The file changes only with the commit, so that nothing is compiled again.
    CHECK(suffix({}) == first);
    const auto node = run({"stat", "-c", "%i", header}).out;
    CHECK(suffix({}) == first);
    CHECK(run({"stat", "-c", "%i", header}).out == node);
    git({"commit", "-q", "--allow-empty", "-m", "second"});
    CHECK(suffix({}) != first);

    // An archive that was unpacked inside another checkout.
    run({"mkdir", "-p", dir / "inner/scripts"});
    write_file(dir / "inner/scripts/embed-commit", read_file(script));
    run({"sh", dir / "inner/scripts/embed-commit", header});
    CHECK(split(read_file(header), '"').at(1) == "");

    const auto wrong =
        run({"env", "PETSTORE_COMMIT=\"x", "sh", script, header});
    CHECK(wrong.code == 1);
    CHECK(contains(wrong.err, "invalid"));
}
