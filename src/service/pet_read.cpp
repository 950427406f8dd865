#include "pet_read.h"

#include <utility>

#include "../api/page.h"

namespace petstore::service {

void PetRead::prepare()
{
    target_ = find_target_(request_);
}

void PetRead::on_limit_sent()
{
    const auto* key = std::get_if<store::ReadKey>(&*target_);
    if (key == nullptr) {
        return;
    }
    store::Storage& storage = request_.storage();
    if (!storage.limit_commands.brings_version()) {
        fetches_version_ = true;
        request_.wait();
        storage.versions.read(*this);
        if (!fetches_version_) {
            return;  // it has failed
        }
    }
    reading_ahead_ = storage.reader.read_ahead(*key);
}

void PetRead::on_limit_decided(const store::Version& version)
{
    if (reading_ahead_) {
        request_.storage().reader.confirm(std::get<store::ReadKey>(*target_),
                                          version);
    }
}

void PetRead::on_result(
    const store::Outcome<store::VersionInGeneration>& version) noexcept
{
    // Even if this request has ended, its reads serve other requests.
    if (reading_ahead_ && !version.failed()) {
        request_.attempt([&] {
            request_.storage().reader.confirm(
                std::get<store::ReadKey>(*target_), version.value().version);
        });
    }
    request_.deliver([&] {
        fetches_version_ = false;
        fetched_ = version;
        if (admitted_) {
            read();
        }
    });
}

void PetRead::on_admitted()
{
    if (const auto* error = std::get_if<api::Error>(&*target_)) {
        return request_.refuse(*error);
    }
    admitted_ = true;
    if (!fetches_version_) {
        read();
    }
}

void PetRead::read()
{
    const auto& key = std::get<store::ReadKey>(*target_);
    store::Storage& storage = request_.storage();
    auto version = request_.admission().version();
    if (fetched_) {
        if (const auto* failure = fetched_->failure()) {
            return request_.refuse(failure->error);
        }
        version = storage.read_cache.latest_after(fetched_->value());
    }
    if (version) {
        if (auto response = storage.read_cache.find_latest(key, *version)) {
            return send(std::move(response));
        }
    }
    storage.reader.read(key, version, response_read_.begin());
}

void PetRead::send(store::SharedResponse cached)
{
    Response response;
    if (cached->next_after != 0) {
        response.link = api::page_links(
            request_.settings().link_base,
            std::get<store::ReadKey>(*target_).query(), cached->next_after);
    }
    response.cached = std::move(cached);
    request_.respond(response);
}

}  // namespace petstore::service
