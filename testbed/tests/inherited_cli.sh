#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# How locus handles what it inherits from its parent: ignored or blocked signals, closed standard streams, a file mask that
# removes the owner's permissions, a limit on file sizes. LOCUS names the program.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1 # where the postulates are

quick=(-W cycle-256 -c locus,null -r 2 -d inline -q)

# status WANTED COMMAND...: sets $why otherwise.
status() {
    local wanted=$1 got
    shift
    "$@" >"$out" 2>"$err" </dev/null
    got=$?
    why="exit $got, not $wanted: $(head -n 1 "$err")"
    [ $got -eq "$wanted" ]
}

# one_line PATTERN: that is all of stderr.
one_line() {
    why="stderr says: $(head -n 3 "$err")"
    [ "$(wc -l <"$err")" -eq 1 ] && grep -q "^locus: .*$1" "$err"
}

# long_run [COMMAND...]: locus, as COMMAND starts it, in the background as $child; returns when it is measuring.
long_run() {
    "$@" "$LOCUS" eval -W cycle-256 -c locus -r 10000 -q >"$out" 2>"$err" </dev/null &
    measuring
}
measuring() {
    child=$!
    why="it does not measure: $(head -n 1 "$err")"
    for _ in {1..1200}; do
        ! grep -qs "^PPid:[[:space:]]$child\$" /proc/[0-9]*/status || return 0
        sleep 0.05
    done
    end_long_run
    return 1
}
end_long_run() { # 0: it was still there
    kill -KILL $child 2>/dev/null
    local there=$?
    wait $child 2>/dev/null
    return $there
}

# --- signals -------------------------------------------------------------------------------------------------------------------

with_signal() { env "--$1-signal=$2" "${@:3}"; } # how, which, command
if ! with_signal ignore CHLD true 2>/dev/null; then
    skip signals "env cannot ignore or block signals here (coreutils 8.31 can)"
else
    run_of() { # folder, env's option ...
        status 0 "${@:2}" "$LOCUS" run 0002 --smoke -q --host here --logs "$1" && why="no verdict" && grep -q '^verdict none' "$out"
    }
    check run-where-SIGCHLD-is-ignored run_of "$scratch/chld" env --ignore-signal=CHLD
    check eval-where-SIGCHLD-is-ignored status 0 with_signal ignore CHLD "$LOCUS" eval "${quick[@]}"

    pipe_status() {
        with_signal ignore PIPE "$LOCUS" report standings 2>"$err" | true
        local got=${PIPESTATUS[0]}
        why="exit $got: $(head -n 1 "$err")"
        [ "$got" -eq 141 ] && [ ! -s "$err" ]
    }
    check a-reader-that-goes-away-is-no-error-where-SIGPIPE-is-ignored pipe_status

    # An end is waited for, and not a time: whoever is deaf would measure for hours.
    deaf() {
        long_run env "--block-signal=$1" || return
        kill "-$1" $child
        for _ in {1..1200}; do
            kill -0 $child 2>/dev/null || break
            sleep 0.05
        done
        why="SIG$1 was not heard"
        ! end_long_run
    }
    check SIGTERM-is-heard-where-it-was-blocked deaf TERM

    # nohup's, and a shell's for what it runs in the background, are somebody's wish.
    kept() {
        long_run env --ignore-signal=HUP || return
        why="SIGHUP is not ignored: $(grep SigIgn /proc/$child/status)"
        (((0x$(sed -n 's/^SigIgn:\t*//p' /proc/$child/status) & 1) == 1))
        local kept=$?
        end_long_run
        return $kept
    }
    check SIGHUP-stays-ignored-for-nohup kept
fi

# --- standard streams ----------------------------------------------------------------------------------------------------------

# Whatever is opened first would get the number of a stream that is closed, and the page would end up in the log.
closed_streams() {
    "$LOCUS" run 0002 --smoke -q --host here --logs "$scratch/closed" <&- >&- 2>&-
    local got=$?
    why="exit $got, not 1: the page went nowhere"
    [ $got -eq 1 ] || return
    status 0 "$LOCUS" verify --logs "$scratch/closed" && why="verify: $(cat "$out")" &&
        grep -q '1 run (1 sealed, 0 crashed).*: all is well$' "$out"
}
check closed-streams-do-not-become-the-log closed_streams
null_streams() {
    local ends stream
    "$LOCUS" eval -W cycle-256 -c locus -r 10000 -q <&- >&- 2>&- &
    measuring || return
    ends=$(for stream in 0 1 2; do readlink /proc/$child/fd/$stream; done | sort -u)
    end_long_run
    why="instead of the closed streams there are $(echo $ends)"
    [ "$ends" = /dev/null ]
}
check closed-streams-are-nobody-else-s null_streams
closed_output() {
    "$LOCUS" eval "${quick[@]}" --json="$scratch/closed.json" >&- 2>"$err" <&-
    local got=$?
    why="exit $got, not 1: $(head -n 1 "$err")"
    [ $got -eq 1 ] && one_line 'standard output: Bad file descriptor' && why="the JSON is not whole" &&
        jq -e .cells "$scratch/closed.json" >/dev/null
}
check a-closed-output-does-not-take-the-files-with-it closed_output

