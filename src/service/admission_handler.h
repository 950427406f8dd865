#pragma once

#include "../store/pets/version.h"

namespace petstore::service {

// Callbacks of Admission, in order. Implemented by ApiRequest, which forwards
// them to its operation, and by GuardRequest.
class AdmissionHandler {
public:
    virtual ~AdmissionHandler() = default;

    // The key is valid and the limiter is about to be asked: determines what
    // will be read. Must not end the request.
    virtual void prepare() {}

    // After prepare(): whether the request needs the catalogue's version, which
    // the limiter's reply then brings along.
    virtual bool needs_version() const noexcept { return false; }

    // The limiter's command was sent; reads sent now are executed after it, in
    // the same round trip. May be skipped.
    virtual void on_limit_sent() {}

    // Data read after that command are at least as new as `version`.
    virtual void on_limit_decided(const store::Version& version)
    {
        static_cast<void>(version);
    }

    // Called once. An operation's key has the scope for it.
    virtual void on_admitted() = 0;

    // After Admission::confirm_key(): the key is still usable, and for an
    // operation has its scope.
    virtual void on_key_confirmed() {}
};

}  // namespace petstore::service
