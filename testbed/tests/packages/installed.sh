#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# installed.sh: on a bare Debian machine of which nothing else is expected, as root: installs what `make deb` has made, builds the
# first programs with it in each language, runs them, the program and its manual, and removes it all. Any failure ends it. It is no
# item of the suite, because it installs and purges packages; run it where that does no harm.
set -eu
cd "$(dirname "$0")/../../.."
names='liblocus0 liblocus-dev locus ggml-locus'
export DEBIAN_FRONTEND=noninteractive
apt='apt-get -q -y -o Dpkg::Use-Pty=0'
say() { echo "== $*"; }
home() { # COMMAND...: it says that the blocks came home
    said=$("$@")
    echo "$*: $said"
    [ "$said" = '8 blocks came home' ]
}

files() { find / -xdev \( -path /proc -o -path /root -o -path /tmp -o -path /var \) -prune -o -print | sort; }

say "install"
$apt install --no-install-recommends man-db cmake g++ pkg-config bindgen libclang-dev rustc python3-cffi >/dev/null
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
files >"$work/before"
$apt install --no-install-recommends $(find "$PWD/build/deb" -name '*.deb' ! -name '*-dbgsym_*') >/dev/null
dpkg -l $names 2>/dev/null | grep '^ii'

say "first programs"
examples=/usr/share/locus/examples
cd "$work"
gcc "$examples/first.c" $(pkg-config --cflags --libs locus) -o c
home ./c
cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.13)
project(first C)
find_package(locus $(pkg-config --modversion locus) REQUIRED)
add_executable(by-cmake $examples/first.c)
target_link_libraries(by-cmake locus::locus)
END
cmake . >/dev/null
make -s >/dev/null
home ./by-cmake
g++ "$examples/first.cpp" $(pkg-config --cflags --libs locus) -o cpp
home ./cpp
cp "$examples/first.rs" .
bindgen "$(pkg-config --variable=declarations locus)" -o locus.rs
rustc --edition 2021 first.rs $(pkg-config --libs locus) -o rust
home ./rust
home python3 "$examples/first.py"

say "program and manual"
locus --version
locus topo
for page in locus locus-eval locus_owner locus_owner_grow liblocus; do man -w $page; done

say "purge"
cd /
$apt purge $(dpkg-query -W -f '${Package} ' $names 2>/dev/null) >/dev/null
left=$(files | comm -13 "$work/before" - | grep locus || true)
[ -z "$left" ] || { echo "left: $left"; exit 1; }
! dpkg -l $names 2>/dev/null | grep '^[ir]' || exit 1
echo "nothing is left of $names"
