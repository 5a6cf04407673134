#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fetch-arm64.sh [--again]: fetches an aarch64 guest to build/guest-arm64, about 150 MB: the files of fetch.sh for aarch64, and a
# sysroot to build for it. It installs nothing (apt.sh), but needs an installed cross compiler: apt-get install
# gcc-aarch64-linux-gnu. QEMU shares the libraries and the firmware of build/guest, and comes from the same release.
#
# Exit status: 0 it is there; 77 it is not available here (one line says why, and the remedy).
set -eu
here=$(dirname "$0")
folder=$(pwd)/build/guest-arm64 shared=$(pwd)/build/guest
. "$here/apt.sh"

call='sh testbed/guest/fetch-arm64.sh' again=
[ "${1-}" != --again ] || again=yes

complete() {
    [ -s "$folder/VERSIONS" ] && [ -e "$folder"/sysroot/usr/lib/aarch64-linux-gnu/libstdc++.so.6 ] &&
        [ -e "$folder"/sysroot/usr/lib/aarch64-linux-gnu/libz.so ]
}

apt_tools
sh "$here/fetch.sh" "$shared"
lock_folder
work_open qemu debs kernel guest guest/sysroot
release=$(sed -n 's/^release //p' "$shared/VERSIONS")

fetch() { # folder, package...: for the architecture of apt_open
    (cd "$work/$1" && shift && private apt-get -qq -t "$release" download "$@") >"$log" 2>&1 ||
        cannot "the packages cannot be fetched ($(grep -m 1 '^E: ' "$log")): see that 'apt-get update' works"
}

apt_open amd64
sources "$codename" "$release" ||
    cannot "apt cannot read the mirror ($(grep -m 1 '^[WE]: ' "$log")): see that 'apt-get update' works"
fetch qemu qemu-system-arm
dpkg-deb -x "$work"/qemu/*.deb "$work/guest/root"

# The project's libraries, as in .ci/deps.sh, and their dependencies; libstdc++ is llama.cpp's.
apt_open arm64
sources "$codename" "$release" || cannot "the mirror has no arm64 ($(grep -m 1 '^[WE]: ' "$log")): take one of Debian's"
meta=$(newest "$release" linux-image-cloud-arm64)
kernel=$(private apt-cache show "linux-image-cloud-arm64=$meta" | sed -n 's/^Depends: \(linux-image-[^ ]*\).*/\1/p')
[ -n "$kernel" ] || cannot "$release has no linux-image-cloud-arm64: add a mirror of Debian to apt's sources"
fetch kernel "$kernel"
release=$codename # of the libraries
fetch debs $(private apt-get -s --no-install-recommends install libc6-dev libhwloc-dev libnuma-dev libjansson-dev libyaml-dev \
    libssl-dev liburing-dev libzstd-dev zlib1g-dev libpfm4-dev libmicrohttpd-dev libcriterion-dev libstdc++6 \
    busybox-static 2>/dev/null |
    sed -n 's/^Inst \([^ ]*\) .*/\1/p')
dpkg-deb -x "$work"/kernel/*.deb "$work/kernel"
for package in "$work"/debs/*.deb; do dpkg-deb -x "$package" "$work/guest/sysroot"; done

cat >"$work/guest/qemu" <<END
#!/bin/sh
root=\$(dirname "\$0")
shared=\$root/../guest/root
export LD_LIBRARY_PATH="\$shared/usr/lib/x86_64-linux-gnu:\$shared/lib/x86_64-linux-gnu"
exec "\$root/root/usr/bin/qemu-system-aarch64" -L "\$shared/usr/share/qemu" "\$@"
END
chmod 755 "$work/guest/qemu"
cp "$work"/kernel/boot/vmlinuz-* "$work/guest/vmlinux" # an uncompressed Image already
cp "$work/guest/sysroot/bin/busybox" "$work/guest/busybox"
{
    echo "kernel $kernel $meta"
    echo "release $release"
    (cd "$work" && sha256sum ./*/*.deb)
} >"$work/guest/VERSIONS"
rm -rf "$folder"
mv "$work/guest" "$folder"
"$folder/qemu" --version >/dev/null 2>&1 ||
    cannot "QEMU does not start ($("$folder/qemu" --version 2>&1 | head -n 1)): apt-get install qemu-system-arm"
echo "guest: $kernel, in $folder" >&2
