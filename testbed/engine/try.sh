#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# try.sh: real llama.cpp decodes 64 tokens, as it comes and with a device for each node, and both have the same results. `make
# engine` fetches, builds and calls it. BUILD is the folder with the programs; the model is made in build/engine.
set -eu
build=${BUILD:-build/gcc} folder=build/engine/try
mkdir -p "$folder"
model=$folder/tiny.gguf
[ -s "$model" ] || "$build/locus-gguf" --quiet -o "$model" >/dev/null

# A machine with one node is divided into two devices, to see all of it work.
nodes=$(ls -d /sys/devices/system/node/node[0-9]* 2>/dev/null | wc -l)
devices=LOCUS0,LOCUS1 divided=
[ "$nodes" -gt 1 ] || divided=0,0

decode() { # words for locus-llama: its answer goes to $folder/answer
    "$build/locus-llama" --quiet --model "$model" --steps 64 "$@" >"$folder/answer"
}

say() { # name
    sed -n 's/.*"step ns": \[\(.*\)\].*/\1/p' "$folder/answer" | tr -d ' ' | tr ',' '\n' | sort -n | awk -v name="$1" '
        { ns[NR] = $1 }
        END { printf "%-34s %4d tokens, median %.2f ms a token", name, NR, ns[int((NR + 1) / 2)] / 1e6 }'
    sed -n 's/.*"largest difference": \([^,]*\).*/, logits within \1 of stock/p' "$folder/answer" | tr -d '\n'
    sed -n '/"regions decoded"/,$s/.*"class": "kv", "node": \([0-9]*\),.*"resident": \([0-9]*\),.*/\1 \2/p' "$folder/answer" | awk '
        { kv = kv (kv == "" ? "" : ", ") $2 " on node " $1 }
        END { print (kv == "" ? "" : "; pages of KV: " kv) }'
}

version=$(sed -n 's/^llama.cpp //p' build/engine/VERSION 2>/dev/null)
echo "llama.cpp $version, 4 layers of 256, $nodes node(s)${divided:+, divided into two devices}"
decode --logits "$folder/stock.logits"
say "stock"
export GGML_BACKEND_PATH="$build/libggml-locus.so" ${divided:+LOCUS_NODES=$divided}
decode --devices $devices --split layer --against "$folder/stock.logits"
say "a device for each node, by layer"
decode --devices $devices --split tensor --against "$folder/stock.logits"
say "a device for each node, by tensor"
rm -f "$folder/stock.logits" "$folder/answer"
echo "next: placement/ggml/README.md says how an engine of yours loads build/.../libggml-locus.so"
