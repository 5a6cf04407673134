# SPDX-License-Identifier: Apache-2.0
#
# counted.bash: what the engine reads and writes on emulated machines of several nodes. Scripts source it after cases.bash, at the
# top of the project. They set $build, the folder of the build; $plugin, the folder of the emulator's plugin ('': accesses are not
# counted); and taken=(), more options of boot.sh. They make the model tiny.gguf at $model.

model=$scratch/tiny.gguf
steps=12 layers=4 group=2 cell=512 vector=1024 vocabulary=512 # what locus-gguf's tiny model is

boot() { # machine, arms...: $scratch/said, $scratch/counted
    rm -f "$scratch/said" "$scratch/counted"
    BUILD=$build sh testbed/engine/guest.sh --machine "$1" --timeout 400 \
        ${plugin:+--accesses "$plugin,out=$scratch/counted"} --with "$model" "${taken[@]}" -- testbed/engine/tests/guest/arms.sh \
        tiny.gguf $steps ${context:-1024} "${@:2}" >"$scratch/said" 2>"$err"
    status=$?
    holds "$1 boots, and runs $(($# - 1)) arms" "exit $status: $(tail -n 2 "$err" | paste -sd ' ')" test $status -eq 0
}

# sum WINDOW read|written local|remote|all, of arm $arm: bytes.
sum() {
    awk -v window=$((arm * 10 + $1)) -v what="$2" -v where="$3" '
        $1 == window && (where == "all" || (where == "local") == ($2 == $3)) { bytes += what == "read" ? $5 : $7 }
        END { printf "%d\n", bytes }' "$scratch/counted"
}
kv=0 scratch_memory=2
member() { # name: a number that locus-llama said of arm $arm
    awk -v arm=$arm -v name="$1" '
        $1 == "arm" { on = $2 == arm }
        on && match($0, "\"" name "\": [-0-9.e]*") { print substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4); exit }
    ' "$scratch/said"
}
pages() { # node: of arm $arm's KV cache after decoding
    awk -v arm=$arm -v node="$1" '
        $1 == "arm" { on = $2 == arm; late = 0 }
        /regions decoded/ { late = 1 }
        on && late && /"class": "kv"/ { sub(/.*"on": \[/, ""); split($0, count, /[],]+ */); pages += count[node + 1] }
        END { print pages + 0 }' "$scratch/said"
}

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
same_logits() { # name, most
    holds "$1: logits within $2 of stock's" "$(member 'largest difference')" \
        awk -v is="$(member 'largest difference')" -v most="$2" 'BEGIN { exit !(is != "" && is + 0 <= most) }'
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
