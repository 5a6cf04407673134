#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fetch-user.sh [--again] [DIR]: fetches QEMU's user-mode emulation to DIR (build/guest-user), about 15 MB. It installs nothing and
# needs no root (apt.sh). counted.sh starts it.
#
#   DIR/qemu-user  runs it with the libraries beside it
#   DIR/VERSIONS   the version, and the checksum of every package
#
# It comes from this machine's stable release and never from its backports: Debian links the user-mode emulation of QEMU 9.1 and
# later statically, and a static QEMU loads no plugin.
#
# Exit status: 0 it is there; 77 it is not available here (one line says why, and the remedy).
set -eu
here=$(dirname "$0")
. "$here/apt.sh"
arguments build/guest-user "$@"

complete() { [ -s "$folder/VERSIONS" ] && "$folder/qemu-user" --help 2>/dev/null | grep -q '^-plugin'; }

[ "$(uname -m)" = x86_64 ] || cannot "this is a $(uname -m) host, and the plugin reads x86-64 instructions: take an x86-64 host"
lock_folder
work_open debs user
apt_open amd64
sources "$codename" || cannot "apt cannot read the mirror ($(grep -m 1 '^[WE]: ' "$log")): see that 'apt-get update' works"
qemu=$(newest "$codename" qemu-user)
[ -n "$qemu" ] || cannot "$codename has no qemu-user: add a mirror of Debian to apt's sources"

# apt would install the libraries that this machine lacks for it.
libraries=$(private apt-get -s --no-install-recommends install "qemu-user=$qemu" 2>/dev/null |
    sed -n 's/^Inst \([^ ]*\) .*/\1/p' | grep -v '^qemu-' || true)
(cd "$work/debs" && private apt-get -qq download "qemu-user=$qemu" $libraries) >"$log" 2>&1 ||
    cannot "the packages cannot be fetched ($(grep -m 1 '^E: ' "$log")): see that 'apt-get update' works"
for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$work/user/root"; done
find "$work/user/root/usr/bin" -type f ! -name qemu-x86_64 -delete # of some thirty architectures

# The program that is emulated gets the caller's LD_LIBRARY_PATH, and not QEMU's.
cat >"$work/user/qemu-user" <<'END'
#!/bin/sh
here=$(dirname "$0")/root
if [ -n "${LD_LIBRARY_PATH-}" ]; then set -- -E "LD_LIBRARY_PATH=$LD_LIBRARY_PATH" "$@"; else set -- -U LD_LIBRARY_PATH "$@"; fi
export LD_LIBRARY_PATH="$here/usr/lib/x86_64-linux-gnu:$here/lib/x86_64-linux-gnu"
exec "$here/usr/bin/qemu-x86_64" "$@"
END
chmod 755 "$work/user/qemu-user"
{
    echo "qemu-user $qemu"
    echo "release $codename"
    (cd "$work/debs" && sha256sum ./*.deb)
} >"$work/user/VERSIONS"
rm -rf "$folder"
mv "$work/user" "$folder"
complete || cannot "the qemu-user of $codename ($qemu) loads no plugins: take Debian 12"
echo "guest: $("$folder/qemu-user" --version | head -n 1), in $folder" >&2
