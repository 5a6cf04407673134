#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# The matrix under awkward conditions (matrix_scenario.c). BUILD=folder of the build.
#
#   host     the kernel answers EPERM or ENOSYS to mbind or move_pages: every cell says so, and nothing is measured
#   n2, n4, cxl, odd, short   every pair of the shape is there, all pages are where they belong, all bytes were moved, and no
#            time is kept; what the shape rules out has a reason
#   pages    the kind of pages behind the spans is reported: base pages, and huge ones from a reserved pool if there are no others
#   hot      node 2 goes offline before or during the run: its cells say so, and the others finish as usual
set -u
: "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD#"$PWD"/}
scenario=$build/testbed/matrix/tests/matrix_scenario
deny=$build/testbed/host/tests/deny_scenario

judge() { # name, wrong lines
    if [ -z "$2" ]; then pass "$1"; else fail "$1" "$(echo "$2" | head -n 3 | tr '\n' ';')"; fi
}

# A line of the scenario: 1 kind 2 initiator 3 memory 4 target 5 threads 6 delay 7 working set 8 state 9 samples 10 planned
# 11 moved 12 pages 13 there 14 verified 15 page bytes 16 value 17 bandwidth 18... why. States: 2 unmeasurable, 3 emulated,
# 4 invalid.
proved='$8 == 3 && $9 == 0 && $10 > 0 && $11 == $10 && $12 > 0 && $13 == $12 && $14 == 1 && $16 == 0'
unproved="\$1 != \"took\" && \$8 != 2 && !($proved)"
unsaid='$1 != "took" && $8 == 2 && !(NF > 20 && $9 == 0 && $11 == 0)'

# --- denials -------------------------------------------------------------------------------------------------------------------

denied() { # call, error, what must be named
    "$deny" "$2" "$1" -- "$scenario" rounds=1 kinds=0,1,7,10,11,12 >"$scratch/out" 2>"$scratch/err"
    status=$?
    if [ $status -eq 77 ]; then
        skip "$1 answers $2" "$(tail -n 1 "$scratch/err")"
    elif [ $status -ne 0 ]; then
        fail "$1 answers $2" "exit $status: $(tail -n 1 "$scratch/err")"
    else
        judge "$1 answers $2, and every cell says so" \
            "$(awk -v word="$3" '$1 != "took" && !($8 == 2 && $9 == 0 && $0 ~ word)' "$scratch/out")"
    fi
}
denied mbind EPERM CAP_SYS_NICE
denied mbind ENOSYS NUMA
denied move_pages EPERM move_pages
denied move_pages ENOSYS move_pages

# --- shapes --------------------------------------------------------------------------------------------------------------------

needs_guest matrix_guest

boot() { # machine, name of the output, arguments of the scenario
    machine=$1 to=$2
    shift 2
    printf '#!/bin/sh\nexec %s %s\n' "$scenario" "$*" >"$scratch/$to.sh"
    sh testbed/guest/boot.sh --machine "$machine" --timeout 150 --with "$scenario" -- "$scratch/$to.sh" >"$scratch/$to" \
        2>"$scratch/$to.err"
    echo $? >"$scratch/$to.status"
}

ended() { # name of the output
    [ "$(cat "$scratch/$1.status")" = 0 ] && grep -q '^took' "$scratch/$1" && return
    fail "$1: the run ends" "exit $(cat "$scratch/$1.status"): $(tail -n 1 "$scratch/$1.err")"
    return 1
}

pairs() { awk '$1 == 0 { printf "%s%s>%s", n++ ? " " : "", $2, $3 }' "$scratch/$1"; }

shape() { # machine, pairs, how many cells cannot be asked
    ended "$1" || return
    judge "$1: every cell is proved, and no time is kept" "$(awk "$unproved" "$scratch/$1")"
    judge "$1: what cannot be asked says why" "$(awk "$unsaid" "$scratch/$1")"
    [ "$(pairs "$1")" = "$2" ] && pass "$1: the pairs" || fail "$1: the pairs" "$(pairs "$1")"
    cannot=$(awk '$8 == 2' "$scratch/$1" | wc -l)
    [ "$cannot" = "$3" ] && pass "$1: $3 cells cannot be asked" || fail "$1: $3 cells cannot be asked" "$cannot are"
}

boot n2 n2
for machine in n4 cxl odd; do boot $machine $machine rounds=1; done
shape n2 '0>0 0>1 1>0 1>1' 0
shape n4 '0>0 0>1 0>2 0>3 1>0 1>1 1>2 1>3 2>0 2>1 2>2 2>3 3>0 3>1 3>2 3>3' 20 # no load, and no line within a node of one CPU
shape cxl '0>0 0>1 0>2 1>0 1>1 1>2' 0
shape odd '0>0 0>1 0>3 1>0 1>1 1>3 2>0 2>1 2>3' 8

# --- pages ---------------------------------------------------------------------------------------------------------------------

none='echo never >/sys/kernel/mm/transparent_hugepage/enabled'
boot n2 base rounds=1 kinds=0,1 "'then=$none'"
boot n2 pool rounds=1 kinds=0,1 "'then=$none; echo 64 >/proc/sys/vm/nr_hugepages'"
boot n2 huge rounds=1 kinds=0,1
for pages in base:4096 pool:2097152 huge:2097152; do
    ended "${pages%:*}" || continue
    judge "pages are said: ${pages%:*}" \
        "$(awk -v bytes="${pages#*:}" "\$1 != \"took\" && \$15 != bytes || $unproved" "$scratch/${pages%:*}")"
done

# --- a node that vanishes ------------------------------------------------------------------------------------------------------

boot hot before rounds=1 "'then=offline-node 2'"
boot hot meanwhile rounds=30 kinds=0,2,9,10 "'then=(sleep 2; offline-node 2) >/dev/null 2>&1 &'"

# Cells that name node 2 as memory or target.
if ended before; then
    judge "a node that went before the run is named in each of its cells" \
        "$(awk '($3 == 2 || $4 == 2) && !($8 == 2 && $11 == 0 && /node 2/)' "$scratch/before")"
    judge "the others do not mind" "$(awk "\$3 != 2 && \$4 != 2 && $unproved" "$scratch/before")"
    [ "$(awk '$3 == 2' "$scratch/before" | wc -l)" -gt 10 ] || fail "a node that went before the run" "it was not in the plan"
fi
if ended meanwhile; then
    judge "a node that goes in mid-run makes its cells invalid" \
        "$(awk '($3 == 2 || $4 == 2) && !(($8 == 4 || $8 == 2) && /node 2/)' "$scratch/meanwhile")"
    [ "$(awk '$8 == 4' "$scratch/meanwhile" | wc -l)" -gt 0 ] || fail "a node that goes in mid-run" "it went before the run"
    judge "and the others do not mind" "$(awk "\$3 != 2 && \$4 != 2 && $unproved" "$scratch/meanwhile")"
fi

done_testing
