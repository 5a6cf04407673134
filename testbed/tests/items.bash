# SPDX-License-Identifier: Apache-2.0
#
# items.bash: runs the items of suite.sh side by side and counts their cases; to be sourced. Tested by items.sh.
#
#     item CLASS TITLE FUNCTION ARGUMENT...   puts one on the list; ONLY=word: if its title contains the word
#     items_run                               runs what is on the list, JOBS at a time (one for each CPU), and empties it
#     items_end                               skips, failures and why, "N passed, N failed, N skipped"; status 0 if all is well
#
# An item is a function, run in a process of its own. It runs programs by `run`, and ends with one verdict: report, skip or one of
# the *_verdict functions. Its lines are printed when it has ended, all at once.
#
#     free     beside anything
#     alone    beside nothing: races in it need all CPUs, or it would be disturbed
#     guest    one at a time: it starts emulated machines itself, two at once
#
# In the order of the list, but for those that have to wait for their class. Success is claimed only if every item that was on the
# list ended with a verdict.

root=${root:-$PWD}
out=${out:-$root/build/test}
limit=${limit:-300} # seconds for one program; a hang is a failure
JOBS=${JOBS:-$(nproc)}
passed=0 failed=0 skipped=0 listed=0 ended=0
skips=() failures=()
titles=() classes=() calls=() # the list
results=$(mktemp -d) || exit 2
set -m # each item is a process group of its own, and does not ignore SIGINT

# --- in the process of an item -------------------------------------------------------------------------------------------------

# run NAME COMMAND...: leaves status, log and took behind for one of the verdict functions.
run() {
    name=$1
    shift
    log=${name//[()]/}
    log=$out/${log//[^A-Za-z0-9_.-]/-}.log
    local start=${EPOCHREALTIME/[.,]/}
    timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null &
    child=$!
    wait $child
    status=$?
    took=$(((${EPOCHREALTIME/[.,]/} - start) / 100000))
    took=$((took / 10)).$((took % 10))
    [ $status -ne 124 ] && [ $status -ne 137 ] || echo "suite: no end after $limit seconds" >>"$log"
}

# report PASSED FAILED SKIPPED REMARK: counts an item's cases, prints its line, and the log's end after a failure.
report() {
    local word=PASS
    if [ "$2" -gt 0 ]; then word=FAIL; elif [ "$1" -eq 0 ]; then word=SKIP; fi
    printf '  %-56s %s %7s s  %s\n' "$name" $word "$took" "$4"
    [ $word != FAIL ] || {
        echo "    the last lines of ${log#"$root"/}:"
        tail -n 25 "$log" | sed 's/^/    | /'
        grep -m 10 -E '^(FAIL|\[FAIL\])' "$log" >"$result.why" || tail -n 3 "$log" >"$result.why"
    }
    echo "$1 $2 $3" >"$result.counts"
}

skip() { echo "$1: $2" >>"$result.skips"; }

plain_verdict() { # by exit status alone
    local seeds
    seeds=$(grep -oiE 'seed[ =:]+[0-9a-fx]+' "$log" | head -n 3 | paste -sd ' ')
    case $status in
    0) report 1 0 0 "${1:-$seeds}" ;;
    77) skip "$name" "$(tail -n 1 "$log")"; report 0 0 1 "" ;;
    *) report 0 1 0 "exit $status $seeds" ;;
    esac
}

unit_verdict() { # TAP file, stem of the sanitizer's reports
    local ok bad skip_lines leaks=0
    ok=$(grep -c '^ok ' "$1" 2>/dev/null)
    bad=$(grep -c '^not ok ' "$1" 2>/dev/null)
    skip_lines=$(sed -n 's/^ok - \([^ ]*\) *# SKIP */\1: /p' "$1" 2>/dev/null)
    local skip_count=0 line
    while IFS= read -r line; do
        [ -z "$line" ] || { skip_count=$((skip_count + 1)); skip "$name" "$line"; }
    done <<<"$skip_lines"
    if compgen -G "$2.*" >/dev/null; then
        leaks=1
        head -n 40 "$2".* >>"$log"
        echo "suite: the sanitizer reported, see ${2#"$root"/}.*" >>"$log"
    fi
    [ $status -eq 0 ] || [ "${bad:-0}" -gt 0 ] || { bad=1; echo "suite: exit $status" >>"$log"; }
    [ "${ok:-0}" -gt 0 ] || [ "${bad:-0}" -gt 0 ] || { bad=1; echo "suite: not one case was run" >>"$log"; }
    report $((${ok:-0} - skip_count)) $((${bad:-0} + leaks)) $skip_count "$((${ok:-0} + ${bad:-0} - skip_count)) cases"
}