# --- the mask of rights --------------------------------------------------------------------------------------------------------

mode() { # wanted, file
    why="its mode is $(stat -c %a "$2"), not $1"
    [ "$(stat -c %a "$2")" = "$1" ]
}
masked() { # mask, mode that is wanted
    rm -f "$scratch/masked.json"
    (umask "$1" && exec "$LOCUS" eval "${quick[@]}" --json="$scratch/masked.json") >"$out" 2>"$err" </dev/null
    why="exit $?: $(head -n 1 "$err")"
    [ "$why" = 'exit 0: ' ] && mode "$2" "$scratch/masked.json"
}
check a-mask-keeps-others-out masked 077 600
check a-mask-does-not-keep-the-owner-out masked 0777 600

# --- the limit on the size of a file -------------------------------------------------------------------------------------------

# limited NAME KIB FILE COMMAND...: exit 1 with one line that names the file and the limit, and no half of the file is left.
limited() {
    local name=$1 kib=$2 file=$3
    shift 3
    (ulimit -f "$kib" && exec "$@") >"$out" 2>"$err" </dev/null
    local got=$?
    if [ $got -ne 1 ]; then
        fail "$name" "exit $got, not 1: $(head -n 1 "$err")"
    elif ! one_line "$file.*(ulimit -f)"; then
        fail "$name" "$why"
    elif [ -e "$file" ]; then
        fail "$name" "half a file is left behind"
    else
        pass "$name"
    fi
}
limited size-limit-while-measuring 16 contenders "$LOCUS" eval "${quick[@]}"
"$LOCUS" eval -W cycle-256 -c locus,null -r 700 -d inline --laps 1 -q --log "$scratch/big.jsonl" >"$out" 2>"$err"
limited size-limit-of-the-samples 96 "$scratch/big.csv" "$LOCUS" report "$scratch/big.jsonl" --csv="$scratch/big.csv"
limited size-limit-of-the-page 48 "$scratch/page.html" "$LOCUS" report 5a69dc -o "$scratch/page.html"
limited size-limit-of-the-pages 900 "$scratch/all/0023-20261122T004532Z-a48c5a.html" "$LOCUS" report -o "$scratch/all.html"
holds no-page-leads-to-one-that-is-missing "there is $scratch/all.html" [ ! -e "$scratch/all.html" ]
limited size-limit-of-the-scoreboard 32 "$scratch/board.json" "$LOCUS" report standings "--json=$scratch/board.json"
limited size-limit-of-hwloc-s-file 2 "$scratch/here.xml" "$LOCUS" matrix -k latency -r 1 -q --hwloc-xml "$scratch/here.xml"
limited size-limit-of-the-matrix 1 "$scratch/matrix.json" "$LOCUS" matrix -k push -r 1 -q --json="$scratch/matrix.json"

# A log is no half file: what is in it stays, as after a crash, and the ledger knows of it. The limit leaves room for the memory
# that is shared with the measured process (measure/sample.h), which is a file, too.
limited_log() {
    (ulimit -f 96 && exec "$LOCUS" run 0002 -q -r 700 --host here --logs "$scratch/short") >"$out" 2>"$err" </dev/null
    local got=$?
    why="exit $got, not 1: $(head -n 1 "$err")"
    [ $got -eq 1 ] && one_line "$scratch/short/here/0002-.*jsonl.*(ulimit -f)" &&
        status 0 "$LOCUS" verify --logs "$scratch/short" && why="verify: $(cat "$out")" && grep -q '0 sealed, 1 crashed' "$out"
}
check size-limit-of-a-log limited_log
(ulimit -f 8 && exec "$LOCUS" postulate list --json) >"$scratch/list.json" 2>"$err" </dev/null
why="exit $?, not 1"
check size-limit-of-standard-output eval "[ '$why' = 'exit 1, not 1' ] && one_line 'standard output: .*(ulimit -f)'"

done_testing
