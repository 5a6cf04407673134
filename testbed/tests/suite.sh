#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# suite.sh [short]: what `make test` runs: every variant is built, every test program and script found by its name is run, and every
# single case is counted. Ends with the line "N passed, N failed, N skipped"; exit 0 only if nothing failed and something passed.
# One item for each CPU runs at a time (items.bash), but some have the machine to themselves.
#
#   *_test.c      Criterion, gcc plain and gcc ASan+UBSan, cases counted from its TAP report. LeakSanitizer in a Criterion child
#                 prints and passes, so its reports go to files, and a file that exists is a failure.
#   *_stress.c    argument: seconds. Plain, ASan+UBSan and TSan. Exit 0 pass, 1 fail, 77 skip.
#   *_litmus.c    argument: runs. TSan only: on x86 the compiler emits the same code for a weakened order, no other tool sees it.
#   *_fuzz.c      libFuzzer with ASan+UBSan, starting from <layer>/tests/corpus/<name>/ where that exists.
#   *.sh          print "PASS name", "FAIL name", "SKIP name: reason", one line per case.
#   *_scenario.c  and *_inject.c are built here and used by scripts.
#
# Logs of all items: build/test/. Seconds and runs: STRESS_SECONDS, FUZZ_SECONDS, LITMUS_RUNS. JOBS=1: one after the other.
# ONLY=word runs only the items whose name contains it (and the builds).
#
# short is `make check`: one build, its unit tests, layers and tidy. It says in two minutes whether the program does on this machine
# what it does on others, and needs no second compiler.
set -u
cd "$(dirname "$0")/../.." || exit 2
unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC SAN # the variants choose compiler and flags themselves

root=$PWD
out=$root/build/test
stress_seconds=${STRESS_SECONDS:-3}
fuzz_seconds=${FUZZ_SECONDS:-6}
litmus_runs=${LITMUS_RUNS:-200}
limit=$((stress_seconds + fuzz_seconds + 300)) # seconds for one item; a hang is a failure

export ASAN_OPTIONS=detect_leaks=1:abort_on_error=0
export UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
export TSAN_OPTIONS=halt_on_error=1:exitcode=66

# ThreadSanitizer's shadow does not fit beside a heavily randomised address space (vm.mmap_rnd_bits above 28).
fixed_addresses=()
if setarch "$(uname -m)" -R true 2>/dev/null; then fixed_addresses=(setarch "$(uname -m)" -R); fi

. testbed/tests/items.bash

# --- the kinds -----------------------------------------------------------------------------------------------------------------

build() { # name, command
    limit=$((limit + 600))
    run "$@"
    plain_verdict
}

# A program that its variant's build did not deliver is a failure of its own.
built() { # program
    [ -x "$1" ] || { run "$name" false; echo "suite: ${1#"$root"/} was not built" >"$log"; report 0 1 0 "not built"; return 1; }
}

