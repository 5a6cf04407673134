#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# peers.sh [--again] [DIR]: fetches the mallocs of Debian's later releases to DIR (build/peers): 20 MB, nearly all of it package
# lists. It installs nothing and needs no root (guest/apt.sh); packages are only unpacked.
#
#   DIR/NAME-VERSION.so        one that loads here: locus eval -c mimalloc,NAME-VERSION
#   DIR/NAME-VERSION.refused   one that does not: it was built for a newer libc or libstdc++; the script prints which
#   DIR/VERSIONS               the packages with their checksums
#
# A malloc is not fetched twice, but it is tried again, because libraries are upgraded. A version that is installed here, or that
# an earlier release also has, is skipped.
#
# Exit status: 0 at least one is there; 2 DIR has other contents; 77 none is available here (one line says why, and the remedy).
set -eu
here=$(dirname "$0")
releases='bookworm trixie forky' # oldest first; add new ones

. "$here/../../guest/apt.sh"
arguments build/peers "$@"
subject=peers call='make peers'

# Name, packages that may have it (the first that a release knows is used), and its library.
mallocs='mimalloc libmimalloc3|libmimalloc2.1|libmimalloc2.0 libmimalloc.so.[0-9]
jemalloc libjemalloc2 libjemalloc.so.[0-9]
tcmalloc libtcmalloc-minimal4t64|libtcmalloc-minimal4 libtcmalloc_minimal.so.[0-9]'

# 3.0.1+ds-2.1 gives 3.0.1
upstream() { sed 's/^[0-9]*://; s/-[^-]*$//; s/[+~].*//'; }

fetch_one() { # release, name, packages, library: into $work/all
    package= version=
    for package in $(echo "$3" | tr '|' ' '); do
        version=$(newest "$1" "$package")
        [ -z "$version" ] || break
    done
    [ -n "$version" ] || return 0
    called=$2-$(echo "$version" | upstream)
    [ ! -e "$work/all/$called.so" ] || return 0
    ! dpkg-query -W -f '${Version}\n' $(echo "$3" | tr '|' ' ') 2>/dev/null | upstream | grep -qxF "${called#*-}" || return 0
    rm -rf "$work/deb" && mkdir "$work/deb"
    (cd "$work/deb" && private apt-get -qq -t "$1" download "$package=$version") >"$log" 2>&1 ||
        cannot "$package cannot be fetched ($(grep -m 1 '^E: ' "$log")): see that 'apt-get update' works"
    dpkg-deb -x "$work"/deb/*.deb "$work/deb/root"
    cp "$(find "$work/deb/root" -name "$4")" "$work/all/$called.so"
    (cd "$work/deb" && echo "$called $1 $(sha256sum ./*.deb)") >>"$work/all/VERSIONS"
}

fetch() {
    work_open all
    apt_open "$(dpkg --print-architecture)"
    later=${releases#*"$codename"}
    [ -n "$later" ] && [ "$later" != "$releases" ] || cannot "peers/peers.sh knows no release of Debian after $codename: add it"
    for release in $later; do
        if ! sources "$release"; then
            why="apt cannot read $release ($(grep -m 1 '^[WE]: ' "$log"))"
            echo "peers: $why" >&2
            continue
        fi
        while read -r name packages library; do fetch_one "$release" "$name" "$packages" "$library"; done <<END
$mallocs
END
    done
    [ -s "$work/all/VERSIONS" ] ||
        cannot "${why:-there is no newer malloc in$later}: see that 'apt-get update' works and the mirror is Debian's"
    rm -rf "$folder"
    mv "$work/all" "$folder"
}

# The highest version of that family in a file: GLIBC_2.36.
highest() { grep -aoE "$1_[0-9][0-9.]*" "$2" | sort -V | tail -n 1; }

# Turns the loader's message into what the library needs. The loader prints a line for each missing version.
needs() {
    line=$(echo "$1" | grep " version \`.*' not found" | sort -V -t '`' -k 2 | tail -n 1)
    [ -n "$line" ] || { echo "does not load: $(echo "$1" | head -n 1 | sed 's/^cat: //')"; return; }
    version=$(echo "$line" | sed "s/.*version \`\([^']*\)'.*/\1/") file=$(echo "$line" | sed 's/^cat: \(.*\): version .*/\1/')
    has=$(highest "${version%_*}" "$file")
    echo "needs $version, this host has ${has#*_}"
}

try() { # file: renames it by whether it loads, and prints the result
    stem=${1%.*}
    words=${stem##*/}
    words="${words%-*} ${words##*-}"
    if said=$(LC_ALL=C LD_BIND_NOW=1 LD_PRELOAD=$1 cat </dev/null 2>&1) && [ -z "$said" ]; then
        [ "$1" = "$stem.so" ] || mv "$1" "$stem.so"
        echo "$words: locus eval -c mimalloc,${stem##*/}"
    else
        [ "$1" = "$stem.refused" ] || mv "$1" "$stem.refused"
        echo "$words: $(needs "$said")"
    fi
}

mkdir -p "$(dirname "$folder")"
folder=$(cd "$(dirname "$folder")" && pwd)/$(basename "$folder")
if [ -e "$folder" ] && [ ! -e "$folder/VERSIONS" ] && [ -n "$(ls -A "$folder" 2>&1)" ]; then
    echo "locus: peers: $folder has other contents: name a folder of its own" >&2
    exit 2
fi
exec 9>"$folder.lock"
flock 9
[ -z "$again" ] && [ -s "$folder/VERSIONS" ] || fetch
for file in "$folder"/*.so "$folder"/*.refused; do [ ! -e "$file" ] || try "$file"; done | sort -V
for file in "$folder"/*.so; do [ ! -e "$file" ] || exit 0; done
cannot "none of these loads on this machine: take a newer release"
