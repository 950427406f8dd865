#pragma once

#include <optional>
#include <variant>

#include "../store/pets/reader.h"
#include "api_request.h"
#include "await.h"

namespace petstore::service {

// What a request reads, or the error to return.
using ReadTarget = std::variant<store::ReadKey, api::Error>;

// GET /pets/{id}: one pet, until the operation's sunset.
ReadTarget pet_of(const ApiRequest& request);

// GET /pets: a page of pets.
ReadTarget page_of(const ApiRequest& request);

// The operations that read pets: reads ahead with the limiter's command, and
// responds from memory. If the limiter's reply contains no version, the read
// waits for both the decision and the version.
class PetRead final : public AdmissionHandler,
                      private store::Waiter<store::VersionInGeneration> {
public:
    using FindTarget = ReadTarget(const ApiRequest& request);

    PetRead(ApiRequest& request, FindTarget& find_target) noexcept
        : request_(request), find_target_(find_target)
    {}

    void prepare() override;
    void on_limit_sent() override;
    void on_limit_decided(const store::Version& version) override;
    void on_admitted() override;

private:
    void read();
    void on_result(const store::Outcome<store::VersionInGeneration>&
                       version) noexcept override;
    void take_response(const store::SharedResponse& read) { send(read); }
    void send(store::SharedResponse response);

    ApiRequest& request_;
    FindTarget& find_target_;
    Await<store::SharedResponse, PetRead, &PetRead::take_response>
        response_read_{request_, *this};
    std::optional<ReadTarget> target_;
    bool reading_ahead_ = false;
    bool admitted_ = false;
    bool fetches_version_ = false;  // the reply is due
    std::optional<store::Outcome<store::VersionInGeneration>> fetched_;
};

}  // namespace petstore::service
