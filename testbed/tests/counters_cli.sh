#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# locus counters as a person meets it: LOCUS=path/to/locus, BUILD=path/of/the/build. One line a case, PASS, FAIL or SKIP; exit
# status 1 if any failed. perf_event_open is refused by a seccomp filter (deny_scenario), once for each errno.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
deny=$BUILD/testbed/tests/deny_scenario
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failures=0
unset LOCUS_CPU

pass() { echo "PASS $1"; }
skip() { echo "SKIP $1: $2"; }
fail() {
    echo "FAIL $1: $2"
    failures=$((failures + 1))
}

# refuses NAME WORD COMMAND...: exit 2, one line on stderr that says the word, nothing on stdout.
refuses() {
    name=$1 word=$2
    shift 2
    "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    if [ "$status" -ne 2 ]; then
        fail "$name" "exit $status, not 2"
    elif [ "$(wc -l <"$scratch/err")" -ne 1 ] || [ -s "$scratch/out" ]; then
        fail "$name" "not one line on stderr alone"
    elif ! grep -q "^locus: .*$word" "$scratch/err"; then
        fail "$name" "stderr says: $(cat "$scratch/err")"
    else
        pass "$name"
    fi
}

# shows NAME PATTERN COMMAND...: exit 0, silent on stderr, 80 columns at most, and the pattern in the text taken as one line.
shows() {
    name=$1 pattern=$2
    shift 2
    "$@" >"$scratch/out" 2>"$scratch/err"
    status=$?
    if [ "$status" -ne 0 ]; then
        fail "$name" "exit $status: $(head -n 1 "$scratch/err")"
    elif [ -s "$scratch/err" ]; then
        fail "$name" "stderr says: $(head -n 1 "$scratch/err")"
    elif ! tr -s ' \n' ' ' <"$scratch/out" | grep -Eq "$pattern"; then
        fail "$name" "nothing matches $pattern"
    elif [ "$(awk 'length > 80' "$scratch/out" | wc -l)" -gt 0 ]; then
        fail "$name" "a line is longer than 80 columns"
    else
        pass "$name"
    fi
}

# query NAME FILTER COMMAND...: the JSON passes jq -e FILTER.
query() {
    name=$1 filter=$2
    shift 2
    if ! "$@" >"$scratch/json" 2>"$scratch/err" || [ -s "$scratch/err" ]; then
        fail "$name" "$(head -n 1 "$scratch/err")"
    elif ! jq -e "$filter" "$scratch/json" >/dev/null 2>"$scratch/err"; then
        fail "$name" "not so: $filter $(head -n 1 "$scratch/err")"
    else
        pass "$name"
    fi
}

shows "this host is listed" "software .*[0-9]+ of [0-9]+ counters work on this host" "$LOCUS" counters
query "each counter works or says why" \
    '[.counters[] | select(.why)] | all(.why | startswith("not supported: "))' "$LOCUS" counters --json
query "every name is there once" '[.counters[].name] | length == (unique | length)' "$LOCUS" counters --json
"$LOCUS" counters >"$scratch/text"
reasons=$(jq -r '.counters[] | select(.why) | .why' "$scratch/json" | sort -u | wc -l)
said=$(grep -c 'not supported: ' "$scratch/text")
if [ "$reasons" -eq "$said" ]; then pass "each reason is said once"; else fail "each reason is said once" "$said of $reasons"; fi

# code CPU NAME CONFIG CONFIG1
code() {
    query "$1 $2" ".probed == false and (.counters[] | select(.name == \"$2\") | .config == \"$3\" and .config1 == $4)" \
        "$LOCUS" counters --cpu "$1" --json
}
code GenuineIntel:6:143 dram_remote 0x12a '"0x730000001"'
code GenuineIntel:6:106 dram_rfo_all 0x1b7 '"0x73c000002"'
code GenuineIntel:6:0xdd dram_local 0x1b7 '"0x784000001"'
code AuthenticAMD:26:2 dram_remote 0x4043 null
code ARM:0x41:0xd0c remote_accesses 0x31 null
query "the derived one names its parts" \
    '.counters[] | select(.name == "dram_rfo_remote") | .derived_from == ["dram_rfo_all", "dram_rfo_local", "dram_rfo_snc"]' \
    "$LOCUS" counters --cpu GenuineIntel:6:143 --json
shows "the text of another CPU has the codes" '0x12a,0x730000001 OCR.DEMAND_DATA_RD.REMOTE_DRAM.*not about this host' \
    "$LOCUS" counters --cpu GenuineIntel:6:143
shows "an unknown CPU says so" 'dram_local, dram_remote not supported: unknown CPU GenuineIntel:6:23' \
    "$LOCUS" counters --cpu GenuineIntel:6:23
shows "LOCUS_CPU is taken for the host's" "an event of Neoverse N1, and this host has" \
    env LOCUS_CPU=ARM:0x41:0xd0c "$LOCUS" counters
query "of a CPU that is not here no event is opened" \
    '[.counters[] | select(.kind == "memory")] | length > 0 and all(.why)' env LOCUS_CPU=IBM:9:0 "$LOCUS" counters --json

# denied ERRNO WORDS: every counter of a thread ends with this reason, and the command goes on.
denied() {
    shows "$1 is named" "not supported: .*$2" "$deny" "$1" perf_event_open -- "$LOCUS" counters
    query "$1 ends as not supported" \
        "[.counters[] | select(.kind != \"uncore\")] | all(.why | startswith(\"not supported: \") and contains(\"$1\"))" \
        "$deny" "$1" perf_event_open -- "$LOCUS" counters --json
}
"$deny" EPERM perf_event_open -- true
if [ $? -eq 77 ]; then
    skip "refused counters" "no seccomp filter can be set here"
else
    denied EPERM "seccomp"
    denied ENOSYS "CONFIG_PERF_EVENTS"
    denied EACCES "perf_event_paranoid"
    denied EMFILE "ulimit -n"
    denied ENOENT "ENOENT"
    denied EBUSY "nmi_watchdog"
fi

shows "--help teaches" "dram_local.*Examples" "$LOCUS" counters --help
refuses "a CPU without a model" "VENDOR:FAMILY:MODEL" "$LOCUS" counters --cpu GenuineIntel:6
refuses "a LOCUS_CPU that is none" "LOCUS_CPU" env LOCUS_CPU=fast "$LOCUS" counters
refuses "an argument" "unexpected" "$LOCUS" counters cycles
refuses "an option that is not there" "unrecognized\|option" "$LOCUS" counters --cycles
"$LOCUS" counters >/dev/full 2>"$scratch/err"
if [ $? -eq 1 ] && grep -q '^locus: ' "$scratch/err"; then pass "a full disk"; else fail "a full disk" "$(cat "$scratch/err")"; fi
[ $failures -eq 0 ]
