#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every sealed log of the repository, judged again by recompute/, which shares no code with the program: it prints TAP, a line a
# log, and then the controls. Fresh runs as well, by the first rules and by the second, of what no sealed log has. LOCUS names the
# program.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
repository=$(realpath "$(dirname "$0")/../..")
export LOCUS_HOST=test-host GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
python=python3
$python -c 'import yaml' 2>/dev/null || python=/usr/bin/python3 # one before Debian's in PATH may lack Debian's packages

# Its cases, with the plan for done_testing.
recomputed() {
    $python -B "$repository/testbed/tests/recompute" "$@" >"$out" 2>"$err"
    [ ! -s "$err" ] || fail "recompute has nothing to say on stderr" "$(tail -n 1 "$err")"
    while IFS= read -r line; do
        tap "${line%% - *}" "${line#* - }"
        [[ $line == ok* ]] || failures=$((failures + 1))
    done < <(grep -E '^(ok|not ok) ' "$out")
}
cd "$repository" || exit 1
recomputed
holds 'it counts what it compared' "$(tail -n 2 "$out")" grep -qE "^# $(ls logs/*/*/*.jsonl | wc -l) logs, [0-9]{5} figures" "$out"

# --- fresh runs ----------------------------------------------------------------------------------------------------------------

tree=$scratch/tree
mkdir -p "$tree/postulates" && cd "$tree" && git init -q . && git config user.email test@localhost && git config user.name test &&
    echo build/ >.gitignore || exit 1
postulate() { # number, rounds, gates, more keys
    cat >"postulates/$1-fresh.md" <<END
---
id: "$1"
title: what no sealed log has
requires: []
question: Does a second implementation judge it in the same way?
arms: {A: locus, B: locus, C: glibc, D: "locus@delay:30"}
cells: [churn-touch/byte, steady-decode/byte]
design: {unit: process, rounds: $2, order: random, dispatch: inline, workers: 1, block_bytes: 4096, laps: 3, seed: 7}
predictions:
  - {id: P1, metric: time_ns, cell: churn-touch/byte, stat: hl_ratio(C/A), op: ">=", value: 1.25, unit: x}
  - {id: P2, metric: time_ns, cell: "*", stat: median_ratio(B/A), op: ">", value: 3, margin: 0.9, unit: x}
  - {id: P3, metric: time_ns, cell: "*", stat: median, arm: A, op: "<", value: 90000, unit: ns}
  - {id: P4, metric: page_faults, cell: "*", stat: max, arm: A, op: "<=", value: 30000, unit: count}
  - {id: P5, metric: cycles, cell: "*", stat: hl_ratio(B/A), op: "<=", value: 3, unit: x}
  - {id: P6, metric: time_ns, cell: "*/byte", stat: hl_ratio(*/A), op: ">", value: 1, unit: x}
  - {id: P7, metric: outstanding_ratio, cell: "*", stat: hl_ratio(B/A), op: within, value: [0.9, 1.1], unit: x}
  - {id: P8, metric: time_ns, cell: churn-touch/byte, stat: hl_ratio(B/A), op: within, value: [0.99999, 1.00001], unit: x,
     confidence: 0.99999} # more than 20 rounds can reach
  - {id: P9, metric: take_ns_p99, cell: "*", stat: hl_ratio(C/A), op: ">=", value: 1.25, unit: x}
  - {id: P10, metric: resident_ratio, cell: "*", stat: median, arm: A, op: "<=", value: 20, unit: ratio}
  - {id: P11, metric: wait_ns, cell: "*", stat: median, arm: A, op: "<=", value: 1000, unit: ns}
  - {id: P12, metric: push_ns_p50, cell: "*", stat: hl_ratio(C/A), op: ">=", value: 1.25, unit: x}
  - {id: P13, metric: drain_ns_p999, cell: "*", stat: median, arm: A, op: "<=", value: 100000, unit: ns}
  - {id: S1, sum: "-(0.1 * 3 - 0.3) + floor(0.57 * 100)", op: "==", value: 57}
gates: [allocated == freed, $3]
${4-}prior: none
---
text
END
}
postulate 0901 20 'paired_spread, throttle == 0, host_fit'
postulate 0902 20 'throttle == 0'
postulate 0903 '[10, 20]' 'throttle == 0' $'rules: 2\npilot: none\n'
postulate 0904 '[10, 20]' 'throttle == 0, host_fit, aa_equivalent' $'rules: 2\npilot: none\n'
sed -i 's/seed: 7/seed: 7, aa_band: 0.05/' postulates/0904-fresh.md
sed -i 's/seed: 7/seed: 7, pairing: laps, repeat_lost: 0.05, repeat_times: 2/' postulates/0903-fresh.md
sed -i 's/value: 1.25,/value: 8, zone: 1.1,/; /id: P4/s/}$/, gate: true}/' postulates/090[34]-fresh.md
git add -A && git commit -qm 'postulates' || exit 1
for number in '0901 --rounds 10' '0902 --rounds 10' 0903 '0904 --smoke'; do
    # shellcheck disable=SC2086 # separate flags
    check "a run of $number" eval "locus 0 run $number -q"
done
recomputed build/logs/*/*/*.jsonl
ended() { jq -es '.[-2].rounds == 20 and .[-2].rules == 2 and .[0].design.looks == [10, 20]' build/logs/*/0903-*/*.jsonl; }
check 'what can be decided by no number of rounds goes on to the last look' ended

done_testing
