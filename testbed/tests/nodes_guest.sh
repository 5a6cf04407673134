#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# The flagship on the emulated machines (nodes_scenario.c). BUILD=folder of the gcc build; the clang build with ThreadSanitizer is
# beside it.
#
#   n2, n4, odd        the scenario checks what must hold on several nodes (cxl: advise_cli.sh)
#   mallocs            each preloaded, in three shares and two ways to dispatch: valid; two never wander, one does
#   stores             QEMU's plugin counts the stores to the pools' blocks, where window_inject.c puts them, and knows nothing
#                      else. They equal the program's counts exactly, for each pair of nodes
#   threads            under ThreadSanitizer
set -u
: "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD#"$PWD"/}
scenario=$build/testbed/contenders/tests/nodes_scenario
window=$build/testbed/measure/tests/window_inject.so
threads=${build%/*}/clang-tsan/testbed/contenders/tests/nodes_scenario

few() { head -n "${1:-4}" | tr '\n' ';'; }
remark() { echo "exit $(cat "$scratch/$1.status"): $(few 3 <"$scratch/$1") $(tail -n 1 "$scratch/$1.err")"; }

needs_guest nodes_guest

# --- what runs inside ----------------------------------------------------------------------------------------------------------

for machine in n2 n4 odd; do printf '#!/bin/sh\nexec %s\n' "$scenario" >"$scratch/$machine.sh"; done

# Prints "case NUMBER STATUS WORD...", and what the scenario says, with the number behind the first word of each line.
cases() {
    cat <<END
#!/bin/sh
number=0
run() { # library to preload or "", words for the scenario
    library=\$1
    shift
    LD_PRELOAD=\$library ${1:-$scenario} "\$@" >/tmp/out 2>&1
    echo "case \$number \$? \$*"
    sed "s/^[^ ]*/& \$number/" /tmp/out
    number=\$((number + 1))
}
END
    cat
}

cases >"$scratch/mallocs.sh" <<'END'
for file in '' libjemalloc.so.2 libmimalloc.so.2 libtcmalloc_minimal.so.4 libtbbmalloc_proxy.so.2; do
    library= name=glibc
    if [ -n "$file" ]; then
        library=$(find /usr/lib /lib -name "$file" | head -n 1) name=${file#lib} name=${name%%[._]*}
        [ -n "$library" ] || continue
    fi
    for dispatch in inline futex; do
        for share in 0 50 100; do run "$library" "$name%$share" steady-decode $dispatch; done
    done
done
END

# A section of the window for each case. Where no lap is only timed every store is counted by the program, pair by pair. Else its
# books lack some laps, and the prologue, and what each scheduler stored is known by the blocks that it took: 64 lines each.
section_bytes=268435456 # two pools of 64 MiB with their guards
{
    printf '%s\n' "window() { export LOCUS_WINDOW=\$(printf %x \$((0x200000000000 + number * $section_bytes))); }"
    cat <<END
for dispatch in inline futex; do
    for contender in home-steered home-steered%50 home-steered%100 cross-node unsteered%50 home-steered@misplace interleave; do
        window; run "\$PWD/$window" \$contender steady-decode \$dispatch 2 0
    done
    window; run "\$PWD/$window" home-steered%50 churn-touch \$dispatch 1 1
    window; run "\$PWD/$window" unsteered%100 long-tail \$dispatch 1 2 2
done
END
} | cases >"$scratch/stores.sh"

# The sanitizer's shadow does not fit beside a heavily randomised address space.
cases "$threads" >"$scratch/threads.sh" <<'END'
echo 0 >/proc/sys/kernel/randomize_va_space
export TSAN_OPTIONS=halt_on_error=1:exitcode=66
run '' home-borrow%50 steady-decode inline 1
run '' unsteered%50 steady-decode futex 1 1 2
END

boot() { # name, machine, seconds, options of boot.sh
    local name=$1 machine=$2 seconds=$3
    shift 3
    sh testbed/guest/boot.sh --machine "$machine" --timeout "$seconds" "$@" -- "$scratch/$name.sh" >"$scratch/$name" \
        2>"$scratch/$name.err"
    echo $? >"$scratch/$name.status"
}

{
    boot n2 n2 300 --with "$scenario"
    boot stores n2 300 --with "$scenario" --with "$window" \
        --accesses "$build/testbed/guest/plugin,window=200000000000-200200000000,section=$section_bytes,out=$scratch/accesses"
    boot mallocs n2 300 --with "$scenario"
} &
boot n4 n4 300 --with "$scenario"
boot odd odd 300 --with "$scenario"
[ ! -x "$threads" ] || boot threads n2 300 --with "$threads"
wait

# --- what must hold, and mallocs -----------------------------------------------------------------------------------------------

for machine in n2 n4 odd; do
    said=$(tail -n 1 "$scratch/$machine")
    too_large=${said#*, } too_large=${too_large%% *}
    case $machine in odd) most=14 ;; *) most=0 ;; esac # of its nodes one has 64 MiB
    holds "$machine: what must hold on several nodes does: $said" "$(remark $machine)" \
        test "$(cat "$scratch/$machine.status")" = 0 -a "${too_large:-99}" -le $most
