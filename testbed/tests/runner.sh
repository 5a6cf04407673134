#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all free
#
# suite.sh and item.sh, which run everything else: do they notice failures? They run in a made-up project with a good script, a
# good unit program and a good stress program, and one fault at a time.
set -u
. "$(dirname "$0")/cases.bash"
repository=$(realpath "$(dirname "$0")/../..")
unset ONLY DEADLINE LIMIT OUT TESTS JOBS STRESS_SECONDS FUZZ_SECONDS LITMUS_RUNS

script() { # path, its text
    mkdir -p "$(dirname "$1")"
    printf '#!/bin/bash\n%s\n' "$2" >"$1"
    chmod +x "$1"
}
unit='for word; do case $word in --tap=*) tap=${word#--tap=} ;; esac; done; printf "%s\n" 1..2 "ok - a" "ok - b" >"$tap"'
project() {
    rm -rf "$scratch/project"
    mkdir -p "$scratch/project/testbed/tests" && cd "$scratch/project" || exit 1
    cp "$repository"/testbed/tests/{suite,item}.sh testbed/tests/
    mkdir topo placement experiments ansible
    : >testbed/tests/README.md
    printf 'all tests tidy layers syntax:\n\t@true\n' >Makefile
    : >testbed/tests/x_test.c
    : >testbed/tests/y_stress.c
    for variant in gcc clang-asan; do script build/$variant/testbed/tests/unit "$unit"; done
    for variant in gcc clang-asan clang-tsan; do script build/$variant/testbed/tests/y_stress 'echo seed 7'; done
    script testbed/tests/well.sh 'echo ok - one; echo "ok - two # SKIP no disk"; echo 1..2'
}
suite() { bash testbed/tests/suite.sh "${1:-test}" >"$out" 2>&1 </dev/null; }

# ends NAME STATUS LAST-LINE PATTERN [SIZE]: runs the suite on the project and checks its end.
ends() {
    local status
    suite "${5:-test}"
    status=$?
    if [ $status -ne "$2" ]; then
        fail "$1" "exit $status: $(tail -n 5 "$out" | tr '\n' ';')"
    elif ! tail -n 1 "$out" | grep -qxE "$3" || ! tail -n 30 "$out" | grep -qE -- "$4"; then
        fail "$1" "its end: $(tail -n 8 "$out" | tr '\n' ';')"
    else
        pass "$1"
    fi
}
# wrong NAME SCRIPT PATTERN: adds that script; the suite must fail, and its end say why.
wrong() {
    project
    script testbed/tests/bad.sh "$2"
    ends "$1" 1 '[0-9]+ passed, [12] failed, 1 skipped' "$3"
    sed -n '/^failed:/,$p' "$out" | grep -qx '  testbed/tests/bad.sh' || fail "$1, by name" "$(tail -n 8 "$out" | tr '\n' ';')"
}

project
ends what-is-well-passes 0 '13 passed, 0 failed, 1 skipped' 'testbed-tests-well.sh two +# SKIP no disk'
check seconds-are-written-down grep -qE '^ +[0-9.]+ test  free  testbed/tests/well.sh$' build/test/times
ends a-smaller-size-runs-less 0 '6 passed, 0 failed, 0 skipped' 'took' check

wrong a-failing-case 'echo ok - a; echo not ok - b: why; echo 1..2' '^    not ok - b: why'
wrong a-crash-after-its-cases 'echo ok - a; echo 1..1; kill -SEGV $$' '^  .*[Ss]tatus: 139'
wrong a-failure-that-no-case-shows 'echo ok - a; echo 1..1; exit 4' 'status: 4'
wrong no-plan 'echo ok - a; echo last words' 'No plan found'
wrong a-plan-of-more 'echo ok - a; echo 1..2' 'planned 2 tests but ran 1'
wrong not-one-case 'echo 1..0' 'not one case was run'
wrong silence 'echo last words' '^    last words'
LIMIT=1 wrong a-hang 'echo ok - a; sleep 60; echo 1..1' 'no end after 1 s'
wrong a-failure-marked-as-skipped 'echo "not ok - a # SKIP"; echo 1..1; exit 1' 'status: 1'

project
script build/clang-asan/testbed/tests/unit "$unit"'; echo leak >"${ASAN_OPTIONS##*log_path=}.1"'
ends a-report-of-a-sanitizer 1 '13 passed, 1 failed, 1 skipped' 'the sanitizer reported'
project
rm build/clang-asan/testbed/tests/unit
ends a-program-that-was-not-built 1 '11 passed, 1 failed, .*' 'it was not built'
project
script build/clang-tsan/testbed/tests/y_stress 'echo lost; exit 1'
ends a-program-that-fails 1 '12 passed, 1 failed, .*' '# lost'
script build/clang-tsan/testbed/tests/y_stress 'echo needs two nodes; exit 77'
ends a-program-that-cannot-be-run-is-skipped 0 '12 passed, 0 failed, 2 skipped' 'SKIP needs two nodes'
project
printf 'all:\n\t@echo no such thing; false\n' >>Makefile
ends a-build-that-fails 1 '.* failed, 1 skipped' '^  build:gcc'
project
script testbed/tests/anew.sh 'sleep 0.02; touch build/gcc/testbed/tests/unit; echo ok - a; echo 1..1'
ends a-program-that-is-built-anew 1 '13 passed, 1 failed, 1 skipped' 'make:same-build'

