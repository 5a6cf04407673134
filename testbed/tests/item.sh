#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# item.sh NAME: runs one item of suite.sh, under prove(1). It turns the item's output into TAP, and exits with a status other than
# 0 if the item crashed, took too long, was not built, or a sanitizer left a report. Environment: suite.sh's. Leaves in $OUT the
# item's .log, its .tap, and a line in `times`: SECONDS SIZE CLASS NAME,
# and `skipped` if all of it was.
set -u
name=$1 stem=$OUT/${1//[\/:]/-} status=0
log=$stem.log tap=$stem.tap
rm -f "$stem".*
read -r size class _ expected < <(awk -v name="$name" '$3 == name' "$OUT/items")
# The seconds on record, times how much slower this machine has been so far. Of builds, which may be there already, and of what was
# skipped the seconds say nothing of that.
needed=0
[ "$size" != all ] || needed=$(awk -v own="${expected%\?}" 'FNR == NR { record[$3] = $4; next }
    record[$4] && record[$4] !~ /[?]/ && $3 != "build" && $5 != "skipped" { was += record[$4]; is += $1 }
    END { print int(own * (was > 0 ? is / was : 1)) }' "$OUT/items" "$OUT/times")
# A hang is a failure, and to be slower than was reckoned is none. What begins in time ends ten minutes after DEADLINE at most.
limit=${LIMIT:-$((600 + needed + ${STRESS_SECONDS:-0} + ${FUZZ_SECONDS:-0}))}
export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:log_path=$stem.sanitizer
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1 TSAN_OPTIONS=halt_on_error=1:exitcode=66

left_out() { # items that run only if there is time
    [ -n "${DEADLINE-}" ] && [ "$size" = all ] || return
    [ $((EPOCHSECONDS + needed)) -gt "$DEADLINE" ] || return
    echo "1..0 # SKIP left out: it takes $needed s, and there are $((DEADLINE - EPOCHSECONDS))"
}

run() {
    timeout -k 10 "$limit" "$@" >"$log" 2>&1 </dev/null &
    child=$!
    trap 'kill $child; exit 143' INT TERM
    wait $child
    status=$?
    case $status in 124 | 137) echo "item: no end after $limit s" >>"$log" ;; esac
}
# A program without TAP of its own: one case.
program() {
    run "$@"
    case $status in
    0) echo "ok - $name $(grep -oiEm 3 'seed[ =:]+[0-9a-fx]+' "$log" | paste -sd ' ')" ;;
    77) echo "ok - $name # SKIP $(tail -n 1 "$log")"; status=0 ;;
    *) echo "not ok - $name: exit $status"; tail -n 5 "$log" | sed 's/^/# /' ;;
    esac
    echo 1..1
}
make_() { program make -k -j"$JOBS" "$@"; }

# ThreadSanitizer's shadow does not fit beside a heavily randomised address space (vm.mmap_rnd_bits above 28).
fixed=()
[[ $name != build/*-tsan/* ]] || ! setarch "$(uname -m)" -R true 2>/dev/null || fixed=(setarch "$(uname -m)" -R)

speak() {
    case $name in
    build:gcc) make_ all tests ;;
    build:clang-asan) make_ CC=clang SAN=address,undefined all tests ;;
    build:clang-tsan) make_ CC=clang SAN=thread tests ;;
    make:syntax) program make CC=clang syntax ;;
    # A rebuild during the tests gives some tests another program, and removes it under others.
    make:same-build) program bash -c '! find build/gcc build/clang-* -type f -executable -newer "$0" \
        \( -path "*/tests/*" -o -name locus \) | grep .' "$OUT/built" ;;
    make:*) make_ "${name#make:}" ;;
    *.sh)
        run env -u JOBS CC=gcc BUILD="$REPO/build/gcc" LOCUS="$REPO/build/gcc/locus" \
            LOCUS_ASAN="$REPO/build/clang-asan/locus" bash "$name"
        grep -E '^(ok|not ok|1\.\.|Bail out!)' "$log"
        ;;
    *_stress) program "${fixed[@]}" "$name" "${STRESS_SECONDS:-3}" ;;
    *_litmus) program "${fixed[@]}" "$name" "${LITMUS_RUNS:-200}" ;;
    *_fuzz)
        local source=${name#build/*/} seeds corpus=$OUT/corpus/$(basename "$name")
        seeds=${source%/*}/corpus/$(basename "$source" _fuzz)
        mkdir -p "$corpus" # a function's name needs a symbolizer, which clang's package does not bring along
        program "$name" -max_total_time="${FUZZ_SECONDS:-6}" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -print_funcs=0 \
            -artifact_prefix="$OUT/$(basename "$name")-" "$corpus" $([ ! -d "$seeds" ] || echo "$seeds")
        ;;
    *)
        run "$name" -j1 --timeout 120 --tap="$stem.criterion"
        grep -v '^TAP version' "$stem.criterion" # with version 13 prove would read Criterion's YAML, which it does not understand
        ;;
    esac
}

if [[ $name == build/* && ! -x $name ]]; then
    printf '%s\n' "not ok - $name: it was not built" 1..1 | tee "$tap"
    exit 1
elif left_out >"$tap"; then
    cat "$tap"
    exit 0
fi
began=${EPOCHREALTIME/[.,]/}
speak >"$tap"
took=$(((${EPOCHREALTIME/[.,]/} - began) / 100000))
printf '%7s %-5s %-5s %s\n' $((took / 10)).$((took % 10)) "$size" "$class" \
    "$name$(grep -qiE '^1\.\.0 # *skip' "$tap" && echo ' skipped')" >>"$OUT/times"
cat "$tap"
if compgen -G "$stem.sanitizer.*" >/dev/null; then
    { head -n 40 "$stem".sanitizer.*; echo "item: the sanitizer reported, see $stem.sanitizer.*"; } >>"$log"
    status=66
fi
if grep -qx '1\.\.0 *' "$tap"; then
    echo "item: not one case was run" >>"$log"
    status=1
fi
exit $status
