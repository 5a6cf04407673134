# SPDX-License-Identifier: Apache-2.0
#
# cross.bash: builds for aarch64. Scripts source it at the top of the project; without the compiler it ends them with a skip.

unset MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES CC SAN
compiler=aarch64-linux-gnu-gcc
build=build/$compiler
command -v $compiler >/dev/null || { echo "1..0 # SKIP no $compiler: apt-get install gcc-aarch64-linux-gnu"; exit; }

cross() { # target of make...; the libraries are those that fetch-arm64.sh brought
    local sysroot=$PWD/build/guest-arm64/sysroot
    local libraries=$sysroot/usr/lib/aarch64-linux-gnu
    make -j"$(nproc)" CC=$compiler CFLAGS="-O2 --sysroot=$sysroot" \
        LDFLAGS="--sysroot=$sysroot -L$libraries -Wl,-rpath-link,$libraries:$sysroot/lib/aarch64-linux-gnu" "$@"
}
