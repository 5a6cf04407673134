#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# fetch.sh without a network: what it says where something is missing, and that it takes no package but the pinned ones. With the
# engine, that damage is noticed.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/../../tests/cases.bash"
cd "$(dirname "$0")/../../.." || exit 1
fetch=testbed/engine/fetch.sh
unset ARCH ENGINE_TARBALLS

# fetched STATUS WORD FOLDER VARIABLE=VALUE...: one line on stderr with the word; with status 0, silence
fetched() {
    local wanted=$1 word=$2 folder=$3 status
    shift 3
    env "$@" sh $fetch "$folder" >"$out" 2>"$err" </dev/null
    status=$?
    why="exit $status, not $wanted: $(cat "$out" "$err")"
    [ $status -eq "$wanted" ] && [ ! -s "$out" ] && { [ -n "$word" ] || [ ! -s "$err" ]; } &&
        { [ -z "$word" ] || { [ "$(wc -l <"$err")" -eq 1 ] && grep -q "^locus: engine: .*$word" "$err"; }; }
}
nothing() { fetched "$@" && why='it leaves a folder' && [ ! -e "$none" ] && [ ! -e "$none.part" ]; }
none=$scratch/none

mkdir "$scratch/bare" "$scratch/cut" "$scratch/packages"
for tool in sh awk basename cat dirname flock git head mkdir openssl rm sed tail tar uname; do
    ln -s "$(command -v $tool)" "$scratch/bare/$tool" || exit 1
done
check 'without npm the remedy is named, and both files' nothing 77 \
    'apt-get install npm, or .*node-llama-cpp-linux-.*tgz and node-llama-cpp-.*tgz, then run: sh ' "$none" PATH="$scratch/bare"
if npm=$(command -v npm) && unshare -rn true 2>/dev/null; then
    printf '#!/bin/sh\nexec unshare -rn %q "$@"\n' "$npm" >"$scratch/cut/npm" && chmod +x "$scratch/cut/npm"
    check "without a network it has npm's reason" nothing 77 'npm cannot fetch @node-llama-cpp/.* (E[A-Z_]*): see' "$none" \
        PATH="$scratch/cut:$PATH"
else
    skip 'without a network' 'needs npm and unshare -rn'
fi
check 'another architecture is told so' nothing 77 'no such package for mips' "$none" ARCH=mips
check 'a folder without the packages is told so' nothing 77 'ENGINE_TARBALLS lacks a file' "$none" \
    ENGINE_TARBALLS="$scratch/packages"
for arch in x64 arm64; do
    for name in "linux-$arch-" ''; do echo x >"$scratch/packages/node-llama-cpp-${name}3.22.1.tgz"; done
    sum=$(openssl dgst -sha512 -binary "$scratch/packages/node-llama-cpp-3.22.1.tgz" | base64 -w 0)
    check "another file by that name is refused ($arch)" nothing 1 \
        "linux-$arch-3.22.1.tgz is not the package that was pinned: its sha512 is $sum, not [^ ]*==\$" "$none" ARCH=$arch \
        ENGINE_TARBALLS="$scratch/packages"
done
mkdir "$scratch/mine" && echo mine >"$scratch/mine/file"
check 'a folder of something else is refused' fetched 2 'has other contents' "$scratch/mine"
holds 'and left as it is' "$(ls "$scratch/mine")" test -s "$scratch/mine/file"

# --- with the engine -----------------------------------------------------------------------------------------------------------

needs_guest 'damage is noticed' ../engine/fetch.sh
engine=build/engine copy=$scratch/engine
[ "$(uname -m)" != aarch64 ] || engine=$engine-arm64
cp -a $engine "$copy"
same() { fetched 0 '' "$copy" ENGINE_TARBALLS="$scratch/packages"; } # those would be refused
noticed() { # command...: after it, the wrong packages are looked at
    rm -rf "$copy" && cp -a $engine "$copy" && (cd "$copy" && "$@") &&
        fetched 1 'is not the package' "$copy" ENGINE_TARBALLS="$scratch/packages"
}
check 'what is complete is left alone, in silence' same
check 'a library that is cut is noticed' noticed truncate -s 100000 lib/libggml-base.so
check 'a header that is gone is noticed' noticed rm include/llama.h
check 'a link that is gone is noticed' noticed rm lib/libllama.so
check 'another version is noticed' noticed sed -i 's/^packages .*/packages 3.0.0 x64/' VERSION

done_testing
