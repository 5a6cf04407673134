# SPDX-License-Identifier: Apache-2.0
#
# emulated.bash: ways to run the engine on emulated machines of several nodes, and what locus-llama said of each. Scripts source it
# after cases.bash, at the top of the project. They set $build, the folder of the build, and $plugin, that of the emulator's plugin
# ('': accesses are not counted); they make the model tiny.gguf at $model. $arm is the place in the list of the way that is asked
# about.

model=$scratch/tiny.gguf
steps=12 layers=4 vector=1024 # the model is locus-gguf's, tiny

boot() { # machine, arms...: $scratch/said, $scratch/counted
    rm -f "$scratch/said" "$scratch/counted"
    BUILD=$build sh testbed/engine/guest.sh --machine "$1" --no-record --timeout 400 \
        ${plugin:+--accesses "$plugin,out=$scratch/counted"} --with "$model" -- testbed/engine/tests/guest/arms.sh \
        tiny.gguf $steps ${context:-1024} "${@:2}" >"$scratch/said" 2>"$err"
    status=$?
    holds "$1 boots, and runs $(($# - 1)) arms" "exit $status: $(tail -n 2 "$err" | paste -sd ' ')" test $status -eq 0
}

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

same_logits() { # name, most
    holds "$1: logits within $2 of stock's" "$(member 'largest difference')" \
        awk -v is="$(member 'largest difference')" -v most="$2" 'BEGIN { exit !(is != "" && is + 0 <= most) }'
}
