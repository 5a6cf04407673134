#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus-lap, the measured process: it maps no library that parses, hashes or reports, locus finds it or says what to do, and a log
# says which one it was. LOCUS names the program, REPO the project. One line a case.
set -u
: "${LOCUS:?LOCUS must name the program}"
LOCUS=$(realpath "$LOCUS")
REPO=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$(dirname "$0")/cases.bash"
lap=$(dirname "$LOCUS")/locus-lap
export LOCUS_HOST=test-host GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
unset LD_PRELOAD LOCUS_LAP LOCUS_ASAN
cd "$scratch" || exit 1

# --- what is in it -------------------------------------------------------------------------------------------------------------

unwanted='lib(crypto|ssl|gnutls|yaml|cyaml|jansson|uring|pfm|smartcols)'
none() { why=$(grep -oE -m 3 "$1" "$2" | paste -sd ' ') && [ -z "$why" ]; } # pattern, file
ldd "$lap" >"$scratch/ldd"
ldd "$LOCUS" >"$scratch/ldd-locus"
check the-list-of-libraries-is-one grep -q libc.so "$scratch/ldd"
check locus-itself-has-what-is-looked-for grep -qE "$unwanted" "$scratch/ldd-locus"
check no-library-for-tls-yaml-or-json none "$unwanted" "$scratch/ldd"
nm "$lap" | awk '$(NF - 1) ~ /[TtUW]/ { print $NF }' >"$scratch/names"
nm "$LOCUS" | awk '$(NF - 1) ~ /[TtUW]/ { print $NF }' >"$scratch/names-locus"
check it-has-the-engine grep -qx tb_engine_run "$scratch/names"
check nor-is-one-of-them-linked-in none '^(json_(object|array|loads|dumps|pack)|yaml_|EVP_|io_uring_|pfm_)[a-z_]*' "$scratch/names"
check nor-what-reports none '^tb_(cmd|verdict|ledger|log|html|environment|rounds)_[a-z_]*' "$scratch/names"
if grep -q '^rte_' "$scratch/names"; then
    check dpdk-is-not-in-locus none '^rte_[a-z_]*' "$scratch/names-locus"
    check which-names-its-contenders eval "locus 0 eval --help && grep -q '^  dpdk-ring  *DPDK' '$out'"
    check and-has-them-run locus 0 eval -W cycle-256 -c dpdk-ring,locus -r 1 -d inline --laps 2 -q
else
    skip dpdk-is-not-in-locus 'the build found no DPDK'
fi

# The dynamic linker writes down what each measured process loads, however short its life is.
printf '%s\n' '#!/bin/sh' "LD_DEBUG=files LD_DEBUG_OUTPUT='$scratch/loads' exec '$lap'" >"$scratch/looker"
chmod +x "$scratch/looker"
looked_at() { # a library that is loaded, contender
    rm -f "$scratch"/loads*
    LOCUS_LAP=$scratch/looker locus 0 eval -W steady-decode -c "$2" -r 1 -d inline --laps 2 -q || return
    cat "$scratch"/loads.* >"$scratch/loads"
    why='it was not seen' && grep -q 'initialize program: .*/locus-lap$' "$scratch/loads" && why="$1 is not loaded" &&
        grep -q "calling init: .*$1" "$scratch/loads" && none "$unwanted" "$scratch/loads"
}
check a-measured-process-maps-none looked_at libc locus
if "$LOCUS" eval -W cycle-256 -c mimalloc -r 1 -d inline --laps 2 -q >/dev/null 2>&1; then
    check nor-one-with-a-preloaded-malloc looked_at libmimalloc mimalloc
else
    skip nor-one-with-a-preloaded-malloc 'there is no mimalloc'
fi

# --- where it is ---------------------------------------------------------------------------------------------------------------

few='-W cycle-256 -c locus -r 1 -d inline --laps 2 -q'
mkdir -p alone pair root/bin root/libexec/locus && cp "$LOCUS" alone && cp "$LOCUS" "$lap" pair && cp "$LOCUS" root/bin &&
    cp "$lap" root/libexec/locus || exit 1
run_as() { local LOCUS=$1; locus "${@:2}"; }
check beside-the-program run_as "$scratch/pair/locus" 0 eval $few
check in-libexec-of-an-installation run_as "$scratch/root/bin/locus" 0 bench -c locus -r 1 -q
check where-LOCUS_LAP-names-it env LOCUS_LAP="$lap" "$scratch/alone/locus" eval $few
missing() { local LOCUS=$scratch/alone/locus; refuses "$@"; }
missing a-program-copied-alone-says-where-it-should-be 1 'locus-lap.*missing.*make.*libexec/locus.*LOCUS_LAP' eval $few
missing so-does-bench 1 'locus-lap.*missing' bench -c locus -r 1 -q
export LOCUS_LAP=$scratch/nowhere
refuses one-that-is-named-and-not-there 1 "LOCUS_LAP is $scratch/nowhere.*not a program" eval $few
export LOCUS_LAP=$REPO/README.md
refuses one-that-is-no-program 1 'README.md.*not a program' eval $few
unset LOCUS_LAP
says_and_fails() { [ "$1" = 2 ] && why=$(cat "$err") && grep -q "^locus: .*$2" "$err"; } # status, words
by_hand() { "$lap" 3<&- >"$out" 2>"$err" </dev/null; says_and_fails $? 'is internal'; }
check it-is-not-for-people by_hand
head -c 100000 /dev/zero >"$scratch/zeros"
other_build() {
    "$lap" 3<"$scratch/zeros" 4<"$scratch/zeros" >"$out" 2>"$err" </dev/null
    says_and_fails $? 'different builds'
}
check one-of-another-build-is-refused other_build

# --- in the log ----------------------------------------------------------------------------------------------------------------

mkdir tree && cd tree && git init -q . && mkdir postulates && cp "$REPO"/postulates/0002-*.md postulates/ || exit 1
missing a-run-without-it-is-refused 2 'locus-lap.*missing' run 0002 --smoke -q
check and-leaves-no-ledger [ ! -e build ]
check a-run-with-it locus 0 run 0002 --smoke -q
log=$(sed -n 's/^log //p' "$out")
head -n 1 "$log" >"$scratch/header"
says the-log-has-the-hashes-of-both "[.. | objects | select(has(\"lap_sha256\"))][0] |
    .lap_sha256 == \"$(sha256sum <"$lap" | cut -c 1-64)\" and
    .binary_sha256 == \"$(sha256sum <"$LOCUS" | cut -c 1-64)\"" "$scratch/header"

done_testing
