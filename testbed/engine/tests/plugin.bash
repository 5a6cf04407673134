# SPDX-License-Identifier: Apache-2.0
#
# plugin.bash: shared by scripts that build libggml-locus.so from one changed source, or a program over llama.h. They set $build and
# $engine.

rooms=$(printf -- '-iquote %s ' placement/ggml topo placement/*/)
strict='-std=c11 -D_GNU_SOURCE -O2 -g -pthread -Wall -Wextra -Werror'

# plugin OUT SOURCE [FLAG...]: the backend, with that source in place of the one of its name; the other objects are the build's
plugin() {
    local part parts=() own
    own=$(basename "$2" .c)
    for part in bell buffer device engine group place stream; do
        [ $part = "$own" ] || parts+=("$build/placement/ggml/$part.o")
    done
    ${CC:-gcc} $strict -fPIC -I. $rooms "${@:3}" -isystem "$engine/include" -c -o "$1.o" "$2" &&
        ${CC:-gcc} -pthread -shared -Wl,--version-script,"$build/libggml-locus.map" -o "$1" "$1.o" "${parts[@]}" \
            "$build/liblocus.a" -lhwloc -lnuma -ldl
}

# over_llama OUT SOURCE [FLAG...]: a program that calls llama.cpp
over_llama() {
    ${CC:-gcc} $strict -I. $rooms "${@:3}" -isystem "$engine/include" -o "$1" "$2" -L"$engine/lib" -Wl,-rpath,"$engine/lib" \
        -lllama -lggml -lggml-base -ldl -lm
}
