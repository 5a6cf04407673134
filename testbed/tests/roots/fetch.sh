#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fetch.sh [--again] [DIR]: fetches the machines of hwloc's own tests to DIR (build/roots): copies of their /sys and /proc, as
# hwloc-gather-topology made them on real machines, and some that were written by hand. They are in Debian's source package of
# hwloc (3 MB), and unpacked have 140 MB. It installs nothing and needs no root (guest/apt.sh).
#
#   DIR/MACHINE    one machine: its sys/devices/system and proc, without caches and frequencies
#   DIR/VERSIONS   the package, and the checksum of the tarball
#
# The release is a fixed one, because expected.tsv is of its machines.
#
# Exit status: 0 they are there; 1 the tarball is not the one that was pinned; 77 it is not available here (one line says why, and
# the remedy).
set -eu
here=$(dirname "$0")
release=bookworm version=2.9.0-1 tarball=hwloc_2.9.0.orig.tar.bz2
pin=b3fb1a43a14d8fbcd8e976de5ede2ea7ce1d768ed173adb33c7ceaaf098dc970

. "$here/../../guest/apt.sh"
arguments build/roots "$@"
subject=roots

complete() { grep -qx "hwloc $version" "$folder/VERSIONS" 2>/dev/null; }

command -v bzip2 >/dev/null || cannot "bzip2 is missing, which unpacks them: apt-get install bzip2"
lock_folder
work_open source suite roots
apt_open "$(dpkg --print-architecture)"
kinds=deb-src
sources $release || cannot "apt cannot read the mirror ($(grep -m 1 '^[WE]: ' "$log")): see that 'apt-get update' works"
(cd "$work/source" && private apt-get -qq source --download-only --tar-only hwloc=$version) >"$log" 2>&1 ||
    cannot "the source package cannot be fetched ($(grep -m 1 '^[WE]: ' "$log")): see that 'apt-get update' works"
found=$(sha256sum "$work/source/$tarball" | cut -d ' ' -f 1)
[ "$found" = $pin ] || {
    echo "locus: roots: $tarball is not the one that was pinned: its sha256 is $found, not $pin" >&2
    exit 1
}

tar -xjf "$work/source/$tarball" -C "$work/suite" --strip-components=3 --wildcards '*/tests/hwloc/linux/*.tar.bz2' \
    '*/tests/hwloc/x86+linux/*.tar.bz2'
find "$work/suite" -name '*.tar.bz2' | while read -r machine; do
    tar -xjf "$machine" -C "$work/roots" --no-same-owner --no-same-permissions --exclude='*/cache/*' --exclude='*/cpuidle/*' \
        --exclude='*/cpufreq/*' --exclude='*/sys/class/*' --exclude='*/sys/devices/pci*'
done
for nested in "$work"/roots/*/fsroot; do # what CPUID said is beside these
    mv "$nested" "$work/fsroot"
    rm -rf "${nested%/*}"
    mv "$work/fsroot" "${nested%/*}"
done
{
    echo "hwloc $version"
    (cd "$work/source" && sha256sum $tarball)
} >"$work/roots/VERSIONS"
rm -rf "$folder"
mv "$work/roots" "$folder"
echo "roots: $(find "$folder" -mindepth 1 -maxdepth 1 -type d | wc -l) machines of hwloc ${version%-*}, in $folder" >&2
