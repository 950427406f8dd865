#pragma once

#include <functional>
#include <map>
#include <openssl/evp.h>
#include <string>
#include <vector>

#include "redis_client.h"
#include "util.h"

namespace petstore::e2e {

// A store as versions of format 1 left it, written by plain commands.
class Format1 {
public:
    using Redis = std::function<Value(const Words&)>;

    explicit Format1(Redis main, std::string prefix = "petstore")
        : Format1(main, main, std::move(prefix))
    {}

    // With two Redis. Marks both.
    Format1(Redis main, Redis limits, std::string prefix)
        : main_(std::move(main)), limits_(std::move(limits)),
          prefix_(std::move(prefix))
    {}

    struct Key {
        std::string id;
        std::string account;
        std::string plan;  // empty: the field is absent
        std::string created = "1700000000";
        std::map<std::string, std::string> more = {};  // further fields
    };

    static std::string secret(const std::string& id)
    {
        return "a-key-of-format-1-" + id;
    }

    void add(const Key& key)
    {
        const std::string digest = sha256(secret(key.id));
        Words record = {"HSET",     prefix_ + ":key:" + digest,
                        "id",       key.id,
                        "account",  key.account,
                        "scopes",   "read,write",
                        "created",  key.created,
                        "disabled", key.more.count("disabled") != 0 ? "1" : "0",
                        "last4",    "last",
                        "epoch",    "1700000000000000"};
        if (!key.plan.empty()) {
            record.insert(record.end(), {"plan", key.plan});
        }
        for (const auto& [field, value] : key.more) {
            record.insert(record.end(), {field, value});
        }
        run(main_, {"HSET", prefix_ + ":keys", key.id, digest});
        run(main_, record);
    }

    struct State {
        double ban_end = 0;
        double minute = 0;
        double minute_end = 0;
        double day = 0;
        double day_end = 0;
    };

    void set_state(const std::string& account, const State& state)
    {
        const double numbers[] = {1700000000000001, state.ban_end,
                                  state.minute,     state.minute_end,
                                  state.day,        state.day_end};
        run(limits_, {"SET", account_key(account, "state"),
                      std::string(reinterpret_cast<const char*>(numbers),
                                  sizeof(numbers)),
                      "EX", "172800"});
    }

    // "pet 1", "pet 2" … as import_pets() makes them.
    void add_pets(int count)
    {
        static const std::vector<std::string> kStatuses = {"available",
                                                           "pending", "sold"};
        for (int id = 1; id <= count; ++id) {
            const auto& status = kStatuses[static_cast<std::size_t>(id) % 3];
            run(main_,
                {"RPUSH", catalogue("bucket:" + std::to_string((id - 1) / 128)),
                 status.substr(0, 1) + std::to_string(id * 10) + ":pet "
                     + std::to_string(id)});
            run(main_, {"SETBIT", catalogue("status:" + status),
                        std::to_string(id), "1"});
        }
        run(main_, {"SET", catalogue("last-id"), std::to_string(count)});
        run(main_, {"SET", catalogue("changes"), "1700000000000000"});
    }

    std::string account_key(const std::string& account,
                            const std::string& what) const
    {
        return prefix_ + ":{" + account + "}:" + what;
    }
    std::string catalogue(const std::string& what) const
    {
        return prefix_ + ":{" + prefix_ + ":pets}:" + what;
    }

    static std::string sha256(const std::string& text)
    {
        unsigned char digest[EVP_MAX_MD_SIZE];
        unsigned size = 0;
        EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha256(),
                   nullptr);
        std::string hex;
        for (unsigned i = 0; i < size; ++i) {
            hex += "0123456789abcdef"[digest[i] >> 4];
            hex += "0123456789abcdef"[digest[i] & 15];
        }
        return hex;
    }

private:
    static void run(const Redis& redis, const Words& words)
    {
        const auto reply = redis(words);
        if (reply.type == Value::Type::error) {
            throw HarnessError(words[0] + ": " + reply.text);
        }
    }

    Redis main_;
    Redis limits_;
    std::string prefix_;
};

}  // namespace petstore::e2e
