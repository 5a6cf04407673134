#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Pairing by laps and repeated rounds, as postulates file them: what locus run logs, judges and refuses. LOCUS names the program.
set -u
: "${LOCUS:?LOCUS must name the program}"
LOCUS=$(realpath "$LOCUS")
. "$(dirname "$0")/cases.bash"
export LOCUS_HOST=test-host GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
unset LD_PRELOAD LOCUS_LAP LOCUS_ASAN
cd "$scratch" && git init -q . && mkdir postulates || exit 1

postulate() { # number, arms, what else the design says
    cat >"postulates/$1-a-trial.md" <<END
---
id: "$1"
title: a trial
requires: []
arms: {$2}
cells: [cycle-256/none]
design: {unit: process, rounds: 6, order: random, dispatch: futex, workers: 1, block_bytes: 4096, laps: 8, seed: 7$3}
predictions:
  - {id: P1, metric: time_ns, cell: "*", stat: hl_ratio(B/A), op: ">=", value: 0.01, unit: x}
gates: [allocated == freed]
rules: 2
pilot: none
prior: nothing
---

## Why

To see it run.
END
}
trial() { # number
    locus "${2:-0}" run -q "$1" && log=$(sed -n 's/^log //p' "$out") &&
        "$LOCUS" record show --samples "$log" | jq -es . >"$scratch/lines"
}
samples='[.[] | select(.t == "s")]'

postulate 0901 'A: locus, B: locus-spsc, C: locus, D: locus' ', pairing: laps'
check arms-share-a-process trial 0901
says the-header-says-so '.[0].design.pairing == "laps"' "$scratch/lines"
says every-round-has-every-arm "$samples | length == 24 and all(.[]; .valid and .attempt == 0)
    and (group_by(.round) | all(.[]; (map(.arm) | sort == [\"A\", \"B\", \"C\", \"D\"]) and (map(.pos) | sort == [0, 1, 2, 3])))" \
    "$scratch/lines"
says three-are-of-one-process "$samples | group_by(.round) | all(.[]; (map({(.arm): .process}) | add)
    | .A == .B and .B == .C and .C != .D)" "$scratch/lines"
says they-have-a-time-relative-to-the-first "$samples | all(.[]; if .arm == \"A\" then .time_rel == 1
    elif .arm == \"D\" then .time_rel == null else .time_rel > 0 end)" "$scratch/lines"
says what-the-host-took-is-of-the-process "$samples | group_by(.round) | all(.[]; map(select(.arm != \"D\")
    | [.watched_ns, .waited_ns, .switches, .steal_ns]) | unique | length == 1)" "$scratch/lines"

postulate 0902 'A: locus, B: locus' ''
check without-pairing-each-has-its-own trial 0902
says and-the-log-says-so ".[0].design.pairing == \"rounds\" and ($samples | all(.[]; .time_rel == null)
    and (group_by(.round) | all(.[]; map(.process) | sort == [0, 1])))" "$scratch/lines"

postulate 0903 'A: glibc, B: glibc' ', pairing: laps'
refuses pairing-without-a-pair 2 'pairing: laps.*no two arms can share a process' run 0903

# --- repeats -------------------------------------------------------------------------------------------------------------------

# Nobody knows what the host will take, so it is the rule that is checked: an attempt is the last because nothing was lost in it, or
# because it was the third.
postulate 0904 'A: locus, B: locus' ', pairing: laps, repeat_lost: 0.000000001, repeat_times: 2'
attempts="$samples | group_by(.round) | map(group_by(.attempt))"
check rounds-may-be-repeated trial 0904
says every-attempt-is-logged-with-all-arms "$attempts | length == 6 and all(.[]; (map(.[0].attempt) == [range(length)])
    and all(.[]; map(.arm) | sort == [\"A\", \"B\"]))" "$scratch/lines"
says those-and-only-those-in-which-something-was-lost-are-followed-by-another "$attempts | all(.[]; length as \$n | \$n <= 3
    and all(.[]; (any(.[]; .waited_ns + (.steal_ns // 0) > 0) and .[0].attempt < 2) == (.[0].attempt + 1 < \$n)))" "$scratch/lines"
says the-last-attempts-count "($attempts | map(last[] | select(.arm == \"A\").time_ns) | sort
    | (.[2] + .[3]) / 2) as \$wanted
    | .[] | select(.t == \"sum\").arms[] | select(.arm == \"A\")
    | .n == 6 and (.median / \$wanted - 1 | fabs) < 1e-9" "$scratch/lines"
done_testing
