#pragma once

#include <string>

#include "util.h"

namespace petstore::e2e {

// A certificate authority with its own folder, and the certificates that it
// signs: NAME.crt and NAME.key in that folder.
class CertificateAuthority {
public:
    CertificateAuthority();

    // `names` is a subjectAltName, such as "DNS:redis.test". Replaces an
    // existing certificate of this file name.
    void issue(const std::string& name, const std::string& names,
               bool expired = false) const;

    // The authority's own certificate, "ca.crt".
    std::string certificate() const { return dir_ / "ca.crt"; }
    std::string file(const std::string& name) const { return dir_ / name; }

private:
    TempDir dir_;
};

}  // namespace petstore::e2e
