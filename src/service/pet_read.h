#pragma once

#include <optional>
#include <variant>

#include "../store/pets/reader.h"
#include "api_request.h"
#include "await.h"
#include "operation.h"

namespace petstore::service {

// The common base of the operations that read pets: reads ahead with the
// limiter's command, and responds from memory. If the limiter's reply contains
// no version, the read waits for both the decision and the version.
class PetRead : public AdmissionHandler,
                private store::Waiter<store::VersionInGeneration> {
public:
    void prepare() final;
    void on_limit_sent() final;
    void on_limit_decided(const store::Version& version) final;
    void on_admitted() final;

protected:
    explicit PetRead(ApiRequest& request) noexcept : request_(request) {}

    ApiRequest& request() const noexcept { return request_; }

    // What the request reads, or the error to return.
    using Target = std::variant<store::ReadKey, api::Error>;
    virtual Target target() const = 0;

    // The Link header of the response; empty for none.
    virtual std::string link(const store::ReadKey& key,
                             const store::CachedResponse& response) const
    {
        static_cast<void>(key);
        static_cast<void>(response);
        return {};
    }

private:
    void read();
    void on_result(const store::Outcome<store::VersionInGeneration>&
                       version) noexcept override;
    void take_response(const store::SharedResponse& read) { send(read); }
    void send(store::SharedResponse response);

    ApiRequest& request_;
    Await<store::SharedResponse, PetRead, &PetRead::take_response>
        response_read_{request_, *this};
    std::optional<Target> target_;
    bool reading_ahead_ = false;
    bool admitted_ = false;
    bool fetches_version_ = false;  // the reply is due
    std::optional<store::Outcome<store::VersionInGeneration>> fetched_;
};

}  // namespace petstore::service
