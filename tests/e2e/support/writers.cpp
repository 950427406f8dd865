#include "writers.h"

#include <set>

namespace petstore::e2e {

Writers::Writers(const NginxServer& nginx, const Key& key, int count,
                 bool idempotent)
    : idempotent_(idempotent)
{
    const std::string prefix = idempotent ? "i" : "";
    for (int i = 0; i < count; ++i) {
        threads_.emplace_back([this, &nginx, &key, i, prefix] {
            Http http(nginx.url(), key.secret);
            for (int n = 0; !ending_; ++n) {
                create(http,
                       prefix + std::to_string(i) + "." + std::to_string(n));
            }
        });
    }
}

void Writers::end()
{
    ending_ = true;
    for (auto& thread : threads_) {
        if (thread.joinable()) {
            thread.join();
        }
    }
}

void Writers::create(Http& http, const std::string& name)
{
    Headers headers;
    if (idempotent_) {
        headers.emplace_back("Idempotency-Key", name);
    }
    const auto response = http.post(
        "/v1/pets", "{\"name\":\"" + name + "\",\"categoryId\":1}", headers);
    if (response.status == 201) {
        const std::lock_guard lock(mutex_);
        pets_[response.json().at("id")] = name;
        ++acknowledged_;
    } else if (response.status == 503 && response.has("retry-after")
               && response.has("x-ratelimit-remaining")) {
        ++refused_;
        std::this_thread::sleep_for(10ms);  // as a client would, but less
    } else {
        ++strange_;
    }
}

Stored compare(const Writers& writers, const NginxServer& nginx, const Key& key)
{
    Http http(nginx.url(), key.secret);
    if (!wait_until([&] { return http.get("/v1/pets").status == 200; })) {
        throw HarnessError("the pets cannot be read");
    }
    std::map<long long, std::string> pets;
    std::set<std::string> names;
    for (const auto& row : walk(http, "/v1/pets?limit=100")) {
        pets[row.at("id")] = row.at("name");
        names.insert(row.at("name").get<std::string>());
    }
    Stored stored;
    stored.pets = pets.size();
    stored.names_twice = pets.size() - names.size();
    stored.ids_twice = static_cast<std::size_t>(writers.acknowledged())
                       - writers.pets().size();
    for (const auto& [id, name] : writers.pets()) {
        stored.lost += pets[id] != name;
    }
    return stored;
}

}  // namespace petstore::e2e
