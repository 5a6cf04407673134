#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# .ci/deps.sh on a distribution whose packages it does not know. Its PATH is a folder with the common tools and what a case adds,
# so nothing is installed and this machine's tools are invisible. One line a case.
set -u
REPO=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$REPO/testbed/tests/cases.bash"
cd "$REPO" || exit 1

bare=$scratch/bare
mkdir "$bare"
for tool in sh bash make env id mktemp rm head tail sed grep tr fold echo printf cat nproc; do
    ln -s "$(command -v $tool)" "$bare/$tool" || exit 1
done

# deps STATUS ARGUMENT...: $out and $err are what it said.
deps() {
    local wanted=$1 status
    shift
    env -u DEPS PATH="$bare" "${with[@]}" sh .ci/deps.sh "$@" >"$out" 2>"$err" </dev/null
    status=$?
    why="exit $status, not $wanted: $(cat "$out" "$err" | head -n 2)"
    [ $status -eq "$wanted" ]
}
with=()
says_only() { why="it says: $(cat "$out" "$err")" && [ ! -s "$out" ] && grep -q -- "$1" "$err"; }
silent() { why="it says: $(cat "$out" "$err")" && [ ! -s "$out" ] && [ ! -s "$err" ]; }

# --- no Debian -----------------------------------------------------------------------------------------------------------------

system=$(. /etc/os-release && echo "$PRETTY_NAME")
stops() { deps 1 "$@" && says_only "^deps: .*$system" && says_only libhwloc-dev && says_only 'DEPS=skip'; }
check 'without dpkg-query it stops, names the distribution, the packages and the way out' stops build
check 'so it does when it is asked what is missing' stops check --missing
made() { why="make went on: $(cat "$out")" && ! env PATH="$bare" make deps >"$out" 2>&1 && grep -q 'DEPS=skip' "$out"; }
check 'and so does make' made
skipped() { with=(DEPS=skip) && deps 0 test && silent && env PATH="$bare" make DEPS=skip deps >"$out" 2>&1 && : >"$err" && silent; }
check 'DEPS=skip goes on, in the environment and as an argument of make' skipped
other() { with=(DEPS=yes) && deps 2 build && says_only "DEPS is 'yes'"; }
check 'another value of DEPS is refused' other
with=()

# --- a Debian with no packages, whose apt knows every name ---------------------------------------------------------------------

printf '#!/bin/sh\nexit 1\n' >"$bare/dpkg-query"
printf '#!/bin/sh\necho "  Candidate: 1"\n' >"$bare/apt-cache"
stops_without_apt() { deps 1 build && says_only 'apt-get is missing'; }
chmod +x "$bare"/{dpkg-query,apt-cache}
check 'dpkg alone, without apt, is not enough' stops_without_apt
printf '#!/bin/sh\nexit 1\n' >"$bare/apt-get" && chmod +x "$bare/apt-get"

short() {
    deps 0 check --missing && why="it names: $(paste -sd ' ' "$out")" && grep -qx libhwloc-dev "$out" &&
        grep -qx libcriterion-dev "$out" && grep -qx universal-ctags "$out" &&
        ! grep -qE '^(clang|ansible|libdpdk|r-mathlib|chromium|linux-perf)' "$out"
}
check 'the short tests want Criterion and ctags, and neither clang nor ansible' short
asked() { why='make check does not ask for that' && make -n check >"$out" 2>&1 && grep -qx 'sh .ci/deps.sh check' "$out"; }
check 'make check installs that and no more' asked
rivals() {
    deps 0 test --missing && why='not in the tests' && grep -qx libdpdk-dev "$out" && grep -qx pkg-config "$out" &&
        deps 0 build --missing && why='in the build' && ! grep -q dpdk "$out"
}
check "DPDK's pools are tested, and are not needed to build" rivals
packager() {
    deps 0 deb --missing && why="it names: $(paste -sd ' ' "$out")" && grep -qx debhelper "$out" && grep -qx libhwloc-dev "$out" &&
        ! grep -qx libdpdk-dev "$out"
}
check 'make deb wants debhelper and what the build wants' packager
# Before apt-get begins, whatever comes of it.
told() {
    deps 1 "$1" && why="it says: $(cat "$out")" && grep -q "^deps: these packages are missing, .*libhwloc-dev" "$out" &&
        grep -q "DEPS=skip, as in .make $2 DEPS=skip" "$out"
}
check 'it says which packages it is about to install, and how to prevent it' told build run
check 'so it does for the tests' told test test
mkdir -p "$scratch/clone/.ci" && cp .ci/deps.sh "$scratch/clone/.ci" # where no emulator is
emulator() { grep -q '^deps: the tests also fetch an emulator.*FETCH=skip' "$out"; echo -n $?; }
fetching() {
    local said
    cd "$scratch/clone" || return
    said=$(deps 1 test; emulator; with=(FETCH=skip); deps 1 test; emulator; with=(); deps 1 build; emulator)
    cd "$REPO" && why="told, told with FETCH=skip, told for the build: $said" && [ "$said" = 011 ]
}
check 'it says that the tests fetch an emulator, and FETCH=skip prevents it' fetching
fetch_skipped() {
    local script
    for script in testbed/guest/fetch.sh testbed/guest/fetch-user.sh; do
        FETCH=skip sh $script "$scratch/none/it" >"$out" 2>"$err"
        [ $? -eq 77 ] && says_only 'FETCH=skip' || return
    done
    ! FETCH=maybe sh testbed/guest/fetch.sh "$scratch/none/it" >"$out" 2>"$err" && says_only "FETCH is 'maybe'"
}
check 'then nothing is fetched' fetch_skipped
engine() {
    deps 0 all --missing && why='not in all' && grep -qx npm "$out" && grep -qx libdpdk-dev "$out" &&
        deps 0 test --missing && why='in the tests' && ! grep -qx npm "$out" &&
        ln -s "$bare/id" "$bare/npm" && deps 0 all --missing && why='another npm does not count' && ! grep -qx npm "$out"
}
check 'all tests want npm, from whatever package' engine

# dpkg-query STATUS for clang, and the packages that are installed.
clang_where() {
    printf '#!/bin/sh\ncase "$*" in *Depends*) exit %s ;; *Status*\\ %s) echo installed ;; *) exit 1 ;; esac\n' "$1" "$2" \
        >"$bare/dpkg-query"
    printf '#!/bin/sh\n[ $1 != show ] || { echo "Depends: clang-14 (>= 14~)"; exit; }\necho "  Candidate: 1"\n' >"$bare/apt-cache"
    deps 0 test --missing && why="it names: $(paste -sd ' ' "$out")" && grep -qx libclang-rt-14-dev "$out"
}
check 'the tests want the sanitizers of clang' clang_where 1 none
check 'so they do where dpkg knows clang by another package only' clang_where 0 none
check "and where clang's common files alone are installed" clang_where 1 libclang-common-14-dev

done_testing
