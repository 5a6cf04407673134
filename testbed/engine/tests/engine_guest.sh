#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# Real llama.cpp on emulated machines of several nodes: where are the KV cache's bytes read and written, by which node? Counted by
# the emulator's plugin, and compared with what the model's shape says to the byte:
#
#   reads = query heads a KV head x sum of the cells that each step attends over x layers x bytes a cell
#   writes = steps x layers x bytes a cell
#
# The stock engine reads half of it on the other node, wherever its cache is; our devices read nothing there. What crosses between
# them is the sum, two vectors an exchange, and what the engine itself copies in and out of a step.
# LOCUS=path/to/locus BUILD=path/of/the/build.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/../../tests/cases.bash"
cd "$(dirname "$0")/../../.." || exit 1
needs_guest 'the engine on emulated nodes' ../engine/fetch.sh
needs_guest 'the engine on emulated nodes'
command -v numactl >/dev/null || { skip 'the engine on emulated nodes' 'apt-get install numactl'; done_testing; exit; }
build=${BUILD#"$PWD"/}
plugin=$build/testbed/guest/plugin
. testbed/engine/tests/emulated.bash
"$build/locus-gguf" --quiet -o "$model" >/dev/null || { fail 'a model' 'locus-gguf failed'; exit 1; }

# --- what was counted ----------------------------------------------------------------------------------------------------------

group=2 cell=512 vocabulary=512 # of the model tiny: query heads a KV head, bytes of a cell in a layer, tokens
# sum WINDOW read|written local|remote|all, of arm $arm: bytes.
sum() {
    awk -v window=$((arm * 10 + $1)) -v what="$2" -v where="$3" '
        $1 == window && (where == "all" || (where == "local") == ($2 == $3)) { bytes += what == "read" ? $5 : $7 }
        END { printf "%d\n", bytes }' "$scratch/counted"
}
kv=0 scratch_memory=2
reads=$((group * steps * (steps + 1) / 2 * layers * cell)) writes=$((steps * layers * cell))
exact() { # name: of arm $arm
    holds "$1 reads $reads bytes of KV, and writes $writes" "$(sum $kv read all) and $(sum $kv written all)" \
        test "$(sum $kv read all)/$(sum $kv written all)" = "$reads/$writes"
}
half() { holds "$1: half of the reads are remote" "$(sum $kv read remote)" test "$(sum $kv read remote)" = $((reads / 2)); }
local_only() {
    holds "$1: no read and no write is remote" "$(sum $kv read remote) and $(sum $kv written remote)" \
        test "$(sum $kv read remote)/$(sum $kv written remote)" = 0/0
}
# What crosses in scratch memory, less the sum: the inputs and results of each step, the same for all.
only_sums() { # name, nodes
    local crossed=$(($(sum $scratch_memory read remote) + $(sum $scratch_memory written remote)))
    local said rest
    said=$(member 'crossed bytes')
    rest=$((crossed - said))
    holds "$1: the sums cross, vector x layers x 2 x exchanges" "$said" \
        test "$said" = $((2 * ($2 - 1) * vector * layers * 2 * steps))
    holds "$1: besides, only a step's inputs and results" "$rest bytes in $steps steps" \
        test $rest -ge 0 -a $rest -le $((steps * $2 * (vector + 4 * vocabulary + 1024)))
}

# --- two nodes: every arm ------------------------------------------------------------------------------------------------------

arms=(stock:1 stock:2:distribute numactl:2:--interleave=all kv:2:bind:0 kv:2:bind:1 kv:2:interleave: kv:2:first-touch: even:
    tensor: generic: layer:1)
boot n2 "${arms[@]}"
for arm in $(seq ${#arms[@]}); do exact "n2, ${arms[arm - 1]}"; done
for arm in 2 4 5 6 7; do
    half "n2, ${arms[arm - 1]}"
    same_logits "n2, ${arms[arm - 1]}" 0
done
for arm in 8 9 10 11; do local_only "n2, ${arms[arm - 1]}"; done
for arm in 8 11; do same_logits "n2, ${arms[arm - 1]}" 0; done
for arm in 9 10; do same_logits "n2, ${arms[arm - 1]}" 0.01; done
for arm in 8 9; do
    holds "n2, ${arms[arm - 1]}: KV pages are even" "$(pages 0) and $(pages 1)" \
        test "$(pages 0)" -gt 0 -a "$(pages 0)" = "$(pages 1)"
    holds "n2, ${arms[arm - 1]}: reads are even" "$(sum $kv read local)" \
        test "$(awk -v w=$((arm * 10)) '$1 == w { print $5 }' "$scratch/counted" | sort -u | wc -l)" = 1
done
arm=5
check 'n2, the preloaded cache bound to node 1 is there alone' test "$(pages 0)" = 0 -a "$(pages 1)" -gt 0
arm=9
only_sums 'n2, tensor' 2
arm=11
check 'n2, one device on node 1: its cache is there alone' test "$(pages 0)" = 0 -a "$(pages 1)" -gt 0

# --- four nodes, memory without CPUs, a node of 64 MiB -------------------------------------------------------------------------

arms=(stock:4:distribute layer: tensor: generic: tensor:3,1)
boot n4 "${arms[@]}"
for arm in $(seq ${#arms[@]}); do exact "n4, ${arms[arm - 1]}"; done
arm=1
holds 'n4, stock: three quarters of the reads are remote' "$(sum $kv read remote) of $reads" \
    test $(($(sum $kv read remote) * 10 / reads)) = 7
for arm in 2 3 4 5; do
    local_only "n4, ${arms[arm - 1]}"
    same_logits "n4, ${arms[arm - 1]}" 0.01
done
arm=3
only_sums 'n4, tensor' 4

arms=(stock:2:distribute tensor: kv:2:bind:2 layer:2)
boot cxl "${arms[@]}"
for arm in 1 2 3; do exact "cxl, ${arms[arm - 1]}"; done
arm=2
local_only 'cxl, tensor'
arm=3
holds 'cxl, a cache on memory without CPUs: all reads are remote' "$(sum $kv read local) local" test "$(sum $kv read local)" = 0
says() { grep -q "$1" "$scratch/said"; }
check 'cxl: no device for a node without CPUs, in words' says 'node 2: that node has no CPUs, so nothing can compute there'

arms=(even: tensor:0 layer:)
context=65536 # 64 MiB of KV for each of two devices
boot odd "${arms[@]}"
check 'odd: a node of 64 MiB is refused beforehand, in words' says 'LOCUS1: node 1 has room for'
arm=3
check 'odd: by free memory the engine gives it nothing' test "$(pages 1)" = 0 -a "$(pages 0)" -gt 0
check 'odd: and nothing was killed' test "$(grep -cE '^arm [0-9]+ [^ ]* (137|139)$' "$scratch/said")" = 0
arm=2
exact 'odd, tensor:0'
local_only 'odd, tensor:0'

# --- a node that leaves --------------------------------------------------------------------------------------------------------

BUILD=$build sh testbed/engine/guest.sh --machine hot --no-record --timeout 400 --with "$model" -- \
    testbed/engine/tests/guest/leaves.sh tiny.gguf >"$scratch/said" 2>"$err"
status=$?
holds 'hot: the node of a preloaded cache leaves while tokens are decoded' \
    "exit $status: $(tail -n 2 "$err" "$scratch/said" | paste -sd ' ')" test $status -eq 0
arm=2
holds 'hot: its pages are elsewhere' "$(pages 2) on node 2" test "$(pages 2)" = 0 -a $(($(pages 0) + $(pages 1))) -gt 0
same_logits 'hot' 0

# --- in one command ------------------------------------------------------------------------------------------------------------

"$LOCUS" guest --machine n2 engine --contenders stock,tensor --rounds 1 >"$out" 2>"$err"
why="exit $?: $(tail -n 2 "$out" "$err" | paste -sd ' ')"
check 'locus guest engine counts what is remote, and says it' \
    grep -qE '^tensor reads 0 % of its KV cache on other nodes, stock (4[5-9]|5[0-5]) %' "$out"
"$LOCUS" guest --machine n2 engine --contenders stock,numactl-each,numactl-membind --rounds 1 --json >"$out" 2>"$err"
why="exit $?: $(tail -n 2 "$err" | paste -sd ' ') $(jq -c '.arms' "$out")"
check 'a process for each node reads none of its cache on the other' \
    jq -e '[.arms[] | select(.arm == "numactl-each") | .kv_remote_ratio] == [0]' "$out"
check 'and has twice the cache of one' jq -e '[.arms[] | {(.arm): .kv_bytes}] | add |
    ."numactl-each" == 2 * ."numactl-membind" and ."numactl-membind" > 0' "$out"

done_testing