done

case_of() { awk -v name="$2" '/^case/ && $4 ~ name "(%|$)"' "$scratch/$1"; }
bad=$(awk '/^case/ && $3 != 0' "$scratch/mallocs" | few)
holds "mallocs: all runs are valid, $(grep -c ^case "$scratch/mallocs") of them" "$(remark mallocs) $bad" \
    test "$(cat "$scratch/mallocs.status")$bad" = 0
for malloc in glibc jemalloc mimalloc tcmalloc tbbmalloc; do
    if [ -z "$(case_of mallocs $malloc)" ]; then
        skip "mallocs: $malloc" "it is not installed (make deps)"
        continue
    fi
    wandered=$(awk -v name=$malloc '/^case/ { is = $4 ~ name "%" } /^wandered/ && is { sum += $3 } END { print sum + 0 }' \
        "$scratch/mallocs")
    case $malloc in
    glibc | mimalloc) holds "mallocs: no block of $malloc wanders" "$wandered" test "$wandered" -eq 0 ;;
    tcmalloc) holds "mallocs: blocks of $malloc wander" "$wandered" test "$wandered" -gt 0 ;;
    esac
done

# --- the two witnesses ---------------------------------------------------------------------------------------------------------

awk '$6 > 0 { print $1, $2, $3, $6 }' "$scratch/accesses" >"$scratch/matrix"
bad=$(awk '/^case/ && $3 != ($4 ~ /misplace/)' "$scratch/stores" | few)
holds "stores: all cases are valid but the misplaced, which are not" "$(remark stores) $bad" \
    test "$(cat "$scratch/stores.status")$bad$(grep -c ^case "$scratch/stores")" = 018
awk '/^case/ && $8 == 0 { print $2 }' "$scratch/stores" | sort >"$scratch/all-counted"
pairs() { sort | join "$scratch/all-counted" -; }
sed -n 's/^touches //p' "$scratch/stores" | pairs >"$scratch/pairs.touches"
pairs <"$scratch/matrix" >"$scratch/pairs.stores"
awk '/^home/ { print $2, $3, $4 * 64 }' "$scratch/stores" | sort >"$scratch/sums.touches"
awk '{ sum[$1 " " $2] += $4 } END { for (key in sum) print key, sum[key] }' "$scratch/matrix" | sort >"$scratch/sums.stores"
for what in pairs sums; do
    diff "$scratch/$what.touches" "$scratch/$what.stores" >"$scratch/difference"
    holds "stores: the plugin's are the program's touches to the unit, $(wc -l <"$scratch/$what.touches") $what" \
        "touches <, stores >: $(few 6 <"$scratch/difference")" test -s "$scratch/$what.touches" -a ! -s "$scratch/difference"
done

# The plugin alone, against what a contender is for: two laps of 2688 blocks.
stores_are() { # words of the case, the plugin's lines
    local section
    section=$(awk -v words="$1" '/^case/ && index($0, words) { print $2 }' "$scratch/stores")
    holds "stores: by the plugin alone $1 is $2" "$(sed -n "s/^$section //p" "$scratch/matrix" | few)" \
        test "$(sed -n "s/^$section //p" "$scratch/matrix" | few)" = "$2"
}
lap=$((2688 * 64))
stores_are 'home-steered%50 steady-decode futex' "0 0 $((2 * lap));1 1 $((2 * lap));"
stores_are 'cross-node steady-decode futex' "0 1 $((2 * lap));1 0 $((2 * lap));"
stores_are 'home-steered@misplace steady-decode futex' "0 1 $((2 * lap));1 0 $((2 * lap));"
section=$(awk '/^case .* unsteered%50 steady-decode futex/ { print $2 }' "$scratch/stores")
holds "stores: by the plugin alone unsteered%50 is local and remote" "$(few <"$scratch/matrix")" \
    test "$(grep -c "^$section " "$scratch/matrix")" = 4

# --- threads -------------------------------------------------------------------------------------------------------------------

if [ ! -e "$scratch/threads" ]; then
    skip threads "there is no $threads (make CC=clang SAN=thread tests)"
else
    bad=$(grep -A 6 '^case [0-9]* [^0]' "$scratch/threads" | few 8)
    holds "threads: two runs under ThreadSanitizer" "$(remark threads) $bad" \
        test "$(cat "$scratch/threads.status")$(grep -c '^case [0-9]* 0 ' "$scratch/threads")" = 02
fi
done_testing
