#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all alone
#
# The same libggml-locus.so in other versions of llama.cpp: it serves ggml's plug-in interface 2 in its later form, and 3, and is
# refused, in a line, where the form is another one; the engine then goes on without it. First in processes that have no more of
# ggml than its form (engine_host.c), then in five versions of npm's packages, which it fetches: 3.18.0 has the older form of 2.
# Interface 3 as built from its sources: `make engine-upstream`.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/../../tests/cases.bash"
cd "$(dirname "$0")/../../.." || exit 1
. testbed/engine/tests/engine.bash
needs_backend 'other versions of llama.cpp'
unset GGML_BACKEND_PATH "${!LOCUS_@}"
export LOCUS_THREADS=1 GGML_NO_BACKTRACE=1 backend=$build/libggml-locus.so

# --- forms ---------------------------------------------------------------------------------------------------------------------

# host STATUS PATTERN FLAG...: a process of that form ends so, with one line on stderr
host() {
    local status
    ${CC:-gcc} $strict -rdynamic "${@:3}" -o "$scratch/host" testbed/engine/tests/engine_host.c -ldl || return 1
    LOCUS_NODES=0,0 "$scratch/host" "$backend" >"$out" 2>"$err"
    status=$?
    why="exit $status: $(head -n 3 "$err" | cut -c 1-300)"
    [ $status -eq "$1" ] && [ "$(wc -l <"$err")" -eq 1 ] && grep -Eq "$2" "$err"
}
needed='this file serves 2 in its later form \(ggml 0\.17 to 0\.25\) and 3 \(from 0\.26\)'
older="^locus: this engine's ggml is 0\\.99\\.9, with plug-in interface %d in an older form; $needed: take a newer engine"
other="^locus: this engine's ggml is 0\\.99\\.9, with plug-in interface %d%s; $needed: take a libggml-locus.so that was made for"
check 'interface 2 is served' host 0 '^served$' -DNUMBER=2 -DROWS
check 'interface 3 is served' host 0 '^served$' -DNUMBER=3 -DROWS -DLISTS
check 'interface 2 is told by its functions' host 0 '^served$' -DNUMBER=2 -DROWS -DNONE
check 'interface 3 is told by its functions' host 0 '^served$' -DNUMBER=3 -DROWS -DLISTS -DNONE
check 'the older form of 2 is refused' host 3 "$(printf "$older" 2)" -DNUMBER=2
check 'it is refused by its functions alone' host 3 "$(printf "$older" 2)" -DNUMBER=2 -DNONE
check 'interface 1 is refused' host 3 "$(printf "$older" 1)" -DNUMBER=1 -DROWS
check '2 with functions of 3 is refused' host 3 "$(printf "$other" 2 ' in another form')" -DNUMBER=2 -DROWS -DLISTS
check '3 without its functions is refused' host 3 "$(printf "$other" 3 ' in another form')" -DNUMBER=3 -DROWS
for number in 4 6; do
    check "interface $number is refused" host 3 "$(printf "$other" $number '')" -DNUMBER=$number -DROWS -DLISTS
done

# --- versions ------------------------------------------------------------------------------------------------------------------

if [ "$(uname -m)" != x86_64 ]; then
    skip 'versions of npm' 'the other packages are pinned for x64 alone'
    done_testing
    exit
fi
model=$scratch/tiny.gguf
"$build/locus-gguf" --quiet -o "$model" >"$out" 2>"$err" || fail 'a model' "$(cat "$err")"

program() { # VERSION: sets $libraries, and compiles the program for it
    libraries=$engine/lib
    [ "$1" = 3.22.1 ] || libraries=$engine-$1/lib
    ${CC:-gcc} $strict -isystem "$engine/include" -o "$scratch/program" testbed/engine/tests/engine_versions.c -L"$libraries" \
        -Wl,-rpath,"$libraries" -Wl,-rpath-link,"$libraries" -lllama -lggml -lggml-base
}
run() { # COMMAND...: logits in $out
    timeout -k 5 60 "$@" "$scratch/program" "$libraries" "$model" >"$out" 2>"$err" </dev/null
    status=$?
    why="exit $status: $(grep -v '^llama\|^load\|^print_info' "$err" | tail -n 3)"
    [ $status -eq 0 ]
}
# by_us COUNT MOST: so many devices of ours, and the logits are at most that far from the engine's own
by_us() {
    run env LOCUS_NODES=0,0 GGML_BACKEND_PATH="$backend" && grep -qx "devices $1" "$err" || return
    why="logits: $(paste "$scratch/stock" "$out" | awk -v most="$2" '
        { d = $1 - $2; if (d < 0) d = -d; if (!(d <= most)) { print "line " NR ": " $0; exit }; n++ }
        END { if (n != 512) print n + 0 " of 512" }')"
    [ "$why" = 'logits: ' ]
}
fetched() { ENGINE_VERSION=$1 sh testbed/guest/or-skip.sh "npm $1" ../engine/fetch.sh; }
for version in 3.18.0 3.19.1 3.20.0 3.21.1 3.22.1; do
    if [ $version != 3.22.1 ] && ! line=$(fetched $version); then
        if [[ $line == ok* ]]; then skip "npm $version" "${line##*# SKIP }"; else fail "npm $version" "${line#*: }"; fi
        continue
    fi
    check "npm $version: a program over it compiles" program $version
    check "npm $version: it decodes without us" run env
    cp "$out" "$scratch/stock"
    if [ $version = 3.18.0 ]; then
        check 'npm 3.18.0: decodes the same without our devices' by_us 0 0
        check 'npm 3.18.0: and a line says why' grep -Eq \
            "^locus: this engine's ggml is 0\\.9\\.7, with plug-in interface 2 in an older form; $needed: take a newer" "$err"
    else
        check "npm $version: two devices of ours decode, with the engine's own logits" by_us 2 0.02
    fi
done

done_testing
