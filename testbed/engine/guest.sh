#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# guest.sh [OPTION OF boot.sh]... -- PROGRAM [ARGUMENT...]: boots an emulated machine with llama.cpp in it, our backend, the
# preload, locus-llama, and numactl if it is installed here. BUILD is the folder with ours (build/gcc). In the guest they are where
# they are here, below /locus. `locus guest engine` is this script.
#
# Of the engine's libraries for kinds of CPU only those go along that an emulated one can have: it has no AVX-512.
set -eu
build=${BUILD:-build/gcc} lib=build/engine/lib
build=${build#"$PWD"/}
words=
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    words="$words '$1'"
    shift
done
[ $# -gt 1 ] || { echo "locus: engine: guest.sh [OPTION]... -- PROGRAM" >&2; exit 2; }
shift
case "$words" in
*"'arm'"*) lib=build/engine-arm64/lib kinds=armv8.0_1 ;;
*) kinds='haswell x64' ;;
esac
for name in llama.v0.5.0 ggml.v0.5.0 ggml-base; do words="$words --with $lib/lib$name.so"; done
for kind in $kinds; do words="$words --with $lib/libggml-cpu-$kind.so"; done
for file in locus-llama libggml-locus.so liblocus-kv.so; do words="$words --with $build/$file"; done
[ "$lib" != build/engine/lib ] || ! numactl=$(command -v numactl) || words="$words --with $numactl"
eval "exec sh testbed/guest/boot.sh $words -- \"\$@\""