# Each item notes its begin and end; which items overlapped? A free one waits until two have, once.
project
for n in 1 2 3; do
    for class in guest alone free; do
        script testbed/tests/$class$n.sh "# suite: test $class
            echo + $class >>notes; sleep 0.2
            tries=600
            while [ $class = free ] && [ \$((tries -= 1)) -gt 0 ] && ! awk '{ n += \$1 == \"+\" ? 1 : -1 }
                n > 1 { two = 1 } END { exit !two }' notes; do sleep 0.1; done
            echo - $class >>notes; echo ok - a; echo 1..1"
    done
done
ends all-classes-are-run 0 '22 passed, .*' 'took'
overlaps=$(awk '{ step = $1 == "+" ? 1 : -1; n[$2] += step; all += step
    if (n["guest"] > 1) print "two guests"; if (n["alone"] && all > 1) print "not alone"
    if (all > most) most = all } END { if (most < 2) print "never two" }' notes | sort -u | paste -sd ' ')
holds each-class-keeps-its-rule "$overlaps" [ -z "$overlaps" ]

# Items that would end too late are left out, but only of size all.
project
script testbed/tests/late.sh '# suite: all
    echo ok - late; echo 1..1'
ends all-is-run-where-there-is-time 0 '16 passed, .*' took all
export DEADLINE=$((EPOCHSECONDS + 15))
ends what-would-end-too-late-is-left-out 0 '13 passed, 0 failed, 4 skipped' 'late.sh +# SKIP left out: it takes 30 s' all
# 100 seconds fit into 1,000, however slow this machine is meanwhile; the others' 100,000 do not.
echo '    100.0 all free testbed/tests/late.sh' >testbed/tests/README.md
printf '    100000.0 all alone build/%s/testbed/tests/y_stress\n' gcc clang-asan >>testbed/tests/README.md
export DEADLINE=$((EPOCHSECONDS + 1000))
ends what-fits-by-its-seconds-on-record-is-run 0 '14 passed, 0 failed, 3 skipped' 'took' all
echo '    0.01 test free testbed/tests/slow.sh' >>testbed/tests/README.md
script testbed/tests/slow.sh 'sleep 0.3; echo ok - slow; echo 1..1' # thirty times as long, and so would the 100 seconds be
export DEADLINE=$((EPOCHSECONDS + 1000))
ends a-slower-machine-needs-longer 0 '14 passed, 0 failed, 4 skipped' 'late.sh +# SKIP left out: it takes' all
script testbed/tests/slow.sh 'echo "1..0 # SKIP slow"' # to skip and to find a build is not to be fast
printf '    100000.0 %s\n' 'test  free  testbed/tests/slow.sh' 'check build build:gcc' >>testbed/tests/README.md
export DEADLINE=$((EPOCHSECONDS + 90))
ends what-is-skipped-or-built-before-makes-no-machine-fast 0 '13 passed, 0 failed, 5 skipped' \
    'late.sh +# SKIP left out: it takes 100 s' all
unset DEADLINE
project
script testbed/tests/late.sh '# suite: all
    echo ok - late; echo 1..1'
echo '    100.0 all free testbed/tests/late.sh' >testbed/tests/README.md
mkdir "$scratch/bin"
printf '#!/bin/sh\necho "$3 $5" >>"%s"\nshift 3\nexec "$@"\n' "$scratch/limits" >"$scratch/bin/timeout"
chmod +x "$scratch/bin/timeout"
PATH=$scratch/bin:$PATH ends all-is-run-without-a-deadline 0 '16 passed, .*' took all
holds ten-minutes-and-what-it-takes-are-its-limit "$(paste -sd ';' "$scratch/limits")" \
    eval 'grep -qx "700 .*" "$scratch/limits" && grep -qx "600 .*" "$scratch/limits"'

# An interrupt ends what runs.
project
script testbed/tests/slow.sh 'echo $$ >pid; exec sleep 600'
bash testbed/tests/suite.sh test >"$out" 2>&1 </dev/null &
suite=$!
for _ in {1..1200}; do [ ! -s pid ] || break; sleep 0.1; done
kill -TERM $suite
wait $suite
for _ in {1..600}; do kill -0 "$(cat pid)" 2>/dev/null || break; sleep 0.1; done
holds an-interrupt-ends-what-runs "$(cat pid) still runs" eval '[ -s pid ] && ! kill -0 "$(cat pid)" 2>/dev/null'
done_testing
