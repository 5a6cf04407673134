#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all alone
#
# The packages that `make deb` makes of the last commit, unpacked into a root: what is in them, and whether the first programs build
# and run with them, in each language. REPO names the checkout.
set -u
cd "${REPO:-$(dirname "$0")/../..}" || exit 2
. testbed/tests/cases.bash

for tool in dh lintian; do
    command -v $tool >/dev/null || { skip packages "there is no $tool (make deps-deb)"; done_testing; exit; }
done
made() { why= && make DEPS=skip deb; }
if [ "$(cat build/deb/commit 2>/dev/null)" = "$(git rev-parse HEAD)" ]; then
    clean() { why= && lintian --allow-root --fail-on error --profile debian build/deb/locus_*.changes; }
    check lintian-finds-no-error clean
else
    check make-deb made
fi
root=$scratch/root triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH) examples=$scratch/root/usr/share/locus/examples
libraries=$root/usr/lib/$triplet version=$(sed -n 's/^#define LOCUS_VERSION "\(.*\)"/\1/p' placement/include/locus/version.h)
series=${version%.*}
mkdir "$root"
for package in build/deb/*_0*.deb; do
    [[ $package == *-dbgsym_* ]] || dpkg-deb -x "$package" "$root" || { fail unpacked "$package"; done_testing; exit; }
done

# --- what is in them -----------------------------------------------------------------------------------------------------------

# What `make install` installs, but for what Debian has or puts elsewhere.
files() { (cd "$1" && find . ! -type d | sed 's/\.gz$//' | sort); }
complete() {
    make install CHECKED=1 DESTDIR="$scratch/installed" PREFIX=/usr LIBDIR="/usr/lib/$triplet" || return
    files "$scratch/installed" | sed 's|/zsh/site-functions/|/zsh/vendor-completions/|' | grep -vx ./usr/share/locus/LICENSE |
        if ls build/deb/ggml-locus_*.deb >&2; then cat; else grep -vE '/lib/[^/]*/locus/|/share/locus/ggml/'; fi >"$scratch/wanted"
    why=$(files "$root" | grep -v '^./usr/share/\(doc\|lintian\)/' | diff "$scratch/wanted" - | head -n 5)
    [ -z "$why" ]
}
check they-have-what-make-install-installs complete
in_package() { why="not in $1: $2" && dpkg-deb -c build/deb/"$1"_*.deb | grep -qE "$2"; }
check the-library-is-in-liblocus0 in_package liblocus0 "/usr/lib/$triplet/liblocus\.so\.[0-9.]+\$"
check the-headers-are-in-liblocus-dev in_package liblocus-dev '/usr/include/locus/locus\.h$'
check the-library-s-pages-are-in-liblocus-dev in_package liblocus-dev '/man3/locus_owner\.3\.gz$'
check the-program-is-in-locus in_package locus '/usr/bin/locus$'
check its-pages-are-in-locus in_package locus '/man1/locus-eval\.1\.gz$'
if [ -e build/engine/include/ggml-backend-impl.h ]; then
    check the-backend-is-in-ggml-locus in_package ggml-locus "/usr/lib/$triplet/locus/libggml-locus\.so\$"
else
    skip the-backend-is-in-ggml-locus "build/engine is missing (make engine-fetch)"
fi
depends() { # on the series whose soname programs name
    why=$(dpkg-deb -f build/deb/locus_*.changes 2>/dev/null; dpkg-deb -I build/deb/liblocus0_*.deb shlibs)
    [[ $why == *"liblocus $series liblocus0 (>= $version), liblocus0 (<< ${series%.*}.$((${series#*.} + 1))~)"* ]]
}
check what-links-with-liblocus0-needs-its-series depends
current() { why="the changelog has another version than version.h" && [[ $(ls build/deb/*.dsc) == *"/locus_$version-"*.dsc ]]; }
check the-packages-have-the-version-of-the-library current
hardened() {
    local file
    for file in "$libraries"/liblocus.so.$series "$root/usr/bin/locus" "$root/usr/libexec/locus/locus-lap"; do
        why="${file#"$root"} is bound late, or has a path" && readelf -d "$file" >"$out" && grep -q 'FLAGS.*NOW' "$out" &&
            ! grep -qE 'RPATH|RUNPATH' "$out" || return
    done
}
check programs-and-library-are-hardened hardened
answers() { why= && "$root/usr/bin/locus" topo >"$out" && [ -s "$out" ]; }
check the-program-runs answers

# --- the first programs --------------------------------------------------------------------------------------------------------

pkg-config() {
    PKG_CONFIG_SYSROOT_DIR=$root PKG_CONFIG_LIBDIR=$libraries/pkgconfig:$(command pkg-config --variable pc_path pkg-config) \
        command pkg-config "$@"
}
runs() { why= && [ "$(LD_LIBRARY_PATH=$libraries "$@")" = '8 blocks came home' ]; }
language() { # name, tools it needs, function
    local tool
    for tool in $2; do
        command -v "$tool" >/dev/null || { skip "$1" "there is no $tool"; return; }
    done
    check "$1" "$3"
}
cd "$scratch" || exit 2

in_c() { why= && gcc -Wall -Wextra -Werror "$examples/first.c" $(pkg-config --cflags --libs locus) -o c && runs ./c; }
language first.c-by-pkg-config 'gcc pkg-config' in_c
cat >CMakeLists.txt <<'CMAKE'
cmake_minimum_required(VERSION 3.16)
project(first C)
find_package(locus ${WANTED} REQUIRED)
foreach(kind locus static checked)
    add_executable(first-${kind} ${EXAMPLES}/first.c)
    target_link_libraries(first-${kind} locus::${kind})
endforeach()
CMAKE
configured() { cmake -S . -B "cmake-$1" -DCMAKE_PREFIX_PATH="$root/usr" -DWANTED="$1" -DEXAMPLES="$examples" -Wno-dev; }
by_cmake() {
    why= && configured $series && cmake --build cmake-$series && runs cmake-$series/first-locus &&
        runs cmake-$series/first-checked && runs env -u LD_LIBRARY_PATH cmake-$series/first-static
}
language first.c-by-cmake 'gcc cmake' by_cmake
other_series() {
    local other
    for other in ${series%.*}.$((${series#*.} - 1)) ${series%.*}.$((${series#*.} + 1)) $series.999 1.0; do
        why="version $other is found" && ! configured $other || return
    done
}
language cmake-refuses-other-series 'gcc cmake' other_series
in_cpp() {
    why= && g++ -std=c++17 -Wall -Wextra -Werror "$examples/first.cpp" $(pkg-config --cflags --libs locus) -o cpp && runs ./cpp
}
language first.cpp 'g++ pkg-config' in_cpp
in_rust() {
    why= && cp "$examples/first.rs" . && bindgen "$(pkg-config --variable=declarations locus)" -o locus.rs &&
        rustc -D warnings first.rs $(pkg-config --libs locus) -o rust && runs ./rust
}
language first.rs 'bindgen rustc pkg-config' in_rust
in_python() { why= && runs python3 "$examples/first.py"; }
if python3 -c 'import cffi' 2>/dev/null; then check first.py in_python; else skip first.py "python3 has no cffi"; fi

done_testing
