#include "certificates.h"

#include "process.h"

namespace petstore::e2e {

namespace {

void openssl(std::vector<std::string> arguments)
{
    arguments.insert(arguments.begin(), "openssl");
    const auto result = run(arguments);
    if (result.code != 0) {
        throw HarnessError("openssl: " + result.err);
    }
}

}  // namespace

CertificateAuthority::CertificateAuthority()
{
    openssl({"req", "-x509", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
             "/CN=test authority", "-keyout", dir_ / "ca.key", "-out",
             dir_ / "ca.crt"});
}

// Uses "openssl ca", because "x509" of OpenSSL 3.0 cannot set dates.
void CertificateAuthority::issue(const std::string& name,
                                 const std::string& names, bool expired) const
{
    openssl({"req", "-new", "-newkey", "ec", "-pkeyopt",
             "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=" + name,
             "-keyout", dir_ / (name + ".key"), "-out",
             dir_ / (name + ".csr")});
    write_file(dir_ / "index", "");
    write_file(dir_ / "ca.conf", "[ca]\ndefault_ca = authority\n"
                                 "[authority]\ndatabase = "
                                     + (dir_ / "index")
                                     + "\nnew_certs_dir = " + dir_.path()
                                     + "\ndefault_md = sha256\n"
                                       "policy = any\nrand_serial = yes\n"
                                       "unique_subject = no\n"
                                       "[any]\ncommonName = supplied\n"
                                       "[extensions]\nsubjectAltName = "
                                     + names + "\n");
    openssl({"ca", "-batch", "-notext", "-config", dir_ / "ca.conf", "-cert",
             dir_ / "ca.crt", "-keyfile", dir_ / "ca.key", "-extensions",
             "extensions", "-startdate", "20200101000000Z", "-enddate",
             expired ? "20210101000000Z" : "20490101000000Z", "-in",
             dir_ / (name + ".csr"), "-out", dir_ / (name + ".crt")});
}

}  // namespace petstore::e2e
