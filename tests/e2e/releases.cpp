// The scripts of a release, run in a copy of what they read and change.
#include "catch.h"
#include "support/process.h"
#include "support/util.h"

using namespace petstore::e2e;
using namespace std::string_literals;

namespace {

// A folder with scripts of this repository.
struct Checkout {
    TempDir dir;

    explicit Checkout(const std::vector<std::string>& scripts)
    {
        run({"mkdir", "-p", dir / "scripts", dir / ".github/workflows"});
        for (const auto& name : scripts) {
            const auto file = "scripts/" + name;
            run({"cp", std::string(E2E_SUPPORT) + "/../../../" + file,
                 dir / file});
        }
    }

    Output script(const std::string& name,
                  std::vector<std::string> arguments = {}) const
    {
        arguments.insert(arguments.begin(), dir / ("scripts/" + name));
        const auto path = dir.path() + ":" + getenv("PATH");
        return run(arguments, "", {{"PATH", path}});
    }
};

}  // namespace

TEST_CASE("releases: pin-images takes the digests of today")
{
    const std::string old_digest(64, 'a');
    const std::string new_digest(64, 'b');
    const std::string kept_digest(64, 'c');
    const auto text = [&](const std::string& digest) {
        return "image: debian:12@sha256:" + kept_digest
               + "\nBASE: debian:trixie@sha256:" + digest + "\n";
    };
    const Checkout checkout({"pin-images", "lib.sh"});
    const auto workflow = checkout.dir / ".github/workflows/test.yml";
    write_file(workflow, text(old_digest));

    // Docker Hub knows a new image for trixie only.
    const auto docker_hub = [&](const std::string& trixie) {
        write_file(checkout.dir / "curl",
                   "#!/bin/sh\n"
                   "case \"$*\" in\n"
                   "*/token*) echo '{\"token\":\"t\"}' ;;\n"
                   "*'Bearer t'*/library/debian/manifests/12)\n"
                   "    printf 'HTTP/2 200\\r\\ndocker-content-digest: sha256:"
                       + kept_digest
                       + "\\r\\n' ;;\n"
                         "*'Bearer t'*/library/debian/manifests/trixie)\n"
                         "    printf 'HTTP/2 200\\r\\nDocker-Content-Digest: "
                       + trixie + "\\r\\n' ;;\n*) exit 22 ;;\nesac\n");
        run({"chmod", "755", checkout.dir / "curl"});
    };
    docker_hub("sha256:" + new_digest);
    const auto pinned = checkout.script("pin-images");
    INFO(pinned.err);
    CHECK(pinned.code == 0);
    CHECK(pinned.out
          == "debian:trixie: sha256:" + old_digest + " -> sha256:" + new_digest
                 + "\n");
    CHECK(read_file(workflow) == text(new_digest));

    docker_hub("nonsense");
    const auto failed = checkout.script("pin-images");
    CHECK(failed.code == 1);
    CHECK(contains(failed.err, "no digest for debian:trixie"));
    CHECK(read_file(workflow) == text(new_digest));
}

TEST_CASE("releases: the notes are the changelog's section, readable elsewhere")
{
    const Checkout checkout({"release-notes", "lib.sh"});
    write_file(
        checkout.dir / "CHANGELOG.md",
        "# Changelog\n\n## [Unreleased]\n\n- Not yet.\n\n"
        "## [1.2.0] - 2026-11-28\n\n### Before\n\n"
        "- **Read** [upgrading](docs/upgrading.md#acl)\n  first.\n"
        "- See [elsewhere](https://example.com/) and\n  [this](README.md).\n\n"
        "## [1.1.0] - 2026-11-21\n\n- Old.\n");
    const auto notes =
        checkout.script("release-notes", {"1.2.0", "https://host/v1.2.0/"});
    CHECK(notes.code == 0);
    CHECK(
        notes.out
        == "### Before\n\n"
           "- **Read** [upgrading](https://host/v1.2.0/docs/upgrading.md#acl) "
           "first.\n"
           "- See [elsewhere](https://example.com/) and "
           "[this](https://host/v1.2.0/README.md).\n");
    for (const char* unknown : {"1.2", "1.3.0"}) {
        CHECK(checkout.script("release-notes", {unknown, "."}).code == 1);
    }
}

TEST_CASE("releases: a tag must name the version that all files have")
{
    const Checkout checkout({"check-release", "release-notes", "lib.sh"});
    run({"mkdir", "-p", checkout.dir / "src/api", checkout.dir / "debian",
         checkout.dir / "docs/examples"});
    const auto image = [&](const std::string& version) {
        write_file(checkout.dir / "docs/examples/kubernetes.yaml",
                   "  image: registry.example.com/petstore:" + version
                       + "  # <--\n");
    };
    image("0.2.0");
    const auto files = [&](const std::string& version,
                           const std::string& packaged,
                           const std::string& section) {
        write_file(checkout.dir / "src/api/version.h",
                   "inline constexpr char kVersion[] = \"" + version + "\";\n");
        write_file(checkout.dir / "debian/changelog",
                   "petstore (" + packaged + "; urgency=medium\n");
        write_file(checkout.dir / "CHANGELOG.md",
                   "## [Unreleased]\n\n## [" + section
                       + "] - 2026-11-28\n\n- A change.\n");
    };
    const auto accepted = [&](const std::vector<std::string>& tag = {}) {
        return checkout.script("check-release", tag).code == 0;
    };

    files("0.2.0~dev", "0.2.0~dev) UNRELEASED", "0.1.0");
    CHECK(accepted());
    CHECK_FALSE(accepted({"v0.2.0"}));
    CHECK_FALSE(accepted({"v0.2.0~dev"}));

    files("0.2.0", "0.2.0) unstable", "0.2.0");
    CHECK(accepted());
    CHECK(accepted({"v0.2.0"}));
    CHECK_FALSE(accepted({"0.2.0"}));
    CHECK_FALSE(accepted({"v0.2.1"}));

    files("0.2.0", "0.2.0) UNRELEASED", "0.2.0");
    CHECK_FALSE(accepted());
    files("0.2.0", "0.2.0~dev) unstable", "0.2.0");
    CHECK_FALSE(accepted());
    files("0.2.0", "0.2.0) unstable", "0.1.0");
    CHECK_FALSE(accepted());
    files("0.2", "0.2) unstable", "0.2");
    CHECK_FALSE(accepted());
    files("0.2.0", "0.2.0) unstable", "0.2.0");
    image("0.1.0");
    CHECK_FALSE(accepted());
}
