#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What `make test` runs: every variant is built, every test program and script found by its name is run, one after the other, and
# every single case is counted. Ends with the line "N passed, N failed, N skipped"; exit 0 only if nothing failed and something
# passed.
#
#   *_test.c      Criterion, gcc plain and gcc ASan+UBSan, cases counted from its TAP report. LeakSanitizer in a Criterion child
#                 prints and passes, so its reports go to files, and a file that exists is a failure.
#   *_stress.c    argument: seconds. Plain, ASan+UBSan and TSan. Exit 0 pass, 1 fail, 77 skip.
#   *_litmus.c    argument: runs. TSan only: on x86 the compiler emits the same code for a weakened order, no other tool sees it.
#   *_fuzz.c      libFuzzer with ASan+UBSan, starting from <layer>/tests/corpus/<name>/ where that exists.
#   *.sh          print "PASS name", "FAIL name", "SKIP name: reason", one line per case.
#   *_scenario.c  and *_inject.c are built here and used by scripts.
#
# Logs of all items: build/test/. Seconds and runs: STRESS_SECONDS, FUZZ_SECONDS, LITMUS_RUNS. ONLY=word runs only the
# items whose name contains it (and the builds).
set -u
cd "$(dirname "$0")/../.." || exit 2
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC SAN # the variants choose compiler and flags themselves

root=$PWD
out=$root/build/test
stress_seconds=${STRESS_SECONDS:-3}
fuzz_seconds=${FUZZ_SECONDS:-6}
litmus_runs=${LITMUS_RUNS:-200}
limit=$((stress_seconds + fuzz_seconds + 300)) # seconds for one item; a hang is a failure
passed=0 failed=0 skipped=0
skips=() failures=()

export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=halt_on_error=1:exitcode=66

# ThreadSanitizer's shadow does not fit beside a heavily randomised address space (vm.mmap_rnd_bits above 28).
fixed_addresses=()
if setarch "$(uname -m)" -R true 2>/dev/null; then fixed_addresses=(setarch "$(uname -m)" -R); fi

# --- one item ------------------------------------------------------------------------------------------------------------------

wanted() { [[ $1 == *"${ONLY:-}"* ]]; }

