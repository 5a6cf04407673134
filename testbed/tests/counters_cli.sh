#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus counters from outside: LOCUS=path/to/locus, BUILD=path/of/the/build. A seccomp filter refuses perf_event_open
# (deny_scenario), once with each errno.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
deny=$BUILD/testbed/host/tests/deny_scenario
unset LOCUS_CPU
. "$(dirname "$0")/cases.bash"

refused() { refuses "$1" 2 "$2" counters "${@:3}"; } # name, word, argument...

# shows NAME PATTERN COMMAND...: a page that has the pattern, taken as one line.
shows() {
    if page "${@:3}" && why="nothing matches $2" && tr -s ' \n' ' ' <"$out" | grep -Eq "$2"; then
        pass "$1"
    else
        fail "$1" "$why"
    fi
}

# query NAME FILTER COMMAND...: the JSON passes jq -e FILTER.
query() {
    if "${@:3}" >"$out" 2>"$err" && [ ! -s "$err" ]; then says "$1" "$2"; else fail "$1" "$(head -n 1 "$err")"; fi
}

shows "this host is listed" "task_clock .*[0-9]+ of [0-9]+ counters work on this host" "$LOCUS" counters
query "each counter works or says why" \
    '[.counters[] | select(.why)] | all(.why | startswith("not supported: "))' "$LOCUS" counters --json
query "every name is there once" '[.counters[].name] | length == (unique | length)' "$LOCUS" counters --json
reasons=$(jq -r '.counters[] | select(.why) | .why' "$out" | sort -u | wc -l)
said=$("$LOCUS" counters | tr -s ' \n' ' ' | grep -o 'not supported: ' | wc -l)
holds "each reason is said once" "$said of $reasons" test "$reasons" -eq "$said"

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
shows "an unknown CPU says so" 'dram_local, dram_remote: not supported: unknown CPU GenuineIntel:6:23' \
    "$LOCUS" counters --cpu GenuineIntel:6:23
shows "LOCUS_CPU is taken for the host's" "an event of Neoverse N1, and this host has" \
    env LOCUS_CPU=ARM:0x41:0xd0c "$LOCUS" counters
query "of a CPU that is not here no event is opened" \
    '[.counters[] | select(.kind == "memory")] | length > 0 and all(.why)' env LOCUS_CPU=IBM:9:0 "$LOCUS" counters --json

# denied ERRNO WORDS: every counter of a thread that this CPU has ends with this reason, and the command goes on.
denied() {
    shows "$1 is named" "not supported: .*$2" "$deny" "$1" perf_event_open -- "$LOCUS" counters
    query "$1 ends as not supported" \
        "[.counters[] | select(.kind != \"uncore\" and .event != null)] | length > 0
            and all(.why | startswith(\"not supported: \") and contains(\"$1\"))" \
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
refused "a CPU without a model" "VENDOR:FAMILY:MODEL" --cpu GenuineIntel:6
LOCUS_CPU=fast refused "a LOCUS_CPU that is none" "LOCUS_CPU"
refused "an argument" "unexpected" cycles
refused "an option that is not there" "unrecognized\|option" --cycles
"$LOCUS" counters >/dev/full 2>"$err"
why="exit $?: $(cat "$err")"
check "a full disk" eval "[ '${why%%:*}' = 'exit 1' ] && grep -q '^locus: ' '$err'"
done_testing
