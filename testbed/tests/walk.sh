#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every command with every form, in a clone and, of an installed program, in a folder that is nobody's, with the checkout out of
# reach: walk/ takes commands, words and options from the program itself. WALK=few: each kind of cell once a command; ONLY=word: the
# commands of that name alone. LOCUS names the program of a build.
set -u
export WALK=${WALK-few}
: "${LOCUS:?LOCUS must name the program}"
LOCUS=$(realpath "$LOCUS")
. "$(dirname "$0")/cases.bash"
repository=$(realpath "$(dirname "$0")/../..")
scenario=$(dirname "$LOCUS")/testbed/judge/tests/record_scenario
export LOCUS_HOST=walk GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null TMPDIR=$scratch
[ -x "$scenario" ] || { fail record_scenario "$scenario is not built (make tests)"; exit 1; }

# --- the two places --------------------------------------------------------------------------------------------------------------

clone=$scratch/clone elsewhere=$scratch/elsewhere run=0002-20261121T101500Z
mkdir -p "$clone"/{postulates,experiments,folder} "$elsewhere/folder" && cd "$clone" || exit 1
things() { # what words and options are given, of any kind
    cp "$repository/testbed/workload/sample.csv" trace.csv && : >empty && head -c 4096 /dev/urandom >random &&
        "$LOCUS" eval -W cycle-256 -c locus,null -r 1 --laps 1 -d inline -q --log measured.jsonl >"$out" 2>&1
}
record() { # runs that never were, filed before and one after, the draft of another, a checkpoint, a packet
    git init -q . && git config user.email a@example && git config user.name a &&
        "$scenario" postulate >postulates/0002-glibc-churn.md && git add -A && git commit -qm one &&
        "$LOCUS" postulate file 2 && "$scenario" official walk $run-aaaaaa && cp logs/walk/0002-glibc-churn/*.jsonl run.jsonl &&
        "$scenario" official walk $run-bbbbbb 1 '' no 20 2 mimalloc && "$LOCUS" record draft 2 aaaaaa -o record.md &&
        "$LOCUS" record draft 2 bbbbbb -o draft.md &&
        sed -i 's/^<!-- What does.*/It pays./; s/^<!-- One sentence.*/And elsewhere?/' record.md draft.md &&
        "$LOCUS" record file 2 record.md && "$LOCUS" witness make >checkpoint && "$LOCUS" packet --no-run -o packet.tar &&
        git add -A && git commit -qm two
}
check what-words-are-given things
check a-record record
cp empty random trace.csv measured.jsonl run.jsonl draft.md checkpoint packet.tar "$elsewhere"

make -C "$repository" install DESTDIR="$scratch/root" PREFIX=/usr >"$scratch/make" 2>&1 ||
    { fail install "$(tail -n 1 "$scratch/make")"; exit 1; }
hidden=
for how in 'unshare --mount' 'unshare --user --map-root-user --mount'; do
    ! $how sh -c 'mount -t tmpfs none "$1"' sh "$repository" 2>/dev/null || { hidden=$how; break; }
done
[ -n "$hidden" ] || skip "the checkout is out of reach" "unshare is refused here, so it is only another folder"

# --- the walk --------------------------------------------------------------------------------------------------------------------

cp -r "$repository/testbed/tests/walk" "$scratch/walk"
walked() { # place, command before the interpreter...
    local place=$1
    shift
    "$@" >"$out" 2>"$err"
    [ ! -s "$err" ] || fail "$place: the walk has nothing to say on stderr" "$(tail -n 1 "$err")"
    while IFS= read -r line; do
        case $line in
        '#'*) echo "$line" ;;
        *) tap "${line%% - *}" "${line#* - }"; [[ $line == ok* ]] || failures=$((failures + 1)) ;;
        esac
    done <"$out"
    holds "$place: it walked commands" "$(tail -n 1 "$out")" grep -qE '^# [0-9]+ commands, [0-9]{3,} cells' "$out"
}
walked clone python3 -B "$scratch/walk" clone "$LOCUS" "$clone"
walked install $hidden sh -c '[ -z "$1" ] || mount -t tmpfs none "$1" || exit; shift && exec "$@"' sh "${hidden:+$repository}" \
    python3 -B "$scratch/walk" install "$scratch/root/usr/bin/locus" "$elsewhere"

done_testing
