#pragma once

#include <string>

#include "redis_client.h"

namespace petstore::e2e {

// A catalogue that claims to have `pets` available pets named "x". Only the
// buckets of placed pets exist, and bitmaps contain no others.
class SparseCatalogue {
public:
    // `Redis` is RedisClient or RedisServer.
    template <class Redis>
    SparseCatalogue(const Redis& redis, long long pets)
        : client_(redis.client()), pets_(pets)
    {
        command({"SET", key("count"), std::to_string(pets)});
        command({"SET", key("changes"), "1000"});
        // Creates continue these ids, because the replication id is the true
        // one.
        const std::string info = command({"INFO", "replication"}).text;
        const std::string field = "master_replid:";
        command({"SET", key("segments"),
                 "0000000001:0000000000000001 "
                     + info.substr(info.find(field) + field.size(), 40)});
    }

    static std::string key(const std::string& name)
    {
        return "petstore:{petstore:pets}:" + name;
    }
    static std::string bucket(long long id)
    {
        return key("bucket:" + std::to_string((id - 1) / 128));
    }

    // Creates the pet as sold.
    void place(long long id)
    {
        need_bucket(id);
        command({"LSET", bucket(id), std::to_string((id - 1) % 128), "s1:x"});
        command({"SETBIT", key("status:sold"), std::to_string(id), "1"});
    }

    // Creates the bucket of this pet, with its pets up to the last one.
    void need_bucket(long long id)
    {
        if (command({"EXISTS", bucket(id)}).integer == 1) {
            return;
        }
        Words push = {"RPUSH", bucket(id)};
        const auto first = (id - 1) / 128 * 128;
        for (long long i = 1; i <= 128 && first + i <= pets_; ++i) {
            push.push_back("a1:x");
        }
        if (push.size() > 2) {
            command(push);
        }
    }

private:
    Value command(const Words& words)
    {
        const auto reply = client_.command(words);
        if (reply.type == Value::Type::error) {
            throw HarnessError(words[0] + ": " + reply.text);
        }
        return reply;
    }

    RedisClient client_;
    long long pets_;
};

}  // namespace petstore::e2e
