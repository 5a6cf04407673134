#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The library as an embedder uses it: installed into an empty root, found by pkg-config, without this repository's headers. Each
# public header compiles alone, as C and as C++; the shared library exports only locus_*; the examples run in their languages,
# with either library; and liblocus-checked, the same library, aborts a program that breaks a rule.
set -u
cd "${REPO:-$(dirname "$0")/../..}" || exit 2
compiler=${CC:-gcc}
sysroot=$(mktemp -d)
trap 'rm -rf "$sysroot"' EXIT
failed=0 count=0

# verdict NAME COMMAND...
verdict() {
    local name=$1 output
    shift
    count=$((count + 1))
    if output=$("$@" 2>&1); then
        echo "ok - $name"
    else
        echo "not ok - $name"
        failed=1
        printf '%s\n' "$output" | sed 's/^/    /'
    fi
}

empty() { ! grep .; }

# For pkg-config alone: make would find its packages missing, and rebuild another program under the running tests.
packages=$sysroot/usr/lib/pkgconfig
system=$(command pkg-config --variable pc_path pkg-config)
pkg-config() { PKG_CONFIG_SYSROOT_DIR=$sysroot PKG_CONFIG_LIBDIR=$packages:$system command pkg-config "$@"; }

flags="-std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -pthread"
library=$sysroot/usr/lib

headers_alone() { # compiler and its language
    local header status=0
    for header in "$sysroot"/usr/include/locus/*.h; do
        printf '#include <locus/%s>\n#include <locus/%s>\nint main(void) { return 0; }\n' "${header##*/}" "${header##*/}" |
            "$@" -D_GNU_SOURCE -Wall -Wextra -pedantic -Werror $(pkg-config --cflags locus) -fsyntax-only - ||
            { echo "${header##*/}"; status=1; }
    done
    return $status
}

