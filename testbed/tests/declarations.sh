#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus-declarations.h, which is made of the headers for languages that read none: cffi and bindgen take it as it is, and what they
# make of it is what the compiler makes of the headers. BUILD names the build's folder.
set -u
cd "${REPO:-$(dirname "$0")/../..}" || exit 2
. testbed/tests/cases.bash
build=$(realpath "${BUILD:-build/gcc}") || exit 2
file=$build/locus-declarations.h library=$build/liblocus.so

bare() { ! grep -nE '^ *# *(include|if|ifdef|ifndef|pragma)|__attribute__|__asm__|^(static )?inline' "$file"; }
check it-has-no-preprocessor-no-attributes-and-no-bodies bare
complete() { # but for the version's own symbol
    why="not declared: " && while read -r symbol; do
        grep -q "\b$symbol\b" "$file" || why+=" $symbol"
    done < <(nm -D --defined-only "$library" | awk '$2 != "A" { sub("@.*", "", $3); print $3 }')
    [ "$why" = 'not declared: ' ] && [ "$(grep -c '(' "$file")" -gt 200 ]
}
check each-symbol-of-the-library-is-declared complete

if /usr/bin/env python3 -c 'import cffi' 2>/dev/null; then
    taken() { why= && python3 testbed/tests/packages/declarations.py "$file" "$library" >"$scratch/facts.c"; }
    check cffi-takes-it-and-finds-each-function taken
    same() {
        ${CC:-gcc} -std=c11 -D_GNU_SOURCE -Iplacement/include -iquote topo -fsyntax-only "$scratch/facts.c" 2>"$err"
        local status=$?
        why=$(grep -m 1 error "$err") && return 1 || return $status
    }
    check the-headers-have-the-same-sizes-offsets-constants-and-prototypes same
else
    skip cffi-takes-it "python3 has no cffi"
fi

if ! command -v bindgen >/dev/null; then
    skip bindgen-takes-it "there is no bindgen"
elif ! command -v rustc >/dev/null; then
    skip bindgen-takes-it "there is no rustc"
else
    rust() {
        why= && bindgen "$file" -o "$scratch/locus.rs" &&
            rustc --test -A warnings -L "$build" -l locus -o "$scratch/layouts" "$scratch/locus.rs" &&
            LD_LIBRARY_PATH=$build "$scratch/layouts" >"$out" && grep -qE '^test result: ok\. [1-9][0-9]+ passed' "$out"
    }
    check bindgen-takes-it-and-its-layout-tests-pass rust
fi

done_testing
