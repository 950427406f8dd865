// docs/operations.md, "Import": the pets of a file are created in order, or the
// command reports how many were.
#include <atomic>
#include <csignal>
#include <regex>
#include <thread>

#include "chaos/cut_redis.h"
#include "support/slow_import.h"
#include "support/store.h"

using namespace petstore::e2e;

namespace {

std::string pet_line(const std::string& name)
{
    return "{\"name\":\"" + name + "\",\"categoryId\":7}\n";
}

std::string pet_lines(const std::string& name, int from, int to)
{
    std::string lines;
    for (int i = from; i <= to; ++i) {
        lines += pet_line(name + std::to_string(i));
    }
    return lines;
}

long long last_id(const RedisServer& redis)
{
    const auto text = redis.command({"GET", "petstore:{petstore:pets}:count"});
    return text.text.empty() ? 0 : std::atoll(text.text.c_str());
}

// The number of created pets that petstorectl reports: a range, or the same
// number twice.
std::pair<long long, long long> reported(const std::string& err)
{
    std::smatch found;
    if (std::regex_search(
            err, found, std::regex("imported between (\\d+) and (\\d+) pet"))) {
        return {std::stoll(found[1]), std::stoll(found[2])};
    }
    if (std::regex_search(err, found, std::regex("imported (\\d+) pets?\\b"))) {
        return {std::stoll(found[1]), std::stoll(found[1])};
    }
    return {-1, -1};
}

}  // namespace

TEST_CASE("pet import: keeps the order although Redis loses its scripts")
{
    // Two imports at once: one sends the scripts again that the other has lost.
    constexpr int kPets = 20'000;
    RedisServer redis({"appendonly no"});
    TempDir dir;
    std::vector<Process> imports;
    for (const std::string name : {"a", "b"}) {
        write_file(dir / name, pet_lines(name, 1, kPets));
        imports.emplace_back(Process::Setup{
            {ctl_binary(), "--redis", redis.url(), "pet", "import", dir / name},
            {},
            "",
            "",
            dir / (name + ".err")});
    }
    std::atomic<int> flushed{0};
    auto client = redis.client();
    while (imports[0].running() || imports[1].running()) {
        client.command({"SCRIPT", "FLUSH"});
        ++flushed;
    }
    CHECK(imports[0].wait(1s) == 0);
    CHECK(imports[1].wait(1s) == 0);
    CHECK(flushed > 10);
    REQUIRE(last_id(redis) == 2 * kPets);

    const auto exported = ctl(redis.url(), {"pet", "export"});
    int next[] = {1, 1};
    int out_of_order = 0;
    for (const auto& line : split(exported.out, '\n')) {
        const std::string name = nlohmann::json::parse(line).at("name");
        out_of_order +=
            std::stoi(name.substr(1)) != next[name[0] == 'b' ? 1 : 0]++;
    }
    CHECK(out_of_order == 0);
    CHECK(next[0] == kPets + 1);
    CHECK(next[1] == kPets + 1);
}

TEST_CASE("pet import: an idle one that is interrupted reports what it created")
{
    const int number = GENERATE(SIGINT, SIGTERM, SIGHUP);
    RedisServer redis;
    SlowImport import(redis.url());
    import.write(pet_lines("p", 1, 1000));
    // The import waits for more input.
    REQUIRE(wait_until([&] { return last_id(redis) >= 512; }));
    import.process().signal(number);
    const auto err = import.failure();
    INFO(err);
    const auto [least, most] = reported(err);
    CHECK(least == most);
    CHECK(least == last_id(redis));
    CHECK(contains(err, "the last one from line " + std::to_string(least)));
    CHECK(contains(err, "interrupted"));
}