# Each inline function of a header is also a symbol, for languages that read no headers.
inlines_have_symbols() {
    local name status=0 names
    names=$(nm -D --defined-only "$library/liblocus.so" | awk '{ print $3 }')
    while read -r name; do
        grep -q "^$name\(@\|$\)" <<<"$names" || { echo "$name"; status=1; }
    done < <(sed -n 's/^inline .*\(locus_[a-z_]*\)(.*/\1/p' "$sysroot"/usr/include/locus/*.h)
    return $status
}

# The version is in three places: for the compiler, for the program, for pkg-config.
versions_agree() {
    printf '%s\n' '#include <locus/locus.h>' '#include <stdio.h>' \
        'int main(void) { printf("%u %s\n", locus_version() == LOCUS_VERSION_NUMBER, LOCUS_VERSION); }' |
        $compiler $flags $(pkg-config --cflags locus) -x c - -o "$sysroot/version" -x none $(pkg-config --libs locus) \
            -Wl,-rpath-link,"$library" &&
        [ "$(LD_LIBRARY_PATH=$library "$sysroot/version")" = "1 $(pkg-config --modversion locus)" ]
}

all_headers() { # those that the design calls public, and no internal ones
    local got expected='adapter.h adapter_policy.h block.h demote.h domain.h evict.h ggml.h id.h inline.h int8.h lane.h locus.h'
    expected+=' offload.h owner.h pages.h pages_evict.h pages_report.h pin.h policy.h pool.h prefix.h region.h reservation.h'
    expected+=' route.h share.h table.h tier.h tier_file.h topo.h topo_node.h version.h where.h window.h'
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

# The compiler and flags of a source, by its language.
language() {
    case $1 in
    *.cpp) echo ${2:-g++} -std=c++17 -Wall -Wextra -Werror -pthread ${define-} ;;
    *) echo $compiler $flags ${define-} ;;
    esac
}

build_shared() { # source, program, library's name
    $(language "$1" "${4-}") $(pkg-config --cflags "$3") -o "$2" "$1" $(pkg-config --libs "$3") -Wl,-rpath-link,"$library"
}

# Some libraries have no archive, so only liblocus is static.
build_static() { # source, program, library's name
    $(language "$1") $(pkg-config --cflags "$3") -o "$2" "$1" \
        -Wl,-Bstatic $(pkg-config --libs "$3") -Wl,-Bdynamic $(pkg-config --static --libs "$3" | sed "s/-l$3//")
}

# hwloc's archive too: what that needs, its own file for pkg-config says. Debian has no archive of libudev.
build_with_archives() { # source, program
    $(language "$1") $(pkg-config --cflags locus) -o "$2" "$1" -Wl,-Bstatic $(pkg-config --libs locus) -lhwloc -Wl,-Bdynamic \
        $(pkg-config --static --libs locus | sed 's/-llocus//; s/-lhwloc//')
}

# The first program of the project's README, as it stands there.
readme_program() {
    sed -n '/^    #include <locus\/locus.h>$/,/^    }$/s/^    //p' README.md >"$sysroot/first.c" && [ -s "$sysroot/first.c" ] &&
        $compiler -Wall -Wextra -Werror "$sysroot/first.c" $(pkg-config --cflags --libs locus) -o "$sysroot/first" \
            -Wl,-rpath-link,"$library" &&
        [ "$(LD_LIBRARY_PATH=$library "$sysroot/first")" = "8 blocks came home" ]
}

# By CMake, where the installation is: with locus::NAME and the version that is asked for.
build_cmake() { # program, NAME, version
    local work=$sysroot/cmake-$2-$3
    mkdir -p "$work" && printf '%s\n' 'cmake_minimum_required(VERSION 3.13)' 'project(first C)' "find_package(locus $3 REQUIRED)" \
        "add_executable(first $PWD/placement/examples/first.c)" "target_link_libraries(first locus::$2)" >"$work/CMakeLists.txt" &&
        cmake -S "$work" -B "$work/build" -DCMAKE_PREFIX_PATH="$sysroot/${prefix:-usr}" -DCMAKE_C_COMPILER="$compiler" \
            >"$work/said" 2>&1 &&
        cmake --build "$work/build" >>"$work/said" 2>&1 && cp "$work/build/first" "$1" || { cat "$work/said"; return 1; }
}
comes_home() { [ "$(LD_LIBRARY_PATH=$1 "$2")" = "8 blocks came home" ]; } # library path, program
other_version() { # is refused, and for that
    ! build_cmake "$sysroot/none" locus "$1" && grep -q "version: $(pkg-config --modversion locus)" "$sysroot/cmake-locus-$1/said"
}
moved_cmake() { # the files say where they are
    local status
    mv "$sysroot/usr" "$sysroot/moved" || return
    prefix=moved build_cmake "$sysroot/first-moved" locus "$soversion.0"
    status=$?
    mv "$sysroot/moved" "$sysroot/usr"
    return $status
}

uses_shared() { readelf -d "$1" | grep -q "NEEDED.*\[lib$2[.]so[.]$soversion\]"; }
is_without_shared() { [ -x "$1" ] && ! readelf -d "$1" | grep -q 'NEEDED.*liblocus'; }

# What an example prints about its blocks: they came and went, or some were borrowed.
blocks_right() {
    case $1 in
    serving_loop*) awk '$1 == "blocks" { found = $2 > 0 && $2 == $4 } END { exit !found }' ;;
    two_nodes) awk '/^blocks lent/ { found = $3 > 0 } END { exit !found }' ;;
    esac
}

runs() { # library path, example, its program
    local output path=$1 example=$2
    shift 2
    output=$(LD_LIBRARY_PATH=$path timeout 60 "$@")
    local status=$?
    set -- "$path" "$example"
    printf '%s\n' "$output"
    [ $status -eq 0 ] && [ "$(tail -n 1 <<<"$output")" = "all blocks came home" ] &&
        grep -qE '^requests served +2000 of 2000$' <<<"$output" && blocks_right "$2" <<<"$output"
}

# The library returns an error for each mistake; the checked one aborts the program, with one line that names call and rule.
misuses() { # library path, command that runs the program
    local path=$1 name call rule said status bad=0
    shift
    while IFS=$'\t' read -r name call rule; do
        said=$(LD_LIBRARY_PATH=$path timeout 60 "$@" "$name" 2>&1)
        status=$?
        if [ -n "${aborts-}" ]; then
            [ $status -eq 134 ] && [ "$(wc -l <<<"$said")" -eq 1 ] && [[ $said == "liblocus-checked: $call: "*"$rule"* ]]
        else
            [ $status -eq 0 ] && [ "$said" = answered ]
        fi || { echo "$name: exit $status: $said"; bad=1; }
    done < <(LD_LIBRARY_PATH=$path "$@")
    return $bad
}

uninstalls() { # variable of make...
    make uninstall DESTDIR="$sysroot" "$@" || return 1
    find "$sysroot/usr" ! -type d | empty
}

multiarch=/usr/lib/some-linux-gnu
libdir_is_used() { # by the libraries and by what pkg-config says of them, and nothing lies where it would be otherwise
    local name
    make install CHECKED=1 DESTDIR="$sysroot" PREFIX=/usr LIBDIR=$multiarch || return
    packages=$sysroot$multiarch/pkgconfig
    for name in locus locus-checked; do
        [ "$(pkg-config --variable=libdir $name)" = "$sysroot$multiarch" ] &&
            build_shared placement/examples/serving_loop.c "$sysroot/libdir" $name &&
            runs "$sysroot$multiarch" serving_loop.c "$sysroot/libdir" || return
    done
    find "$sysroot/usr/lib" -maxdepth 1 ! -type d | empty
}

verdict "make install" make install CHECKED=1 DESTDIR="$sysroot" PREFIX=/usr
[ $failed -eq 0 ] || exit 1 # nothing below could mean anything
soversion=$(pkg-config --modversion locus | cut -d . -f 1,2)
ulimit -c 0 # programs that abort are what is wanted
verdict "the public headers are installed" all_headers
for language in 'gcc -x c -std=c11' 'clang -x c -std=c11' 'g++ -x c++ -std=c++17' 'g++ -x c++ -std=c++20' \
    'clang++ -x c++ -std=c++17' 'clang++ -x c++ -std=c++20'; do
    if command -v ${language%% *} >/dev/null; then
        verdict "each header compiles alone (${language/-x c* /})" headers_alone $language
    else
        count=$((count + 1))
        echo "ok - each header compiles alone (${language/-x c* /}) # SKIP there is no ${language%% *}"
    fi
done
verdict "the shared library exports only locus_*" exports_only_locus
verdict "the archive defines only locus_*" archive_only_locus
verdict "each inline function has a symbol" inlines_have_symbols
verdict "header, library and pkg-config say the same version" versions_agree
for example in serving_loop.c two_nodes.c serving_loop.cpp; do
    for name in locus locus-checked; do
        program=$sysroot/$example-$name source=placement/examples/$example
        verdict "$example builds with the shared lib$name" build_shared $source "$program-shared" $name
        verdict "$example is bound to lib$name.so.$soversion" uses_shared "$program-shared" $name
        verdict "$example runs with lib$name" runs "$library" $example "$program-shared"
        verdict "$example builds with lib$name.a" build_static $source "$program-static" $name
        verdict "$example needs no shared lib$name" is_without_shared "$program-static"
        verdict "$example runs without it ($name)" runs "" $example "$program-static"
    done
done
verdict "a program builds with the archives of locus and hwloc" build_with_archives placement/examples/serving_loop.c \
    "$sysroot/archives"
verdict "it needs no shared liblocus" is_without_shared "$sysroot/archives"
verdict "nor a shared hwloc" eval "! readelf -d '$sysroot/archives' | grep hwloc"
verdict "it runs" runs "" serving_loop.c "$sysroot/archives"
verdict "the first program of the README builds and runs" readme_program
if command -v cmake >/dev/null; then
    for name in locus checked; do
        verdict "CMake finds locus::$name" build_cmake "$sysroot/first-$name" $name $soversion
        verdict "the first program runs with locus::$name" comes_home "$library" "$sysroot/first-$name"
    done
    verdict "CMake finds locus::static" build_cmake "$sysroot/first-static" static $soversion
    verdict "it needs no shared liblocus of CMake's" is_without_shared "$sysroot/first-static"
    verdict "it runs without it (CMake)" comes_home "" "$sysroot/first-static"
    verdict "CMake finds it where it was moved" moved_cmake
    for version in 0.$((${soversion#*.} - 1)) 0.$((${soversion#*.} + 1)) 1.0 "$soversion.999"; do
        verdict "CMake does not take it for version $version" other_version $version
    done
else
    count=$((count + 1))
    echo "ok - CMake finds locus::locus # SKIP there is no cmake"
fi
if command -v clang++ >/dev/null; then
    verdict "serving_loop.cpp builds with clang++" build_shared placement/examples/serving_loop.cpp "$sysroot/clang" locus clang++
    verdict "serving_loop.cpp of clang++ runs" runs "$library" serving_loop.cpp "$sysroot/clang"
fi
if python3 -c 'import cffi' 2>/dev/null; then
    first() { [ "$(LD_LIBRARY_PATH=$library python3 "$sysroot/usr/share/locus/examples/first.py")" = '8 blocks came home' ]; }
    verdict "first.py runs, by cffi" first
else
    count=$((count + 1))
    echo "ok - first.py runs, by cffi # SKIP python3 has no cffi"
fi
verdict "misuse.c builds" build_shared placement/domain/tests/misuse.c "$sysroot/misuse" locus
verdict "misuse.c builds with liblocus-checked" build_shared placement/domain/tests/misuse.c "$sysroot/misuse-checked" locus-checked
verdict "misuse is answered" misuses "$library" "$sysroot/misuse"
define=-DLOCUS_INLINE
for example in serving_loop.c serving_loop.cpp; do
    verdict "$example builds inlined" build_shared placement/examples/$example "$sysroot/inlined-$example" locus
    verdict "$example runs inlined" runs "$library" $example "$sysroot/inlined-$example"
    verdict "$example inlined is checked, too" runs "$library" $example env LD_PRELOAD="$library/liblocus-checked.so" \
        "$sysroot/inlined-$example"
done
verdict "misuse.c builds inlined" build_shared placement/domain/tests/misuse.c "$sysroot/misuse-inlined" locus
verdict "misuse of inlined calls is answered" misuses "$library" "$sysroot/misuse-inlined"
define=
aborts=yes
verdict "misuse of inlined calls ends a program of liblocus-checked" misuses "$library" \
    env LD_PRELOAD="$library/liblocus-checked.so" "$sysroot/misuse-inlined"
verdict "misuse ends a program of liblocus-checked" misuses "$library" "$sysroot/misuse-checked"
verdict "misuse ends a program of liblocus for which liblocus-checked is preloaded" misuses "$library" \
    env LD_PRELOAD="$library/liblocus-checked.so" "$sysroot/misuse"
verdict "make uninstall leaves nothing" uninstalls PREFIX=/usr
verdict "LIBDIR is where the library goes" libdir_is_used
verdict "make uninstall with LIBDIR leaves nothing" uninstalls PREFIX=/usr LIBDIR=$multiarch
echo "1..$count"
exit $failed
