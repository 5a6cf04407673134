# SPDX-License-Identifier: Apache-2.0
#
# mutants.bash: shared by the mutant scripts, which source it. Are the tests any good? The scripts break the sources on purpose,
# one thing at a time, and expect a test to fail each time.
#
#     mutants_begin SOURCE...   sources to link with each program besides its own
#     controls PROGRAM...       each must pass with the unchanged sources
#     mutant NAME FILE PROGRAM EXPRESSION
#     mutants_end               prints the results; exit status 0 if no mutant survived
#
# Works on a copy in a separate directory. A mutant is a sed expression that must change its file, and the program that must then
# fail; a mutant that does not compile, or whose program still passes, is a failure. Litmus programs run under ThreadSanitizer,
# the others plain; a script without any says sanitizers=none first.
#
# Many mutants hang. A program that takes far longer than it did with the unchanged sources, on this machine in this minute, does.
# Races need luck, and on a busy machine more of it: what a program does not see at once it has to see in three or nine times the
# time.
#
# Environment: REPO, CC (gcc or clang), JOBS. Prints TAP.
set -u
REPO=$(cd "${REPO:-$(dirname "${BASH_SOURCE[0]}")/../..}" && pwd) || exit 2
CC=${CC:-gcc}
JOBS=${JOBS:-$(nproc)}
cd "$REPO" || exit 2 # where the lists of sources are expanded
work=$(mktemp -d) || exit 2
LOCUS_TEST_FOLDER=$(mktemp -d -p /var/tmp) || exit 2 # for tests with files: one that fails leaves them
export LOCUS_TEST_FOLDER
trap 'rm -rf "$work" "$LOCUS_TEST_FOLDER"' EXIT
tree=$work/tree
quote="-Iplacement/include -iquote topo"
flags="-std=c11 -D_GNU_SOURCE -O1 -g -pthread"
export TSAN_OPTIONS=halt_on_error=1:exitcode=66:report_bugs=1

fixed_addresses=() # the sanitizer's shadow does not fit beside a heavily randomised address space
if setarch "$(uname -m)" -R true 2>/dev/null; then fixed_addresses=(setarch "$(uname -m)" -R); fi

# --- building and running ------------------------------------------------------------------------------------------------------

source_of() { # program
    (cd "$tree" && find placement testbed -path "*/tests/$1.c")
}
sanitizer_of() { case $1 in *_litmus) echo thread ;; *) echo none ;; esac; }

compile() { # tree, sanitizer, source, object
    local san=
    [ "$2" = none ] || san=-fsanitize=$2
    (cd "$1" && $CC $flags $san -I. $quote -c -o "$4" "$3")
}

object() { echo "$1/$2/${3//\//_}.o"; } # directory, sanitizer, source

# link OUT SANITIZER PROGRAM DIRECTORY: objects of DIRECTORY, and those that it lacks from the unchanged ones.
link() {
    local san=() objects=() source own libs=($libraries)
    [ "$2" = none ] || san=(-fsanitize="$2")
    case $3 in *_test) libs+=(-lcriterion) ;; esac
    for source in $library $(source_of "$3"); do
        own=$(object "$4" "$2" "$source")
        [ -e "$own" ] || own=$(object "$work/base" "$2" "$source")
        objects+=("$own")
    done
    $CC -pthread "${san[@]}" -Wl,--as-needed -o "$1" "${objects[@]}" "${libs[@]}"
}

execute() { # program file, its name, seconds that it may take, how much of it
    local most=$(($3 * $4))
    case $2 in
    *_litmus) timeout -k 5 $most "${fixed_addresses[@]}" "$1" $((200 * $4)) ;;
    nodes_stress) timeout -k 5 $most "$1" $((15 * $4)) 1 ;; # a lost wake-up is seen about every other second
    pages_stress) timeout -k 5 $most "$1" $((5 * $4)) 1 ;;  # a pin that overtakes a claim, on a busy machine even less often
    *_stress) timeout -k 5 $most "$1" "$4" 1 ;;
    *_test) timeout -k 5 $most "$1" -j1 --fail-fast ;;
    esac
}

