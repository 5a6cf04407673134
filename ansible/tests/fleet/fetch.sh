#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fetch.sh [--again] FOLDER PACKAGE...: unpacks Debian packages, and the libraries of theirs that this machine lacks, into
# FOLDER/root, to be laid over the root of fake hosts (fleet.bash). Nothing is installed, because a package like openssh-server
# would start its service on this very machine; root is not needed. FOLDER/VERSIONS names each package with its checksum.
#
# Exit status: 0 it is there; 77 it is not available here (one line says why, and the remedy).
set -eu
. "$(dirname "$0")/../../../testbed/guest/apt.sh"

again=
[ "${1-}" != --again ] || { again=yes; shift; }
folder=$1
shift
wanted=$*

cannot() { # why, and the remedy
    echo "locus: fleet: $1, then run: sh ansible/tests/fleet/fetch.sh $folder $wanted" >&2
    exit 77
}

complete() { [ "$(head -n 1 "$folder/VERSIONS" 2>/dev/null)" = "$wanted" ]; }

lock_folder
work_open debs all all/root
apt_open "$(dpkg --print-architecture)"
sources "$codename" || cannot "apt cannot read the mirror ($(grep -m 1 '^[WE]: ' "$log")): see that 'apt-get update' works"
packages=$(private apt-get -s --no-install-recommends install $wanted 2>"$log" | sed -n 's/^Inst \([^ ]*\) .*/\1/p') ||
    cannot "apt cannot resolve $wanted ($(grep -m 1 '^E: ' "$log")): add the main component to apt's sources"
(cd "$work/debs" && private apt-get -qq download $wanted $packages) >"$log" 2>&1 ||
    cannot "the packages cannot be fetched ($(grep -m 1 '^E: ' "$log")): see that 'apt-get update' works"
for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$work/all/root"; done

# Where /lib is a link to /usr/lib, a folder lib laid over it would hide all libraries.
for name in bin sbin lib lib64; do
    [ -L /$name ] && [ -d "$work/all/root/$name" ] || continue
    mkdir -p "$work/all/root/usr/$name"
    cp -a "$work/all/root/$name/." "$work/all/root/usr/$name/"
    rm -rf "$work/all/root/${name:?}"
done
{
    echo "$wanted"
    (cd "$work/debs" && sha256sum ./*.deb)
} >"$work/all/VERSIONS"
rm -rf "$folder"
mv "$work/all" "$folder"
