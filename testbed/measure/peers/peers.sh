#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# peers.sh [--again] [DIR]: fetches the mallocs of Debian's later releases to DIR (build/peers): 20 MB, nearly all of it package
# lists, which are fetched again for each that is built. It installs nothing and needs no root (guest/apt.sh); packages are only
# unpacked.
#
# A package may have been built for a newer libc than this host's. Then its source package, of the same version, is fetched and
# built here (a minute for jemalloc): upstream's tarball with upstream's defaults, without Debian's patches and options.
#
#   DIR/NAME-VERSION.so        one that loads here: locus eval -c mimalloc,NAME-VERSION
#   DIR/NAME-VERSION.refused   one that does not, and could not be built; the script prints what it needs
#   DIR/NAME-VERSION.log       why its build failed
#   DIR/VERSIONS               the packages, and the tarballs of those built here, with their checksums
#
# What is there is not fetched or built again, but what does not load is tried again, because libraries are upgraded and tools
# installed. A version that is installed here, or that an earlier release also has, is skipped.
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

tools() { # name: what its build takes; nothing for a malloc that has no recipe
    case $1 in
    jemalloc) echo tar gcc g++ make autoconf ;;
    tcmalloc) echo tar gcc g++ make cmake ;;
    esac
}

# Without a build type cmake does not optimize. A tarball made by a forge, and not by `make dist`, does not know its version.
compile() { # name, version: in the unpacked source
    unset MAKEFLAGS CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS
    case $1 in
    jemalloc) ./autogen.sh --with-version="$2-0-g0" && nice make -j2 build_lib_shared ;;
    tcmalloc) cmake -G 'Unix Makefiles' -DCMAKE_BUILD_TYPE=RelWithDebInfo . && nice make -j2 tcmalloc_minimal ;;
    esac
}

# A malloc that VERSIONS does not know has no source. False: it could not be built, and says why, if it has a source.
build() ( # called, what its package needs
    cannot() { echo "; $*, then run: $call"; exit 1; }
    read -r _ release _ package <<END
$(grep "^$1 .*\.deb$" "$folder/VERSIONS")
END
    tools=$(tools "${1%-*}")
    [ -n "$tools" ] && [ -n "$package" ] || exit 1
    missing=$(for tool in $tools; do command -v "$tool" >/dev/null || echo "$tool"; done)
    [ -z "$missing" ] || cannot "to build it here, install" $missing
    work_open source
    apt_open "$(dpkg --print-architecture)"
    package=$(basename "$package" | awk -F _ '{ print $1 "=" $2 }')
    kinds='deb deb-src'
    sources "$release" && cd "$work/source" &&
        private apt-get -qq -t "$release" source --download-only --tar-only "$package" >"$log" 2>&1 ||
        cannot "its source cannot be fetched ($(grep -m 1 '^[WE]: ' "$log")): see that 'apt-get update' works, or take newer ones" \
            "(peers.sh --again)"
    tarball=$(ls)
    rm -f "$folder/$1.log"
    { tar -xf "$tarball" --one-top-level=tree --strip-components=1 && cd tree && compile "${1%-*}" "${1##*-}"; } >"$log" 2>&1 &&
        built=$(find . -type f -name 'lib*malloc*.so*') && { loads "$built" || { echo "$said" >>"$log"; false; }; } || {
        mv "$log" "$folder/$1.log"
        cannot "its source does not build here: see $folder/$1.log"
    }
    mv "$built" "$folder/$1.so" && rm "$folder/$1.refused" && sed -i "/^$1 .*, built here /d" "$folder/VERSIONS" &&
        echo "$1 $release $(cd .. && sha256sum "$tarball"), built here from Debian's source: the package ${2%%,*}" \
            >>"$folder/VERSIONS" || cannot "$folder cannot be written to: make room there"
)

loads() { said=$(LC_ALL=C LD_BIND_NOW=1 LD_PRELOAD=$1 cat </dev/null 2>&1) && [ -z "$said" ]; }

try() { # file: renames it by whether it loads or else builds it, and prints the result
    stem=${1%.*} called=${1##*/} called=${called%.*}
    words="${called%-*} ${called##*-}"
    if ! loads "$1"; then
        [ "$1" = "$stem.refused" ] || mv "$1" "$stem.refused"
        need=$(needs "$said")
        lacks=$(build "$called" "$need") || { echo "$words: $need$lacks"; return; }
    elif [ "$1" = "$stem.refused" ]; then
        mv "$1" "$stem.so"
    fi
    echo "$words: locus eval -c mimalloc,$called$(sed -n "s/^$called .*, \(built here .*\)/ (\1)/p" "$folder/VERSIONS")"
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