control() { # program
    local san start
    san=$(sanitizer_of "$1")
    if compile "$tree" "$san" "$(source_of "$1")" "$(object "$work/base" "$san" "$(source_of "$1")")" &&
        link "$work/base/$1" "$san" "$1" "$work/base" && start=$SECONDS && execute "$work/base/$1" "$1" 300 1; then
        echo $((10 + 3 * (SECONDS - start))) >"$work/base/$1.limit"
        echo "ok - control $1" >"$work/result/control-$1"
    else
        echo "not ok - control $1: does not pass with the unchanged sources" >"$work/result/control-$1"
    fi
} >"$work/control-$1.log" 2>&1

# What has to be compiled anew when `file` has changed; the program's own source only for the sake of a header.
affected() { # file, program
    case $1 in
    *.c) echo "$1" ;;
    testbed/decode/kernels/*.h) echo testbed/decode/kernels/*.c ;;
    testbed/*.h) echo testbed/measure/dispatch.c "$(source_of "$2")" ;;
    placement/pages/*.h) echo placement/pages/*.c "$(source_of "$2")" ;;
    placement/sharing/*.h | placement/include/locus/id.h) echo placement/{evict,sharing}/*.c "$(source_of "$2")" ;;
    placement/*.h) echo placement/blocks/{,pools/}*.c placement/memory/region.c "$(source_of "$2")" ;;
    esac
}

judge() { # name, file, program, sed expression
    local dir=$work/mutants/$1 limit much san source
    san=$(sanitizer_of "$3")
    [ -e "$tree/$2" ] || { echo "not ok - mutant $1: there is no $2"; return; }
    mkdir -p "$dir/$san" && cp -rl "$tree" "$dir/tree" # sed -i gives the changed file a name of its own
    sed -i -E "$4" "$dir/tree/$2"
    ! cmp -s "$tree/$2" "$dir/tree/$2" || { echo "not ok - mutant $1: the expression did not change $2"; return; }
    for source in $(affected "$2" "$3"); do
        compile "$dir/tree" "$san" "$source" "$(object "$dir" "$san" "$source")" >>"$dir/log" 2>&1 ||
            { echo "not ok - mutant $1: does not compile"; return; }
    done
    link "$dir/program" "$san" "$3" "$dir" >>"$dir/log" 2>&1 || { echo "not ok - mutant $1: does not link"; return; }
    limit=$(cat "$work/base/$3.limit") || { echo "not ok - mutant $1: there is no control $3"; return; }
    for much in 1 3 9; do
        execute "$dir/program" "$3" "$limit" $much >>"$dir/log" 2>&1 || { echo "ok - mutant $1: killed by $3"; return; }
    done
    echo "not ok - mutant $1: survived $3"
}

in_parallel() { # command...: at most JOBS at a time
    while [ "$(jobs -rp | wc -l)" -ge "$JOBS" ]; do wait -n; done
    "$@" &
}

names=()
judge_to_file() {
    judge "$@" >"$work/result/mutant-$1"
    rm -rf "$work/mutants/$1/tree" "$work/mutants/$1/program"
}
mutant() { # name, file, program, sed expression
    names+=("mutant-$1")
    in_parallel judge_to_file "$@"
}

# --- the parts of a script -----------------------------------------------------------------------------------------------------

mutants_begin() { # sources, relative to the repository
    local source sanitizer
    mkdir -p "$tree" "$work/result" "$work/mutants" "$work/base/thread" "$work/base/none"
    (cd "$REPO" && find topo placement testbed \( -name '*.[ch]' -o -name '*.py' -o -path 'topo/tests/fixtures/*' \) -print0 |
        tar -c --null -T - -f -) | tar -x -C "$tree" -f - || exit 2 # sources take in programs of Python, tests read machines
    cd "$tree" || exit 2
    library=$* libraries=$(make -s -C "$REPO" DPDK= libs) || exit 2
    for source in $library; do
        [ -e "$source" ] || { echo "Bail out! there is no $source to link with" && exit 2; }
        for sanitizer in ${sanitizers:-thread none}; do
            in_parallel compile "$tree" $sanitizer "$source" "$(object "$work/base" $sanitizer "$source")"
        done
    done
    wait
}

controls() { # programs
    local program
    for program; do
        names+=("control-$program")
        in_parallel control "$program"
    done
    wait
}

mutants_end() {
    local name
    wait
    echo "1..${#names[@]}"
    for name in "${names[@]}"; do
        cat "$work/result/$name"
        grep -q ^ok "$work/result/$name" && continue
        tail -n 8 "$work/${name/mutant-/mutants/}/log" "$work/$name.log" 2>/dev/null | sed 's/^/    | /'
    done
    ! grep -hqv ^ok "$work"/result/*
}
