# shellcheck shell=bash
# Shared by the scripts in this folder. Sourced, not run.

# The scripts that source this file read these variables.
# shellcheck disable=SC2034
{
    unset CDPATH # with it, cd may go elsewhere, and prints where
    ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
    # Set PETSTORE_BUILD_DIR to build one tree in separate folders.
    BUILD=$(realpath -ms -- "${PETSTORE_BUILD_DIR:-$ROOT/build}")
    # For scripts that this one calls from another folder.
    if [[ ${PETSTORE_BUILD_DIR-} ]]; then PETSTORE_BUILD_DIR=$BUILD; fi
    MODULE=ngx_http_petstore_module.so

    BUILD_PACKAGES=(g++ make cmake pkg-config nginx nginx-dev libhiredis-dev
        nlohmann-json3-dev libcli11-dev libssl-dev zlib1g-dev libpcre2-dev)
    RUN_PACKAGES=(nginx redis-server curl)
    TEST_PACKAGES=(catch2 chromium-headless-shell clang-format clang-tidy curl
        faketime git jq libcurl4-openssl-dev libnghttp2-dev
        libnginx-mod-http-headers-more-filter libnginx-mod-http-image-filter
        libnginx-mod-http-lua mypy nginx
        openssl prometheus python3-dateutil python3-flask python3-requests
        python3-typeshed redis-server shellcheck)
}

say() { printf '%s\n' "$*" >&2; }

die() {
    say "${0##*/}: $*"
    exit 1
}

# need_plain_path PATH: refuses characters that the shell, make, sed, nginx's
# configuration or the URL of a socket would not take as they are.
need_plain_path() {
    local odd=$'[][:space:][:cntrl:]!"#$&\'()*:;<=>?[\\\\^`{|}]'
    # shellcheck disable=SC2053 # a pattern
    [[ $1 != *$odd* ]] || die "cannot use the folder $1: its path may have only letters," \
        "digits and % + , - . / @ _ ~"
}

cpu_count() { nproc; }

# Of any architecture, unless the name ends with one.
is_installed() {
    dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed
}

# Runs a command as root, through sudo if necessary.
as_root() {
    if [[ $(id -u) == 0 ]]; then
        "$@"
    else
        sudo "$@"
    fi
}

# Installs the given packages that are missing. If none is missing, needs
# neither network nor root.
need_packages() {
    local missing=() package
    for package; do
        is_installed "$package" || missing+=("$package")
    done
    [[ ${#missing[@]} == 0 ]] && return

    command -v apt-get >/dev/null ||
        die "needs ${missing[*]}; only apt is supported"
    if [[ $(id -u) != 0 ]] && ! command -v sudo >/dev/null; then
        die "needs packages; as root: $ROOT/scripts/apt-install ${missing[*]}"
    fi

    say "Installing ${missing[*]}"
    as_root env LC_ALL=C bash "$ROOT/scripts/apt-install" "${missing[@]}"
}

# Installs Clang with its sanitizers and libFuzzer, which its package only
# recommends.
need_clang() {
    local version
    need_packages clang
    version=$(clang++ -dumpversion)
    need_packages "libclang-rt-${version%%.*}-dev"
}

# Prints the version of nginx on this machine, such as "1.22.1".
nginx_version() {
    local text
    text=$(nginx_binary_run -v 2>&1)
    printf '%s' "${text##*/}"
}

nginx_binary_run() { PATH=$PATH:/usr/sbin:/sbin nginx "$@"; }

# Prints the name of version 14 of the LLVM tool $1. If it is not installed,
# prints a message and fails.
llvm_tool() {
    local name found=none
    for name in "$1-14" "$1"; do
        found=$("$name" --version 2>/dev/null | grep -o 'version [0-9]*') || continue
        if [[ $found == 'version 14' ]]; then
            echo "$name"
            return
        fi
    done
    say "Not run: needs $1 14, as in Debian 12; here is ${found:-none}"
    return 1
}

# Builds the fixed-rate load generator.
build_paced() {
    local folder=$ROOT/tests/bench/paced program=$BUILD/bench/paced
    if [[ $folder/paced.cpp -nt $program || $folder/http.h -nt $program ]]; then
        mkdir -p "$BUILD/bench"
        g++ -std=c++17 -O2 -o "$program" "$folder/paced.cpp" ||
            die "the load generator does not build"
    fi
}
