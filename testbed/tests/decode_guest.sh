#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# Attention on machines of several nodes: do both witnesses count the same bytes of K and V, read and written, for each pair of
# nodes, the program's books (by spans and the kernel's word on pages) and the emulator's plugin (by instructions)? And are these
# what the schedule says, positions x layers x bytes: all local for home-steered, none for cross-node, half for interleave? A page
# that is not where its handle says and a kernel that reads one head too many must be noticed. And does a CPU that lacks a kernel's
# instructions take the next kernel, say so, and pass the unit tests with it?
# BUILD=folder of the build.
set -u
: "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1

needs_guest decode

scenario=$BUILD/testbed/contenders/tests/decode_nodes_scenario
few() { tr '\n' ';' | head -c 300; }

for machine in n2 n4; do
    sh testbed/guest/boot.sh --machine $machine --no-record --timeout 300 \
        --accesses "$BUILD/testbed/guest/plugin,out=$scratch/counted" -- "$scenario" >"$scratch/said" 2>"$scratch/err"
    status=$?
    holds "$machine: every case runs" "exit $status: $(tail -n 3 "$scratch/err" | few)" test $status -eq 0
    kernel=$(sed -n 's/^kernel //p' "$scratch/said")

    bad=$(awk '/^case/ && ($6 == "valid") != ($3 !~ /@/)' "$scratch/said")
    holds "$machine: all are valid but those with a fault ($kernel)" "$(echo "$bad" | few)" test -z "$bad"
    for what in read written; do
        sed -n "s/^$what //p" "$scratch/said" | sort >"$scratch/books"
        awk -v column=$([ $what = read ] && echo 5 || echo 7) \
            '{ sum[int($1 / 16) " " $2 " " $3] += $column } END { for (key in sum) if (sum[key]) print key, sum[key] }' \
            "$scratch/counted" | sort >"$scratch/plugin"
        grep -v '^13 ' "$scratch/books" >"$scratch/books.good"
        grep -v '^13 ' "$scratch/plugin" >"$scratch/plugin.good"
        diff "$scratch/books.good" "$scratch/plugin.good" >"$scratch/difference"
        pairs=$(wc -l <"$scratch/books.good")
        holds "$machine: $what: the plugin's bytes are the books', $pairs pairs" \
            "books <, plugin >: $(few <"$scratch/difference")" test -s "$scratch/books.good" -a ! -s "$scratch/difference"
        bad=$(awk -v column=$([ $what = read ] && echo 3 || echo 4) \
            'NR == FNR { sum[$1] += $4; next }
             /^expected/ && $2 != 13 && sum[$2] != $column { print $2, sum[$2], "not", $column }' \
            "$scratch/plugin" "$scratch/said")
        holds "$machine: $what: by the plugin alone it is positions x layers x bytes" "$(echo "$bad" | few)" test -z "$bad"
        cp "$scratch/plugin" "$scratch/plugin.$what"
    done
    # Of the kernel that reads too much only the plugin knows what it read.
    more=$(awk 'NR == FNR { if ($1 == 13) sum += $4; next } /^expected 13/ { print sum - $3 }' \
        "$scratch/plugin.read" "$scratch/said")
    holds "$machine: a head that is read twice is seen by the plugin, too" "$more bytes more" test "${more:-0}" -gt 0

    share() { # case: percent of bytes that are local, by the plugin
        awk -v number="$1" '$1 == number { all += $4; if ($2 == $3) local += $4 } END { printf "%d", 100 * local / all }' \
            "$scratch/plugin.read"
    }
    all=$(share 1)$(share 2)$(share 3)$(share 4)$(share 5)
    holds "$machine: home-steered reads are all local, whatever the layout" "$all" test "$all" = 100100100100100
    holds "$machine: cross-node reads are all remote, and so are misplaced ones" "$(share 6) $(share 7) $(share 12)" \
        test "$(share 6)$(share 7)$(share 12)" = 000
    part=$((100 / ${machine#n}))
    off=$(($(share 8) - part))
    holds "$machine: interleave reads every node alike" "$(share 8) % local" test ${off#-} -le 5
    holds "$machine: one-node is local for one of them" "$(share 9) % local" test "$(share 9)" -eq $part
done

# --- other CPUs ------------------------------------------------------------------------------------------------------------------

# In guests, because Criterion starts each test by exec, and a program that QEMU emulates alone leaves it by that. The test of every
# length takes minutes here.
unit=$BUILD/testbed/decode/tests/unit
for cpu in Haswell Westmere; do
    [ $cpu = Haswell ] && kernel=avx2 || kernel=scalar
    sh testbed/guest/boot.sh --machine n2 --no-record --timeout 300 --qemu "-cpu $cpu" -- \
        "$scenario" >"$scratch/said" 2>"$scratch/err"
    status=$?
    holds "$cpu: every case runs" "exit $status: $(tail -n 3 "$scratch/err" | few)" test $status -eq 0
    said=$(sed -n 's/^kernel //p' "$scratch/said")
    holds "$cpu: the kernel is $kernel" "it is '$said'" test "$said" = $kernel
    bad=$(awk '/^case/ && ($6 == "valid") != ($3 !~ /@/)' "$scratch/said")
    holds "$cpu: all are valid but those with a fault" "$(echo "$bad" | few)" test -z "$bad"
    sh testbed/guest/boot.sh --machine n2 --no-record --timeout 600 --qemu "-cpu $cpu" -- "$unit" -j2 --timeout 500 --tap=- \
        --filter '!(*every_length*)' >"$scratch/said" 2>"$scratch/err"
    status=$?
    cases=$(grep -c '^ok .*s)$' "$scratch/said")
    bad=$(grep '^not ok' "$scratch/said" | few)
    holds "$cpu: the unit tests pass, $cases" "exit $status: $bad$(tail -n 3 "$scratch/err" | few)" \
        test $status -eq 0 -a "$cases" -gt 15
done

# A CPU that has all but one of avx2's three. The cases of the program fail there, for want of nodes.
needs_guest decode-cpus fetch-user.sh
for cpu in Haswell Haswell,-avx2 Haswell,-fma Haswell,-f16c; do
    [ $cpu = Haswell ] && kernel=avx2 || kernel=scalar
    said=$(build/guest-user/qemu-user -cpu $cpu "$scenario" 2>"$scratch/err" | sed -n 's/^kernel //p')
    holds "$cpu: the kernel is $kernel" "it is '$said': $(tail -n 1 "$scratch/err")" test "$said" = $kernel
done
done_testing
