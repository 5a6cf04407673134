#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The library as an embedder meets it: installed into an empty root, found by pkg-config, without this repository's headers. Each
# public header compiles alone, the shared library exports locus_* and nothing else, and the examples run with either library.
set -u
cd "${REPO:-$(dirname "$0")/../..}" || exit 2
compiler=${CC:-gcc}
sysroot=$(mktemp -d)
trap 'rm -rf "$sysroot"' EXIT
failed=0

# verdict NAME COMMAND...
verdict() {
    local name=$1 output
    shift
    if output=$("$@" 2>&1); then
        echo "PASS $name"
    else
        echo "FAIL $name"
        failed=1
        printf '%s\n' "$output" | sed 's/^/    /'
    fi
}

empty() { ! grep .; }

export PKG_CONFIG_SYSROOT_DIR=$sysroot PKG_CONFIG_LIBDIR=$sysroot/usr/lib/pkgconfig
flags="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread"
library=$sysroot/usr/lib

headers_alone() {
    local header status=0
    for header in "$sysroot"/usr/include/locus/*.h; do
        printf '#include <locus/%s>\n#include <locus/%s>\nint main(void) { return 0; }\n' "${header##*/}" "${header##*/}" |
            $compiler $flags $(pkg-config --cflags locus) -x c -fsyntax-only - || { echo "${header##*/}"; status=1; }
    done
    return $status
}

all_headers() { # those that the design calls public, and no internal ones
    local got expected='block.h domain.h domain_health.h locus.h mailbox.h owner.h pin.h policy.h pool.h region.h table.h topo.h'
    got=$(cd "$sysroot/usr/include/locus" && echo *)
    echo "installed: $got"
    [ "$got" = "$expected" ]
}

exports_only_locus() {
    local names
    names=$(nm -D --defined-only "$library/liblocus.so" | awk '{ print $3 }')
    grep -q '^locus_pool_open' <<<"$names" && printf '%s\n' "$names" | grep -vE '^(locus_|LOCUS_)' | empty
}

archive_only_locus() {
    local names
    names=$(nm -g --defined-only "$library/liblocus.a" | awk 'NF == 3 { print $3 }')
    grep -q '^locus_pool_open' <<<"$names" && printf '%s\n' "$names" | grep -v '^locus_' | empty
}

build_shared() { # example
    $compiler $flags $(pkg-config --cflags locus) -o "$sysroot/$1-shared" "placement/examples/$1.c" \
        $(pkg-config --libs locus) -Wl,-rpath-link,"$library"
}

# Everything from archives is more than some libraries offer, so liblocus alone is static and the rest is not.
build_static() { # example
    $compiler $flags $(pkg-config --cflags locus) -o "$sysroot/$1-static" "placement/examples/$1.c" \
        -Wl,-Bstatic $(pkg-config --libs locus) -Wl,-Bdynamic $(pkg-config --static --libs locus | sed 's/-llocus//')
}

uses_shared() { readelf -d "$1" | grep -q 'NEEDED.*liblocus[.]so[.]0\]'; }
is_without_shared() { [ -x "$1" ] && ! uses_shared "$1"; }

# What an example says of its blocks: they came and went, or some were borrowed.
blocks_right() {
    case $1 in
    serving_loop) awk '$1 == "blocks" { found = $2 > 0 && $2 == $4 } END { exit !found }' ;;
    two_nodes) awk '/^blocks lent/ { found = $3 > 0 } END { exit !found }' ;;
    esac
}

runs() { # library path, example, its program
    local output
    output=$(LD_LIBRARY_PATH=$1 timeout 60 "$3")
    local status=$?
    printf '%s\n' "$output"
    [ $status -eq 0 ] && [ "$(tail -n 1 <<<"$output")" = "all blocks came home" ] &&
        grep -qE '^requests served +2000 of 2000$' <<<"$output" && blocks_right "$2" <<<"$output"
}

uninstalls() {
    make uninstall DESTDIR="$sysroot" PREFIX=/usr || return 1
    find "$sysroot/usr" ! -type d | empty
}

verdict "make install" make install DESTDIR="$sysroot" PREFIX=/usr
[ $failed -eq 0 ] || exit 1 # nothing below could mean anything
verdict "the public headers are installed" all_headers
verdict "each header compiles alone" headers_alone
verdict "the shared library exports only locus_*" exports_only_locus
verdict "the archive defines only locus_*" archive_only_locus
for example in serving_loop two_nodes; do
    verdict "$example builds with the shared library" build_shared $example
    verdict "$example is bound to liblocus.so.0" uses_shared "$sysroot/$example-shared"
    verdict "$example runs" runs "$library" $example "$sysroot/$example-shared"
    verdict "$example builds with the archive" build_static $example
    verdict "$example needs no shared liblocus" is_without_shared "$sysroot/$example-static"
    verdict "$example runs without it" runs "" $example "$sysroot/$example-static"
done
verdict "make uninstall leaves nothing" uninstalls
exit $failed