script_verdict() {
    local ok bad skip_count=0 line
    ok=$(grep -cE '^PASS([: ]|$)' "$log")
    bad=$(grep -cE '^FAIL([: ]|$)' "$log")
    while IFS= read -r line; do
        skip_count=$((skip_count + 1))
        skip "$name" "$(sed 's/^SKIP[: ]*//' <<<"$line")"
    done < <(grep -E '^SKIP([: ]|$)' "$log")
    if [ $((ok + bad + skip_count)) -eq 0 ]; then
        [ $status -ne 0 ] || { status=1; echo "suite: not one case was run" >>"$log"; }
        plain_verdict
        return
    fi
    if [ $status -ne 0 ] && [ $status -ne 77 ] && [ "$bad" -eq 0 ]; then bad=1; echo "suite: exit $status" >>"$log"; fi
    report "$ok" "$bad" $skip_count "$((ok + bad)) cases"
    [ "$bad" -eq 0 ] || grep -E '^FAIL' "$log" | sed 's/^/    /'
}

script() { # path, seconds that it may take longer than others
    limit=$((limit + ${2:-0}))
    run "$name" env -u JOBS REPO="$root" CC=gcc BUILD="$root/build/gcc" LOCUS="$root/build/gcc/locus" \
        LOCUS_ASAN="$root/build/gcc-asan/locus" bash "$1"
    script_verdict
}

# --- the list ------------------------------------------------------------------------------------------------------------------

wanted() { [[ $1 == *"${ONLY:-}"* ]]; }

item() { # class, title, function, argument...
    wanted "$2" || return 0
    classes+=("$1") titles+=("$2")
    shift 2
    calls+=("$(printf '%q ' "$@")")
}

declare -A running=() # process: number of its item
waiting=()            # numbers

may_start() { # number
    local class=${classes[$1]} other
    for other in "${running[@]}"; do
        [ "$class" != alone ] && [ "${classes[$other]}" != alone ] || return 1
        [ "$class" != guest ] || [ "${classes[$other]}" != guest ] || return 1
    done
}

start_one() { # status 1 if none of those that wait may start now
    local at number
    for at in "${!waiting[@]}"; do
        number=${waiting[at]}
        may_start "$number" || continue
        unset "waiting[at]"
        (
            result=$results/$number name=${titles[number]} child=
            trap 'kill $child 2>/dev/null; exit 143' INT TERM
            eval "${calls[number]}"
        ) >"$results/$number.text" 2>&1 </dev/null &
        running[$!]=$number
        return 0
    done
    return 1
}

# Takes what the item left. Without its counts there was no verdict, and that is a failure.
end_one() { # number
    local result=$results/$1 counts line
    cat "$result.text"
    if read -r -a counts 2>/dev/null <"$result.counts" && [ ${#counts[@]} -eq 3 ]; then
        ended=$((ended + 1))
    else
        counts=(0 1 0)
        printf '  %-56s FAIL: it ended without a verdict\n' "${titles[$1]}"
    fi
    passed=$((passed + counts[0])) failed=$((failed + counts[1])) skipped=$((skipped + counts[2]))
    [ "${counts[1]}" -eq 0 ] || failures+=("${titles[$1]}")
    [ ! -e "$result.why" ] || while IFS= read -r line; do failures+=("    $line"); done <"$result.why"
    [ ! -e "$result.skips" ] || while IFS= read -r line; do skips+=("$line"); done <"$result.skips"
    rm -f "$result".*
}

items_stop() {
    trap '' INT TERM
    [ ${#running[@]} -eq 0 ] || kill "${!running[@]}" 2>/dev/null
    wait
    rm -rf "$results"
    echo "interrupted"
    exit 130
}
trap items_stop INT TERM

# By asking for each process, as `wait -n` says nothing of one that ended before it was called.
end_those_that_did() {
    local process some=1
    for process in "${!running[@]}"; do
        ! kill -0 "$process" 2>/dev/null || continue
        end_one "${running[$process]}"
        unset "running[$process]"
        some=0
    done
    return $some
}

items_run() {
    waiting=("${!titles[@]}")
    listed=$((listed + ${#titles[@]}))
    while :; do
        while [ ${#running[@]} -lt "$JOBS" ] && start_one; do :; done
        [ ${#running[@]} -gt 0 ] || break
        end_those_that_did || wait -n
    done 2>/dev/null
    titles=() classes=() calls=() waiting=()
}

items_end() {
    rm -rf "$results"
    [ ${#skips[@]} -eq 0 ] || { echo "skipped:"; printf '  %s\n' "${skips[@]}"; }
    [ ${#failures[@]} -eq 0 ] || { echo "failed:"; printf '  %s\n' "${failures[@]}"; }
    [ $ended -eq $listed ] || echo "of $listed items $((listed - ended)) have no verdict"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ $failed -eq 0 ] && [ $passed -gt 0 ] && [ $ended -eq $listed ]
}
