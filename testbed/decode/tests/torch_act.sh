#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The act torch-cat in the shape of GPT-2, from outside: PyTorch takes measured steps, and its gate finds a wrong result. Most cases
# need python3-torch.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/../../tests/cases.bash"

cell=batch-1x32x8/decode/GPT-2
steps() { locus "$1" eval "$cell${type-}/inline" --rounds 2 --json -c "$2"; }

# Programs that are started in the place of Python.
instead() { printf '#!/bin/bash\n%s\n' "$2" >"$scratch/$1" && chmod +x "$scratch/$1" && export LOCUS_PYTHON="$scratch/$1"; }

instead without 'exit 77'
check 'without PyTorch the others are measured' steps 1 locus,locus@cat,locus@torch-cat
says 'its arm is not' '[.cells[0].arms[] | select(.valid | not).name] == ["locus@torch-cat"]'
says 'and the package is named' '.cells[0].arms[] | select(.valid | not).invalid | test("install python3-torch")'
unset LOCUS_PYTHON

python=python3
$python -c 'import torch' 2>/dev/null || python=/usr/bin/python3 # as the act looks for it
if ! $python -c 'import torch' 2>/dev/null; then
    skip 'measured steps in PyTorch' 'python3-torch is not installed'
    done_testing
    exit
fi

for type in '' /f32 /f16; do
    check "steps${type:-/bf16} in PyTorch are measured beside ours" steps 0 locus,locus@cat,locus@torch-cat,locus@torch-echo
    says 'all gates passed' '[.cells[0].arms[].valid] == [true, true, true, true]'
    says 'an echo is a part of the step' \
        '[.cells[0].arms[] | {(.name): .min_ns}] | add | ."locus@torch-echo" < ."locus@torch-cat"'
done
unset type

# The program is the third argument. In it a word is replaced by a fault.
broken() { instead broken "$(printf 'from=%q to=%q' "$1" "$2"); exec $python "'"$1" "$2" "${3/"$from"/"$to"}" "${@:4}"'; }
notices() {
    broken "$2" "$3"
    check "$1: noticed" steps 1 locus,locus@torch-cat
    says "$1: said" ".cells[0].arms[] | select(.name == \"locus@torch-cat\").invalid | test(\"$4\")"
}
broken 'math.sqrt' 'math.sqrt'
check 'a program in between changes nothing by itself' steps 0 locus,locus@torch-cat
notices 'scores of another size' '/ math.sqrt(query.shape[-1])' '' 'was not close to that of contiguous memory'
notices 'values in another order' '[self.values[layer], value]' '[value, self.values[layer]]' 'was not close to that of contiguous'
notices 'a token that was not read' 'rows += keys.shape[-2]' 'rows += keys.shape[-2] - 1' 'bytes of K and V, not'
notices 'an error in a step' 'self.words[0], 0' '1 // 0, 0' 'PyTorch ZeroDivisionError'
notices 'the end in a step' 'self.words[0], 0' 'os._exit(3), 0' 'PyTorch ended in the middle of a step'
done_testing
