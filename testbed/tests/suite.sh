#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# suite.sh check|test|all: runs `make check`, `make test` and `make test-all`; each size contains the one before. Items are found
# by name below topo/, placement/, testbed/, experiments/ and ansible/, at any depth. prove(1) schedules them and judges their
# TAP, which item.sh produces for each kind.
#
#   tests/*_test.c     Criterion, one program per folder: plain (check) and with ASan+UBSan (test)
#   tests/*_litmus.c   with TSan (test), alone: on x86 a weakened order often compiles to the same code, so no other tool sees it
#   tests/*_stress.c   with TSan (test), plain and with ASan+UBSan (all), alone
#   tests/*_fuzz.c     libFuzzer with ASan+UBSan (test), starting from tests/corpus/NAME/ if that exists
#   tests/*.sh         TAP. A line `# suite: SIZE [CLASS]` in its head says where it belongs; without one it is `test free`. In
#                      folders of tests/ scripts are items only with such a line. CLASS: free runs beside anything, alone beside
#                      nothing, and guest (it starts emulated machines) beside no other guest
#
# Logs are in build/test. STRESS_SECONDS, FUZZ_SECONDS, LITMUS_RUNS: how long. JOBS: items at a time. ONLY=word: the builds, and
# items whose name contains the word. DEADLINE: seconds since 1970; items of size all that would end later are left out (item.sh).
set -u
cd "$(dirname "$0")/../.." || exit 2
case ${1-} in
check) sizes='check' ;;
test) sizes='check|test' ;;
all) sizes='check|test|all' ;;
*) echo "usage: suite.sh check|test|all" >&2; exit 2 ;;
esac
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC SAN # the variants choose compiler and flags themselves
export REPO=$PWD OUT=${OUT:-$PWD/build/test} JOBS=${JOBS:-$(nproc)} TESTS=${TESTS:-topo placement testbed experiments ansible}
here=testbed/tests

# --- what there is -------------------------------------------------------------------------------------------------------------

found() { find $TESTS -regextype posix-extended -type f -regex ".*/tests/$1" "${@:2}" | sort -u; }
items() { # lines: SIZE CLASS NAME
    local models='.*/(share|holders)_stress\.c' # of one thread
    printf '%s build build:%s\n' check gcc test clang-asan test clang-tsan
    printf '%s\n' 'check alone make:layers' 'check free make:tidy' 'test free make:syntax' 'check last make:same-build'
    found '[^/]*_test\.c' -printf 'check free build/gcc/%h/unit\ntest free build/clang-asan/%h/unit\n'
    found '[^/]*_(stress|litmus)\.c' ! -regex "$models" -printf 'test alone build/clang-tsan/%p\n'
    found '[^/]*_stress\.c' ! -regex "$models" -printf 'all alone build/gcc/%p\nall alone build/clang-asan/%p\n'
    found '(share|holders)_stress\.c' \
        -printf 'test free build/clang-tsan/%p\ntest free build/clang-asan/%p\nall free build/gcc/%p\n'
    found '[^/]*_fuzz\.c' -printf 'test free build/clang-asan/%p\n'
    for script in $(found '(.*/)?[^/]*\.sh'); do
        read -r size class < <(sed -n '1,/^[^#]/s/^# suite: //p' "$script")
        [[ $script == */tests/*/* && -z $size || $script == $here/@(suite|item).sh ]] || echo "${size:-test} ${class:-free} $script"
    done
}
listed() { awk -v size="^($1)\$" -v class="^($2)\$" '$1 ~ size && $2 ~ class { print $3 }' "$OUT/items"; } # the longest first

# --- running it ----------------------------------------------------------------------------------------------------------------

proves() { # sizes, classes, how many at a time
    local names guests
    names=$(listed "$1" "$2") guests=$(listed "$1" guest | paste -sd ,)
    [ -z "$names" ] || prove --norc --nocolor --timer --jobs "$3" --rules "seq={${guests:-none}}" --rules 'par=**' \
        --exec "bash $here/item.sh" $names || echo $? >"$OUT/failed"
}

rm -rf "$OUT"/{items,times,failed,built,*.tap} && mkdir -p "$OUT" && : >"$OUT/times"
items | sed 's/\.c$//' | awk -v only="${ONLY-}" -v sizes="^($sizes)\$" '
    FILENAME != "-" { if (/^ +[0-9.]+ /) seconds[$4] = $1; next }
    $1 ~ sizes && ($2 == "build" || index($3, only)) { print $0, ($3 in seconds) ? seconds[$3] : "30?" }' $here/README.md - |
    sort -s -k 4,4nr >"$OUT/items"
# Before the builds, which make the backend for ggml only where ggml's headers are. Without it each of its tests says why it is
# skipped.
[ "$sizes" = check ] || sh testbed/engine/fetch.sh
set -m # a group of processes of its own, for the interrupt
{
    proves "$sizes" build 1
    touch "$OUT/built"
    for size in 'check|test' all; do
        proves "$size" alone 1
        proves "$size" 'free|guest' "$JOBS"
    done
    proves "$sizes" last 1
} > >(tee "$OUT/said" | sed -uE '/^(All tests successful|Files=|Result: |\[[0-9:]+\]$)/d; s/ \( .* CPU\)//') 2>&1 &
trap 'kill -- -$! 2>/dev/null; echo interrupted; exit 130' INT TERM
wait $!

# --- the verdict ---------------------------------------------------------------------------------------------------------------

count() { cat "$OUT"/*.tap /dev/null | grep -ciE "$1"; }
skipped=$(count '^ok\b.*# *skip|^1\.\.0 # *skip') passed=$(($(count '^ok\b') - $(count '^ok\b.*# *skip'))) failed=0
echo
grep -HiE '# *skip' "$OUT"/*.tap /dev/null | sed -E "s,^$OUT/,,; s,\.tap:(ok( -)?|1\.\.0) *, ,; 1iskipped:" | sed '2,$s/^/    /'
echo "the slowest:"
sort -rn "$OUT/times" | head -n 10
for name in $(awk '{ print $3 }' "$OUT/items"); do
    tap=$OUT/${name//[\/:]/-}.tap
    why=$(sed -n "\\,^$name *(Wstat: ,,/^[^ ]/{/^  /p}" "$OUT/said")
    [ -e "$tap" ] || why='  it was not run'
    [ -n "$why" ] || continue
    [ $failed -gt 0 ] || echo "failed:"
    cases=$(grep -c '^not ok' "$tap")
    failed=$((failed + (cases > 0 ? cases : 1)))
    printf '  %s\n%s\n' "$name" "$why"
    if [ "$cases" -gt 0 ]; then grep -m 10 -A 5 '^not ok' "$tap"; else tail -n 3 "${tap%.tap}.log"; fi |
        grep -vE '^(ok|--|1\.\.| *(---|\.\.\.|#|assertions:.*|failures:) *$)' | cut -c 1-300 | sed 's/^/    /'
    grep -hm 1 -E 'ERROR: |runtime error: |WARNING: ' "${tap%.tap}".sanitizer.* 2>/dev/null | head -n 3 | sed 's/^/    /'
done
[ ! -e "$OUT/failed" ] || [ $failed -gt 0 ] || { failed=1; echo "failed: prove, see $OUT/said"; }
echo "took $SECONDS s, logs in build/test"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
