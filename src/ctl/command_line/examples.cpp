#include "examples.h"

#include <map>

namespace petstore::ctl {

const std::vector<std::string>& examples_of(const std::string& command)
{
    static const std::map<std::string, std::vector<std::string>> kExamples = {
        {"",
         {"petstorectl key create --plan pro --label acme",
          "petstorectl --redis redis://redis.internal:6379/0 doctor",
          "petstorectl help key create"}},
        {"key create",
         {"petstorectl key create --plan pro --label acme",
          "petstorectl key create --plan enterprise --per-minute 5000 --per-day 2000000",
          "petstorectl key create --scopes read --expires 2030-12-31",
          "petstorectl key create --label trial --expires 30d",
          "KEY=$(petstorectl key create --label ci)"}},
        {"key import",
         {"petstorectl key import --plan pro < key.txt",
          "petstorectl key import --sha256 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}},
        {"key list",
         {"petstorectl key list",
          "petstorectl key list --plan pro --state usable",
          "petstorectl key list --expires-before 30d --json"}},
        {"key find",
         {"petstorectl key find < key.txt",
          "petstorectl key find - --json < key.txt"}},
        {"key show", {"petstorectl key show s8JWxktnPJd2LOxh"}},
        {"key rotate",
         {"petstorectl key rotate s8JWxktnPJd2LOxh",
          "petstorectl key rotate s8JWxktnPJd2LOxh --grace 7d"}},
        {"key disable", {"petstorectl key disable s8JWxktnPJd2LOxh"}},
        {"key enable", {"petstorectl key enable s8JWxktnPJd2LOxh"}},
        {"key delete",
         {"petstorectl key delete s8JWxktnPJd2LOxh",
          "petstorectl key delete s8JWxktnPJd2LOxh --yes"}},
        {"key export", {"petstorectl key export > keys.ndjson"}},
        {"key restore", {"petstorectl key restore keys.ndjson"}},
        {"key set",
         {"petstorectl key set s8JWxktnPJd2LOxh --plan business",
          "petstorectl key set s8JWxktnPJd2LOxh --per-minute none --expires none"}},
        {"key unban", {"petstorectl key unban s8JWxktnPJd2LOxh"}},
        {"key usage", {"petstorectl key usage s8JWxktnPJd2LOxh"}},
        {"pet import",
         {"petstorectl pet import pets.ndjson",
          "echo '{\"name\":\"Rex\",\"categoryId\":7}' | petstorectl pet import -"}},
        {"pet export", {"petstorectl pet export > pets.ndjson"}},
        {"pet set-status", {"petstorectl pet set-status 17 sold"}},
        {"cache clear", {"petstorectl cache clear"}},
        {"limits move",
         {"petstorectl limits move --limit-redis redis://limits.internal"}},
        {"limits return",
         {"petstorectl limits return --limit-redis redis://limits.internal"}},
        {"move",
         {"petstorectl move --to 'cluster redis://10.0.0.1 redis://10.0.0.2'"}},
        {"upgrade",
         {"petstorectl upgrade",
          "petstorectl upgrade --limit-redis redis://limits.internal"}},
        {"doctor",
         {"petstorectl doctor",
          "petstorectl doctor --redis redis://redis.internal:6379/0 --json"}},
        {"help", {"petstorectl help key rotate"}},
        {"version", {"petstorectl version"}},
        {"manual", {"petstorectl manual | man -l -"}},
    };
    static const std::vector<std::string> kNone;
    const auto found = kExamples.find(command);
    return found == kExamples.end() ? kNone : found->second;
}

}  // namespace petstore::ctl
