#include "pet_read.h"

#include <utility>

namespace petstore::service {

void PetRead::prepare()
{
    target_ = target();
}

void PetRead::on_limit_sent()
{
    if (const auto* key = std::get_if<store::ReadKey>(&*target_)) {
        reading_ahead_ = request_.storage().reader.read_ahead(*key);
    }
}

void PetRead::on_limit_decided(const store::Version& version)
{
    if (reading_ahead_) {
        request_.storage().reader.confirm(std::get<store::ReadKey>(*target_),
                                          version);
    }
}

void PetRead::run()
{
    if (const auto* error = std::get_if<api::Error>(&*target_)) {
        return request_.refuse(*error);
    }
    const auto& key = std::get<store::ReadKey>(*target_);
    const auto& version = request_.admission().version();
    store::Reader& reader = request_.storage().reader;
    if (version) {
        if (store::Reader::is_beyond(key, *version)) {
            return request_.refuse(store::no_such_pet());
        }
        if (auto response = reader.find(key, *version)) {
            return send(std::move(response));
        }
    }
    request_.wait();
    reader.read(key, version, *this);
}

void PetRead::on_read(const store::ReadResult& result) noexcept
{
    request_.deliver([&] {
        if (const auto* error = std::get_if<api::Error>(&result)) {
            request_.refuse(*error);
        } else {
            send(
                std::get<std::shared_ptr<const store::CachedResponse>>(result));
        }
    });
}

void PetRead::send(std::shared_ptr<const store::CachedResponse> cached)
{
    Response response;
    response.link = link(std::get<store::ReadKey>(*target_), *cached);
    response.cached = std::move(cached);
    request_.respond(response);
}

}  // namespace petstore::service
