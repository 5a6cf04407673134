# SPDX-License-Identifier: Apache-2.0
#
# cases.bash: shared by scripts of cases, which source it: `. "$(dirname "$0")/cases.bash"`. (A script that also runs in a guest
# has its own helpers, because a guest has no bash.)
#
# They print TAP: "ok - name", "not ok - name: remark" or "ok - name # SKIP reason" for each case, and the plan at the end, by
# done_testing: a script that ends early has no plan, and that is a failure. $scratch is a folder that is removed when the script
# ends; $out and $err in it have the last program's output. $why is the remark of the next failure.

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

# needs_guest NAME [FETCH]: if no emulated machine is available, or not what FETCH fetches, the script ends here, with one case that
# says why.
needs_guest() {
    local line
    line=$(sh testbed/guest/or-skip.sh "$@") && return
    tap "${line%% - *}" "${line#* - }"
    [[ $line == ok* ]] || failures=$((failures + 1))
    done_testing
    exit
}

# jq 1.6 ends with 0 if it had no input at all, so `jq -e FILTER` could not fail where a command had said nothing.
jq() {
    local status
    [[ ${1-} == -e* ]] || { command jq "$@"; return; }
    command jq "$@" >"$scratch/.jq"
    status=$?
    cat "$scratch/.jq"
    [ $status -eq 0 ] && [ -s "$scratch/.jq" ]
}

# check NAME COMMAND...: the command must succeed. The remark is $why if the command sets it, else its last line, or the command.
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

# holds NAME REMARK COMMAND...: the same, with the given remark.
holds() {
    local name=$1 why=$2
    shift 2
    check "$name" "$@"
}

# says NAME JQ-EXPRESSION [FILE]: it must be true of the output, or of the file.
says() { holds "$1" "false: $2" jq -e "$2" "${3:-$out}"; }

# locus STATUS ARGUMENT...: runs it and expects that exit status; $why is what was wrong.
locus() {
    local wanted=$1 status
    shift
    "$LOCUS" "$@" >"$out" 2>"$err" </dev/null
    status=$?
    why="exit $status, not $wanted: $(head -n 1 "$err")"
    [ $status -eq "$wanted" ]
}

# refuses NAME STATUS WORD ARGUMENT...: one line on stderr that begins with "locus: " and matches WORD, nothing on stdout. By
# $LOCUS and, if set, by $LOCUS_ASAN, whose report would be more than one line.
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

# prints NAME STATUS PATTERN COMMAND...: a line on either stream matches the pattern. Status 2, bad input, is one line on stderr.
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
        fail "$name" "bad input must give one line on stderr and nothing on stdout"
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

# machine_root FOLDER: a copy of a machine's /sys, as an archive of it is when unpacked: padded with NULs, cpumap and no cpulist.
# Nodes 0 and 3 have CPUs alone, 1 and 2 memory as well; two CPUs each.
machine_root() {
    local node cpu sys=$1/sys/devices/system
    for node in 0 1 2 3; do
        mkdir -p "$sys/node/node$node"
        printf '00000000,000000%02x\n' $((3 << 2 * node)) >"$sys/node/node$node/cpumap"
        printf 'Node %d MemTotal: %d kB\n' $node $((node % 3 ? 64 << 20 : 0)) >"$sys/node/node$node/meminfo"
        echo 12 12 12 12 | awk -v own=$node '{ $(own + 1) = 10; print }' >"$sys/node/node$node/distance"
        for cpu in $((2 * node)) $((2 * node + 1)); do
            mkdir -p "$sys/cpu/cpu$cpu/topology"
            echo 0 >"$sys/cpu/cpu$cpu/topology/physical_package_id"
            echo $cpu >"$sys/cpu/cpu$cpu/topology/core_id"
            printf '%08x\n' $((1 << cpu)) >"$sys/cpu/cpu$cpu/topology/thread_siblings"
            echo 000000ff >"$sys/cpu/cpu$cpu/topology/core_siblings"
        done
    done
    find "$sys" -type f -exec truncate -s 4096 {} +
}
