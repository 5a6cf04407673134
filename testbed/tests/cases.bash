# SPDX-License-Identifier: Apache-2.0
#
# cases.bash: what scripts of cases have in common; to be sourced by them, `. "$(dirname "$0")/cases.bash"`. (A script that runs in
# a guest as well has helpers of its own: there is no bash.)
#
# What they print is TAP: "ok - name", "not ok - name: remark" or "ok - name # SKIP reason" for each case, and the plan at the end,
# by done_testing: a script that ends before its last line has none, and that is a failure. $scratch is a folder that goes with the
# script; $out and $err in it are what the last program said. $why is what the next failure will say of itself.

scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
out=$scratch/out err=$scratch/err
failures=0 why=
cases_file=$scratch/.counted # a file, so that cases in a subshell count

tap() { # result, rest of the line
    local line=${2//$'\n'/; }
    printf '%s - %s\n' "$1" "$line" | tee -a "$cases_file"
}
pass() { tap ok "${1//#/\\#}"; }
skip() { tap ok "${1//#/\\#} # SKIP $2"; }
fail() {
    tap 'not ok' "${1//#/\\#}: ${2//#/\\#}"
    failures=$((failures + 1))
}
done_testing() {
    echo "1..$(cat "$cases_file" 2>/dev/null | wc -l)"
    [ $failures -eq 0 ]
}

# needs_guest NAME: where there can be no emulated machine the script ends here, with one case that says why.
needs_guest() {
    local line
    line=$(sh testbed/guest/or-skip.sh "$1") && return
    tap "${line%% - *}" "${line#* - }"
    [[ $line == ok* ]] || failures=$((failures + 1))
    done_testing
    exit
}

# check NAME COMMAND...: the command must succeed. It may set $why; without one its last line is the remark, or the command.
check() {
    local name=$1 remark
    shift
    if "$@" >"$scratch/check" 2>&1; then
        pass "$name"
    else
        remark=${why:-$(tail -n 1 "$scratch/check")}
        fail "$name" "${remark:-$*}"
    fi
}

# holds NAME REMARK COMMAND...: the same, with its remark at hand.
holds() {
    local name=$1 why=$2
    shift 2
    check "$name" "$@"
}

# says NAME JQ-EXPRESSION [FILE]: it must be true of what was printed, or of the file.
says() { holds "$1" "false: $2" jq -e "$2" "${3:-$out}"; }

# locus STATUS ARGUMENT...: runs it and wants that exit status; $why is what was wrong.
locus() {
    local wanted=$1 status
    shift
    "$LOCUS" "$@" >"$out" 2>"$err" </dev/null
    status=$?
    why="exit $status, not $wanted: $(head -n 1 "$err")"
    [ $status -eq "$wanted" ]
}

# refuses NAME STATUS WORD ARGUMENT...: one line on stderr that begins with "locus: " and says the word (a pattern), nothing on
# stdout. By $LOCUS and, where it is set, by $LOCUS_ASAN, whose report would be more than one line.
refuses() {
    local name=$1 wanted=$2 word=$3 program status
    shift 3
    for program in "$LOCUS" "${LOCUS_ASAN:-}"; do
        [ -n "$program" ] || continue
        "$program" "$@" >"$out" 2>"$err" </dev/null
        status=$?
        if [ $status -ne "$wanted" ]; then
            fail "$name" "exit $status, not $wanted: $(head -n 1 "$err")"
        elif [ "$(wc -l <"$err")" -ne 1 ] || ! grep -q "^locus: .*$word" "$err"; then
            fail "$name" "stderr says: $(cat "$err")"
        elif [ -s "$out" ]; then
            fail "$name" "something on stdout"
        else
            continue
        fi
        return
    done
    pass "$name"
}

# prints NAME STATUS PATTERN COMMAND...: a line on either stream has the pattern. Status 2, a bad input, is one line on stderr.
prints() {
    local name=$1 wanted=$2 pattern=$3 status
    shift 3
    "$@" >"$out" 2>"$err" </dev/null
    status=$?
    if [ $status -ne "$wanted" ]; then
        fail "$name" "exit $status, not $wanted: $(head -n 1 "$err")"
    elif ! cat "$out" "$err" | grep -q -- "$pattern"; then
        fail "$name" "no '$pattern': $(cat "$out" "$err" | cut -c 1-200 | head -n 4)"
    elif [ "$wanted" -eq 2 ] && { [ -s "$out" ] || [ "$(wc -l <"$err")" -ne 1 ]; }; then
        fail "$name" "a bad input is one line on stderr and nothing on stdout"
    else
        pass "$name"
    fi
}

# page COMMAND...: status 0, silence on stderr, no line of more than 80 columns; $why is what was wrong.
page() {
    "$@" >"$out" 2>"$err" </dev/null
    why="exit $?: $(head -n 1 "$err")"
    [ "${why%%:*}" = 'exit 0' ] && [ ! -s "$err" ] || return
    why="a line is longer than 80 columns"
    narrow "$out"
}
narrow() { [ -z "$(awk 'length > 80' "$1")" ]; }
