#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# copies/torch_cat.py: what it measures is what it says, and without PyTorch it says so. Most cases need python3-torch.
set -u
. "$(dirname "$0")/../../tests/cases.bash"
folder=$(realpath "$(dirname "$0")/../copies")
python=python3
$python -c 'import torch' 2>/dev/null || python=/usr/bin/python3 # one before Debian's in PATH may lack Debian's packages

steps() { "$python" -B "$folder/torch_cat.py" --layers 2 --heads 3 --size 16 --steps 20 "$@" >"$out" 2>"$err"; }

# A torch that cannot be imported, in front of one that may be there.
mkdir "$scratch/without" && echo 'raise ImportError' >"$scratch/without/torch.py"
PYTHONPATH=$scratch/without python3 -B "$folder/torch_cat.py" >"$out" 2>"$err"
holds 'without PyTorch the status is 77' "status $?" [ $? -eq 77 ]
holds 'and one line says why' "$(cat "$err")" [ "$(wc -l <"$err")" -eq 1 ]

if ! "$python" -c 'import torch' 2>/dev/null; then
    skip 'decode steps in PyTorch' 'python3-torch is not installed'
    done_testing
    exit
fi

for type in f32 bf16; do
    check "three rounds of $type" steps --type $type --tokens 5 --rounds 3
    says 'each is a line' '[inputs] | length == 2' # jq's input is the first
    says 'K has grown by a token a step' '.tokens == 25 and .steps == 20 and .layers == 2'
    says 'it names type and threads' ".type == \"$type\" and .threads == 1"
    says 'a P99 is not below its P50' '[.step_ns, .cat_ns, .attend_ns] | all(.p99 >= .p50 and .p50 > 0)'
    says 'cats and attention are parts of a step' '.cat_ns.p50 < .step_ns.p50 and .attend_ns.p50 < .step_ns.p50'
done
printf '\n\n' >"$scratch/lines"
check 'a round for each line of stdin' steps --wait --clock thread <"$scratch/lines"
holds 'and no more' "$(cat "$out")" [ "$(wc -l <"$out")" -eq 2 ]
says 'the clock is the one asked for' '.clock == "thread"'

PYTHONPATH=$folder check 'attention is softmax(q k / sqrt(size)) v of all that was appended' "$python" -B -c '
import math, torch, torch_cat
cache = torch_cat.Cache(1, (1, 2, 3, 16), torch.float32)
first = cache.keys[0].clone(), cache.values[0].clone()
query, key, value = (torch.randn(1, 2, 1, 16) for _ in range(3))
keys, values = cache.update(0, key, value)
assert torch.equal(keys[..., :3, :], first[0]) and torch.equal(values[..., :3, :], first[1])
assert torch.equal(keys[..., 3:, :], key) and torch.equal(values[..., 3:, :], value)
weights = (torch.einsum("bhqd,bhkd->bhqk", query, keys) / math.sqrt(16)).exp()
expected = torch.einsum("bhqk,bhkd->bhqd", weights / weights.sum(-1, keepdim=True), values)
assert torch.allclose(torch_cat.attend(query, keys, values), expected, atol=1e-5)
assert torch_cat.quantile(list(range(100, 0, -1)), 0.99) == 99 and torch_cat.quantile([3, 1, 2, 4], 0.5) == 2'
done_testing
