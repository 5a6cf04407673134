#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# guest.sh [OPTION OF boot.sh]... -- PROGRAM [ARGUMENT...]: boots an emulated machine with llama.cpp in it, our backend, the
# preload and locus-llama, which are there where they are here, and numactl if it is installed here, in /with. Run it at the root of
# a clone. BUILD is the folder with what is ours (build/gcc). `locus guest engine` is this script.
#
# Of the engine's libraries for kinds of CPU only those go along that an emulated one can have: it has no AVX-512.
set -eu
boot=$(dirname "$0")/../guest/boot.sh
build=${BUILD:-build/gcc} lib=build/engine/lib kinds='haswell x64' numactl=$(command -v numactl) || numactl=

refuse() {
    echo "locus: engine: $1" >&2
    exit 2
}
[ -d postulates ] || refuse "an emulated machine with the engine is started at the root of a clone of the project"

quoted() { printf " '%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
words=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    [ "$1" != arm ] || lib=build/engine-arm64/lib kinds=armv8.0_1 numactl=
    words="$words$(quoted "$1")"
    shift
done
[ $# -gt 1 ] || refuse "guest.sh [OPTION]... -- PROGRAM"
shift
for name in llama.v0.5.0 ggml.v0.5.0 ggml-base; do words="$words --with $lib/lib$name.so"; done
for kind in $kinds; do words="$words --with $lib/libggml-cpu-$kind.so"; done
for file in locus-llama libggml-locus.so liblocus-kv.so; do words="$words --with$(quoted "$build/$file")"; done
[ -z "$numactl" ] || words="$words --with $numactl"
eval "exec sh \"\$boot\" $words -- \"\$@\""