unit() { # layer, variant, seconds that it may take longer than others
    limit=$((limit + $3))
    local program=$root/build/$2/$1/tests/unit stem=$out/unit-${1//\//-}-$2
    built "$program" || return
    rm -f "$stem".*
    ASAN_OPTIONS=$ASAN_OPTIONS:log_path=$stem.sanitizer run "$name" "$program" -j1 --timeout 120 --tap="$stem.tap"
    unit_verdict "$stem.tap" "$stem.sanitizer"
}

program() { # path, argument
    local prefix=()
    [[ $1 != *-tsan/* ]] || prefix=("${fixed_addresses[@]}")
    built "$1" || return
    run "$name" "${prefix[@]}" "$@"
    plain_verdict
}

fuzzer() { # source
    local name_only program=$root/build/clang-fuzz/${1%.c} corpus seeds
    name_only=$(basename "$1" _fuzz.c)
    corpus=$out/corpus/$name_only
    seeds=${1%/*}/corpus/$name_only
    built "$program" || return
    mkdir -p "$corpus"
    [ -d "$seeds" ] || seeds=
    run "$name" "$program" -max_total_time="$fuzz_seconds" -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
        -artifact_prefix="$out/$name_only-" "$corpus" $seeds
    plain_verdict "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log") inputs"
}

# --- what is on the list -------------------------------------------------------------------------------------------------------

units() { # variant
    local room
    while read -r room; do
        item free "unit $room ($1)" unit "$room" "$1" 300
    done < <(find topo placement testbed experiments -path '*/tests/*_test.c' | sed 's,/tests/[^/]*$,,' | sort -u)
}

programs() { # kind, variant, argument
    local source
    for source in $(find topo placement testbed -path "*/tests/*_$1.c" | sort); do
        item alone "$1 $(basename "$source" "_$1.c") ($2)" program "$root/build/$2/${source%.c}" "$3"
    done
}

fuzzers() {
    local source
    for source in $(find topo placement testbed -path "*/tests/*_fuzz.c" | sort); do
        item free "fuzz $(basename "$source" _fuzz.c)" fuzzer "$source"
    done
}

# Contenders whose worker spins on a CPU of its own take ten times as long when another item is on that CPU. And when the kernel
# is told to shut a file system down beside a busy machine, it may say of an fsync that was under way that all is well.
alone='testbed/tests/eval_cli.sh testbed/tests/perf_cli.sh testbed/tests/record_run.sh testbed/tests/record_power.sh'
alone+=' testbed/tests/noise_cli.sh testbed/tests/make_run.sh'
# The others in order of their length, so that no long one is left alone at the end. They have limits of their own inside.
long='testbed/tests/nodes_guest.sh placement/tests/mutants.sh testbed/tests/guest.sh testbed/tests/nodes_mutants.sh'
long+=' ansible/tests/provision.sh ansible/tests/campaign.sh testbed/tests/packet_guest.sh'

scripts() {
    local script
    for script in $long; do script_item "$script" 600; done
    units gcc-asan
    for script in */tests/*.sh; do
        [[ " $long $alone testbed/tests/suite.sh " == *" $script "* ]] || script_item "$script"
    done
}

script_item() { # path, seconds
    local class=free
    ! grep -qE 'boot\.sh|"\$LOCUS" guest' "$1" || class=guest
    [[ " $alone " != *" $1 "* ]] || class=alone
    item $class "script ${1%%/*}/$(basename "$1" .sh)" script "$@"
}

# --- all of it -----------------------------------------------------------------------------------------------------------------

# Whoever builds anew while tests run has some test another program than the rest, and takes it away under others.
same_build() {
    run "$name" bash -c '[ -e "$0" ] && ! find build/gcc/locus* build/gcc/*/tests -type f -newer "$0" | grep .' "$out/built"
    plain_verdict
}

verdict() {
    item alone "the build is that of the beginning" same_build
    item free tidy build tidy make tidy
    item alone layers build layers make layers # what it finds out of date is built anew, under whatever runs it
    items_run
    echo
    echo "took $SECONDS s, logs in build/test"
    items_end
    exit
}

case ${1-} in '' | short) ;; *) echo "usage: suite.sh [short]" >&2; exit 2 ;; esac
mkdir -p "$out"
if [ "${1-}" = short ]; then
    item free "build (gcc)" build "build (gcc)" make -j"$(nproc)" all tests
    items_run
    touch "$out/built"
    units gcc
    verdict
fi
echo "kernel $(uname -r), $(nproc) CPUs, $(gcc --version | head -n 1), $(clang --version | head -n 1)"
only=${ONLY:-} ONLY= # the builds are always wanted
make="make -k -j$((($(nproc) + 1) / 2))" # two at a time
item free "build (gcc-asan)" build "build (gcc-asan)" $make SAN=address,undefined all tests
item free "build (gcc)" build "build (gcc)" $make all tests
item free "build (clang)" build "build (clang)" $make CC=clang CFLAGS=-O0 all tests # to be compiled only: nothing runs it
item free "build (clang-fuzz)" build "build (clang-fuzz)" $make CC=clang SAN=fuzzer,address,undefined tests
item free "build (clang-tsan)" build "build (clang-tsan)" $make CC=clang SAN=thread tests
JOBS=$((JOBS < 2 ? JOBS : 2)) items_run
touch "$out/built"
ONLY=$only
programs stress gcc "$stress_seconds"
programs stress gcc-asan "$stress_seconds"
programs stress clang-tsan "$stress_seconds"
programs litmus clang-tsan "$litmus_runs"
for script in $alone; do script_item "$script"; done
items_run
scripts
units gcc
fuzzers
verdict
