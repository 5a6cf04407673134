# SPDX-License-Identifier: Apache-2.0
#
# engine.bash: shared by scripts about our devices in llama.cpp, which source it after cases.bash, at the top of the project.

# needs_backend NAME: fetches the engine, or ends the script with one case that says why not. Sets $build and $engine. The build may
# be older than the engine; then what needs the engine's headers is built now, by one script at a time.
needs_backend() {
    build=$(cd "${BUILD:-$(dirname "$LOCUS")}" && pwd) engine=$PWD/build/engine
    [ "$(uname -m)" != aarch64 ] || engine=$engine-arm64
    needs_guest "$1" ../engine/fetch.sh
    flock "$engine.lock" sh -c '[ -e "$1" ] && [ -e "$2" ] || make "$1" "$2"' - "${build#"$PWD"/}"/{libggml-locus.so,locus-llama} \
        >"$out" 2>&1 || { fail "$1" "the backend does not compile: $(tail -n 1 "$out")"; done_testing; exit 1; }
}

rooms='-Iplacement/include -iquote topo -iquote placement/ggml'
strict='-std=c11 -D_GNU_SOURCE -O2 -g -pthread -Wall -Wextra -Werror'

# plugin OUT SOURCE [FLAG...]: the backend, with that source in place of the one of its name; the other objects are the build's. One
# that lacks a library would not load, and a test would take that for a mutant killed: so nothing may stay undefined.
plugin() {
    local part parts=() own
    own=$(basename "$2" .c)
    for part in bell buffer device engine group layout place stream; do
        [ $part = "$own" ] || parts+=("$build/placement/ggml/$part.o")
    done
    ${CC:-gcc} $strict -fPIC -I. $rooms "${@:3}" -isystem "$engine/include" -c -o "$1.o" "$2" &&
        ${CC:-gcc} -pthread -shared -Wl,-z,defs -Wl,--version-script,"$build/libggml-locus.map" -o "$1" "$1.o" "${parts[@]}" \
            "$build/liblocus.a" -lhwloc -lnuma -luring -lzstd -ldl
}

# over_llama OUT SOURCE [FLAG...]: a program that calls llama.cpp
over_llama() {
    ${CC:-gcc} $strict -I. $rooms "${@:3}" -isystem "$engine/include" -o "$1" "$2" -L"$engine/lib" -Wl,-rpath,"$engine/lib" \
        -lllama -lggml -lggml-base -ldl -lm
}
