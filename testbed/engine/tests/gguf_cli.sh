#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus-gguf from outside: what it prints, what it refuses, and what it leaves when it cannot go on. BUILD names the folder that
# it is in.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/../../tests/cases.bash"
gguf=${BUILD:-$(dirname "$LOCUS")}/locus-gguf
LOCUS=$gguf LOCUS_ASAN=${LOCUS_ASAN:+$(dirname "$LOCUS_ASAN")/locus-gguf}
cd "$scratch" || exit 1

check 'the help fits and names every shape' page "$gguf" --help
for shape in Llama-3.2-1B Llama-3-8B Llama-3-70B Qwen2.5-0.5B Qwen2.5-7B GPT-2 tiny; do
    holds "the help has $shape" 'it is not there' grep -q -- "$shape" "$out"
done
holds 'it is called by its own name' 'it is not' grep -q '^Usage: locus-gguf ' "$out"

result() { # arguments...: one line on stdout, nothing on stderr, and what the line says of the file is so
    locus 0 -o model.gguf "$@" && why="it says: $(cat "$out" "$err")" && [ ! -s "$err" ] && [ "$(wc -l <"$out")" -eq 1 ] &&
        read -r called bytes _ parameters _ _ sum <"$out" && [ "$called" = model.gguf: ] &&
        [ "$bytes" = "$(stat -c %s model.gguf)" ] && [ "$sum" = "$(sha256sum <model.gguf | cut -d ' ' -f 1)" ]
}
check 'the line in a pipe is of the file' result
holds 'the smallest has 5 MB' "$bytes" test "$bytes" -gt 5000000 -a "$bytes" -lt 6000000
first=$sum
check 'another seed is another file' result --seed 2
holds 'of other bytes' "$sum" test "$sum" != "$first"
check 'the first seed again replaces it' result --seed 1
holds 'by the same bytes' "$sum" test "$sum" = "$first"
slice() { (ulimit -v 80000 && result --shape Qwen2.5-0.5B --layers 4 && [ "$bytes" -gt 100000000 ]); }
check 'a file larger than its memory is written' slice

refuses 'no file' 2 'which file?'
refuses 'an unknown shape' 2 "'Llama-9': is no shape: Llama-3.2-1B" -o x --shape Llama-9
refuses 'a width that does not divide' 2 '250 is not divisible by 8 heads' -o x --width 250
refuses 'KV heads that do not divide' 2 '--kv-heads' -o x --kv-heads 3
refuses 'no layers' 2 "--layers: '0' is not a number" -o x --layers 0
refuses 'words' 2 "--ffn: 'many' is not a number" -o x --ffn many
refuses 'a misspelt option' 2 "did you mean '--heads'" -o x --haeds 8
refuses 'an argument' 2 "unexpected argument 'y'" -o x y
refuses 'a folder that is missing' 1 'there is no such folder' -o none/x
refuses 'a device' 1 'it is no regular file' -o /dev/null
refuses 'a folder' 1 'Is a directory' -o .
holds 'nothing is left of these' "$(ls)" test ! -e x

full() { # a disk that holds the smallest once
    unshare -rm sh -c 'mount -t tmpfs -o size=8m full "$1" && cd "$1" && "$2" -o old.gguf >/dev/null || exit 77
        before=$(sha256sum old.gguf) && ! "$2" -o old.gguf --seed 2 2>../said && [ "$(sha256sum old.gguf)" = "$before" ] &&
        [ "$(ls)" = old.gguf ]' full "$scratch/disk" "$gguf"
    status=$?
    why="exit $status: $(cat said 2>/dev/null)"
    [ $status -eq 0 ] && grep -q '^locus: old.gguf: No space left' said
}
mkdir disk
if unshare -rm true 2>/dev/null; then check 'a full disk keeps the older file' full; else skip 'a full disk' 'needs unshare -rm'; fi

stopped() {
    mkdir stopped && timeout -s INT 0.1 "$gguf" -o stopped/x.gguf --shape Qwen2.5-0.5B >"$out" 2>"$err"
    why="$(ls stopped) $(cat "$out" "$err")"
    [ ! -s "$out" ] && [ -z "$(ls stopped)" ]
}
check 'an interrupt leaves no half file' stopped

done_testing