# run NAME COMMAND...: leaves status, log and took behind for one of the verdict functions.
run() {
    name=$1
    shift
    log=${name//[()]/}
    log=$out/${log//[^A-Za-z0-9_.-]/-}.log
    printf '  %-56s ' "$name"
    local start=${EPOCHREALTIME/[.,]/}
    timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null
    status=$?
    took=$(((${EPOCHREALTIME/[.,]/} - start) / 100000))
    took=$((took / 10)).$((took % 10))
    [ $status -ne 124 ] && [ $status -ne 137 ] || echo "suite: no end after $limit seconds" >>"$log"
}

# report PASSED FAILED SKIPPED REMARK: counts an item's cases, prints the rest of its line, and the log's end after a failure.
report() {
    local word=PASS
    passed=$((passed + $1)) failed=$((failed + $2)) skipped=$((skipped + $3))
    if [ "$2" -gt 0 ]; then word=FAIL; failures+=("$name"); elif [ "$1" -eq 0 ]; then word=SKIP; fi
    printf '%s %7s s  %s\n' $word "$took" "$4"
    [ $word != FAIL ] || { echo "    the last lines of ${log#"$root"/}:"; tail -n 25 "$log" | sed 's/^/    | /'; }
}

skip() { skips+=("$1: $2"); }

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
        plain_verdict
        return
    fi
    if [ $status -ne 0 ] && [ $status -ne 77 ] && [ "$bad" -eq 0 ]; then bad=1; echo "suite: exit $status" >>"$log"; fi
    [ "$bad" -eq 0 ] || grep -E '^FAIL' "$log" | sed 's/^/    /' >"$log.failed"
    report "$ok" "$bad" $skip_count "$((ok + bad)) cases"
    [ "$bad" -eq 0 ] || cat "$log.failed"
}

# --- the kinds -----------------------------------------------------------------------------------------------------------------

build() { # name, command
    run "$@"
    plain_verdict
}

# A program that its variant's build did not deliver is a failure of its own.
built() {
    [ -x "$2" ] || { run "$1" false; echo "suite: ${2#"$root"/} was not built" >"$log"; report 0 1 0 "not built"; return 1; }
}

units() { # variant
    local layer title program stem
    for layer in topo placement testbed experiments; do
        program=$root/build/$1/$layer/tests/unit
        title="unit $layer ($1)"
        compgen -G "$layer/tests/*_test.c" >/dev/null && wanted "$title" && built "$title" "$program" || continue
        stem=$out/unit-$layer-$1
        rm -f "$stem".*
        ASAN_OPTIONS=$ASAN_OPTIONS:log_path=$stem.sanitizer run "$title" "$program" -j1 --timeout 120 --tap="$stem.tap"
        unit_verdict "$stem.tap" "$stem.sanitizer"
    done
}

programs() { # kind, variant, argument
    local source title prefix=()
    [[ $2 != *-tsan ]] || prefix=("${fixed_addresses[@]}")
    for source in */tests/*_"$1".c; do
        title="$1 $(basename "$source" "_$1.c") ($2)"
        [ -e "$source" ] && wanted "$title" && built "$title" "$root/build/$2/${source%.c}" || continue
        run "$title" "${prefix[@]}" "$root/build/$2/${source%.c}" "$3"
        plain_verdict
    done
}

fuzzers() {
    local source name_only corpus seeds
    for source in */tests/*_fuzz.c; do
        name_only=$(basename "$source" _fuzz.c)
        [ -e "$source" ] && wanted "fuzz $name_only" && built "fuzz $name_only" "$root/build/clang-fuzz/${source%.c}" || continue
        corpus=$out/corpus/$name_only
        seeds=${source%/*}/corpus/$name_only
        mkdir -p "$corpus"
        [ -d "$seeds" ] || seeds=
        run "fuzz $name_only" "$root/build/clang-fuzz/${source%.c}" -max_total_time="$fuzz_seconds" -timeout=10 \
            -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$out/$name_only-" "$corpus" $seeds
        plain_verdict "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
    done
}

scripts() {
    local script title
    for script in */tests/*.sh; do
        title="script ${script%%/*}/$(basename "$script" .sh)"
        [ -e "$script" ] && [ "$script" != testbed/tests/suite.sh ] && wanted "$title" || continue
        run "$title" env REPO="$root" CC=gcc BUILD="$root/build/gcc" LOCUS="$root/build/gcc/locus" \
            LOCUS_ASAN="$root/build/gcc-asan/locus" bash "$script"
        script_verdict
    done
}

# --- all of it -----------------------------------------------------------------------------------------------------------------

mkdir -p "$out"
echo "kernel $(uname -r), $(nproc) CPUs, $(gcc --version | head -n 1), $(clang --version | head -n 1)"
build "build (gcc)" make -k all tests
build "build (clang)" make -k CC=clang all tests
build "build (gcc-asan)" make -k SAN=address,undefined all tests
build "build (clang-tsan)" make -k CC=clang SAN=thread tests
build "build (clang-fuzz)" make -k CC=clang SAN=fuzzer,address,undefined tests
! wanted layers || build layers make layers
! wanted tidy || build tidy make tidy
units gcc
units gcc-asan
programs stress gcc "$stress_seconds"
programs stress gcc-asan "$stress_seconds"
programs stress clang-tsan "$stress_seconds"
programs litmus clang-tsan "$litmus_runs"
fuzzers
scripts

echo
echo "took $SECONDS s, logs in build/test"
[ ${#skips[@]} -eq 0 ] || { echo "skipped:"; printf '  %s\n' "${skips[@]}"; }
[ ${#failures[@]} -eq 0 ] || { echo "failed:"; printf '  %s\n' "${failures[@]}"; }
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