TEST_CASE("pet import: a busy one that is interrupted reports what it created")
{
    RedisServer redis;
    CutRedis cut(redis);
    cut.cut_at(10, CutRedis::How::sleep);
    TempDir dir;
    write_file(dir / "pets", pet_lines("p", 1, 20'000));
    Process import(
        {{ctl_binary(), "--redis", cut.url(), "pet", "import", dir / "pets"},
         {},
         "",
         "",
         dir / "err"});
    REQUIRE(wait_until([&] { return cut.was_cut(); }));
    import.signal(SIGINT);
    cut.wake();
    CHECK(import.wait(20s) == 1);
    const auto err = read_file(dir / "err");
    INFO(err);
    const auto [least, most] = reported(err);
    CHECK(least == most);
    CHECK(least == last_id(redis));
    CHECK(least > 0);
    CHECK(least < 20'000);
    CHECK(contains(err, "interrupted"));
}

TEST_CASE("pet import: one interrupted while Redis hangs reports a range")
{
    RedisServer redis;
    CutRedis cut(redis);
    // At the second batch: the first one is sent twice because of NOSCRIPT.
    cut.cut_at_script(3, CutRedis::How::sleep);
    SlowImport import(cut.url());
    import.write(pet_lines("p", 1, 1000));
    REQUIRE(wait_until([&] { return cut.was_cut(); }));
    const auto created = last_id(redis);
    import.process().signal(SIGTERM);
    const auto err = import.failure();
    INFO(err);
    const auto [least, most] = reported(err);
    CHECK(created == 128);
    CHECK(least == created);
    CHECK(most > least);
    CHECK(most < 1000);
    CHECK(contains(err, "interrupted"));
    // Redis then executes the commands that it was sent.
    cut.wake();
    CHECK(wait_until([&, high = most] { return last_id(redis) == high; }));
}

TEST_CASE("pet import: a second signal ends it at once")
{
    RedisServer redis;
    CutRedis cut(redis);
    cut.cut_at_script(2, CutRedis::How::sleep);
    SlowImport import(cut.url());
    import.write(pet_lines("p", 1, 1000));
    REQUIRE(wait_until([&] { return cut.was_cut(); }));
    // After the first signal, the process no longer catches it.
    const auto catches = [&] {
        const auto text = read_file(
            "/proc/" + std::to_string(import.process().pid()) + "/status");
        const auto at = text.find("SigCgt:\t");
        REQUIRE(at != std::string::npos);
        const auto mask = std::stoull(text.substr(at + 8, 16), nullptr, 16);
        return (mask >> (SIGINT - 1) & 1) != 0;
    };
    REQUIRE(catches());
    import.process().signal(SIGINT);
    REQUIRE(wait_until([&] { return !catches(); }));
    import.process().signal(SIGINT);
    const auto code = import.process().wait(60s);
    REQUIRE(code);
    CHECK(*code == 128 + SIGINT);
}

TEST_CASE(
    "pet import: a lost Redis is reported with what may have been created")
{
    RedisServer redis;
    CutRedis cut(redis);
    for (const auto how : {CutRedis::How::before, CutRedis::How::after}) {
        redis.command({"FLUSHALL"});
        cut.cut_at_script(3, how);
        const auto result =
            ctl(cut.url(), {"pet", "import", "-"}, pet_lines("p", 1, 2000));
        INFO(result.err);
        CHECK(result.code == 4);
        const auto [least, most] = reported(result.err);
        CHECK(least > 0);
        CHECK(most < 2000);
        CHECK(least <= last_id(redis));
        CHECK(last_id(redis) <= most);
        CHECK(contains(result.err, "closed the connection"));
    }

    // Pets that were not sent were not created.
    redis.command({"FLUSHALL"});
    SlowImport import(redis.url());
    import.write(pet_lines("p", 1, 512));
    REQUIRE(wait_until([&] { return last_id(redis) == 512; }));
    redis.kill_hard();
    import.write(pet_lines("p", 513, 1024));
    const auto err = import.failure();
    INFO(err);
    CHECK(reported(err) == std::pair<long long, long long>(512, 512));
    redis.start();
    CHECK(last_id(redis) == 512);
}

TEST_CASE("pet import: a pet refused by Redis is reported with its line")
{
    RedisServer redis;
    REQUIRE(
        ctl(redis.url(), {"pet", "import", "-"}, pet_lines("p", 1, 200)).code
        == 0);
    // Damages the bucket that pet 257 belongs to.
    redis.command({"RPUSH", "petstore:{petstore:pets}:bucket:2", "a1:x"});
    const auto result = ctl(redis.url(), {"pet", "import", "-"},
                            "\n" + pet_lines("q", 1, 1000));
    INFO(result.err);
    CHECK(result.code == 1);
    CHECK(last_id(redis) == 256);
    CHECK(contains(result.err, "imported 56 pets"));
    CHECK(contains(result.err, "line 58: Redis: DAMAGED"));
}

TEST_CASE("pet import: an invalid line stops it after the pets before it")
{
    RedisServer redis;
    const auto bad = [&](const std::string& line, const std::string& reason) {
        redis.command({"FLUSHALL"});
        const auto result =
            ctl(redis.url(), {"pet", "import", "-"},
                pet_lines("p", 1, 300) + line + pet_lines("p", 301, 600));
        INFO(result.err);
        CHECK(result.code == 1);
        CHECK(last_id(redis) == 300);
        CHECK(contains(result.err, "imported 300 pets"));
        CHECK(contains(result.err, "line 301: "));
        CHECK(contains(result.err, reason));
        CHECK(result.out.empty());
    };
    bad("{\"name\":\"b\"}\n", "categoryId");
    bad("nonsense\n", "JSON");
    bad(std::string(70'000, ' ') + "\n", "longer than 64 KiB");
    bad(std::string(700'000, ' ') + "\n", "longer than 64 KiB");

    // A last line without a newline, blank lines, and CRLF line ends.
    redis.command({"FLUSHALL"});
    const auto good = ctl(
        redis.url(), {"pet", "import", "-"},
        "\r\n" + pet_line("a")
            + " \n{\"name\":\"b\",\"categoryId\":1}\r\n{\"name\":\"c\",\"categoryId\":1}");
    CHECK(good.code == 0);
    CHECK(good.err == "imported 3 pets\n");
    CHECK(last_id(redis) == 3);
    CHECK(ctl(redis.url(), {"pet", "import", "-"}, pet_line("d")).err
          == "imported 1 pet\n");
    CHECK(ctl(redis.url(), {"pet", "import", "-"}, "\n").err
          == "imported 0 pets\n");
    CHECK(ctl(redis.url(), {"pet", "import", "/tmp"}).code == 1);
}
