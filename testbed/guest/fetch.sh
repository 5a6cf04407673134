#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# fetch.sh [--again] [DIR]: fetches an emulated guest to DIR (build/guest), about 150 MB. It installs nothing and needs no root
# (apt.sh): packages are only unpacked.
#
#   DIR/qemu      runs QEMU with the libraries and the firmware beside it
#   DIR/vmlinux   the kernel as an ELF file, which QEMU starts directly: decompressing a bzImage would be emulated
#   DIR/busybox   the tools inside the guest, statically linked
#   DIR/VERSIONS  the versions, and the checksum of every package
#
# The mirror is that of this machine's apt sources. QEMU and the kernel come from the same release: the stable one if its QEMU is
# version 10 or newer, otherwise its backports, otherwise stable after all. They are never mixed, because QEMU 7.2 corrupts memory
# at random under kernel 6.12. The older pair (7.2 and 6.1) works, but has no weighted interleave.
#
# Exit status: 0 it is there; 77 it is not available here (one line says why, and the remedy).
set -eu
here=$(dirname "$0")
. "$here/apt.sh"
arguments build/guest "$@"

complete() {
    [ -x "$folder/qemu" ] && [ -s "$folder/vmlinux" ] && [ -x "$folder/busybox" ] && [ -s "$folder/VERSIONS" ] &&
        "$folder/qemu" --version >/dev/null 2>&1
}

[ "$(uname -m)" = x86_64 ] || cannot "this is a $(uname -m) host, the guest an x86-64 machine: take an x86-64 host"
lock_folder
work_open debs guest kernel tools
apt_open amd64

major() { echo "$1" | sed 's/^[0-9]*://; s/[^0-9].*//'; }

sources "$codename" || cannot "apt cannot read the mirror ($(grep -m 1 '^[WE]: ' "$log")): see that 'apt-get update' works"
release=$codename
if [ "$(major "$(newest "$codename" qemu-system-x86)")" -lt 10 ] 2>/dev/null; then
    if sources "$codename" "$codename-backports"; then release=$codename-backports; else sources "$codename"; fi
fi
qemu=$(newest "$release" qemu-system-x86)
meta=$(newest "$release" linux-image-cloud-amd64)
[ -n "$qemu" ] && [ -n "$meta" ] ||
    cannot "$release has no qemu-system-x86 or no linux-image-cloud-amd64: add a mirror of Debian to apt's sources"
kernel=$(private apt-cache show "linux-image-cloud-amd64=$meta" | sed -n 's/^Depends: \(linux-image-[^ ]*\).*/\1/p')

# --- the packages --------------------------------------------------------------------------------------------------------------

# apt would install the libraries that this machine lacks for QEMU.
libraries=$(private apt-get -s --no-install-recommends -t "$release" install "qemu-system-x86=$qemu" 2>/dev/null |
    sed -n 's/^Inst \([^ ]*\) .*/\1/p' | grep -v '^qemu-\|^seabios$' || true)
(cd "$work/debs" && private apt-get -qq -t "$release" download "$kernel" qemu-system-x86 qemu-system-data \
    qemu-system-common seabios busybox-static $libraries) >"$log" 2>&1 ||
    cannot "the packages cannot be fetched ($(grep -m 1 '^E: ' "$log")): see that 'apt-get update' works"
for package in "$work"/debs/*.deb; do
    case ${package##*/} in
    linux-image*) dpkg-deb -x "$package" "$work/kernel" ;;
    busybox-static*) dpkg-deb -x "$package" "$work/tools" ;;
    *) dpkg-deb -x "$package" "$work/guest/root" ;;
    esac
done

cat >"$work/guest/qemu" <<'END'
#!/bin/sh
here=$(dirname "$0")/root
export LD_LIBRARY_PATH="$here/usr/lib/x86_64-linux-gnu:$here/lib/x86_64-linux-gnu"
exec "$here/usr/bin/qemu-system-x86_64" -L "$here/usr/share/qemu" -L "$here/usr/share/seabios" "$@"
END
cp "$(find "$work/tools" -path '*/bin/busybox')" "$work/guest/busybox"
chmod 755 "$work/guest/qemu" "$work/guest/busybox"
{
    echo "kernel $kernel $meta"
    echo "qemu $qemu"
    echo "release $release"
    (cd "$work/debs" && sha256sum ./*.deb)
} >"$work/guest/VERSIONS"

# --- the kernel ----------------------------------------------------------------------------------------------------------------

# A bzImage's header (Documentation/arch/x86/boot.rst) says where the compressed ELF file begins, after the set-up sectors.
number() { od -An -t "u$2" -j "$3" -N "$2" "$1" | tr -d ' '; }

image=$(find "$work/kernel/boot" -name 'vmlinuz-*')
[ "$(number "$image" 4 514)" = 1400005704 ] || cannot "$kernel is not a bzImage: report this" # "HdrS"
start=$((($(number "$image" 1 497) + 1) * 512 + $(number "$image" 4 584)))
payload() { tail -c +$((start + 1)) "$image" | head -c "$(number "$image" 4 588)"; }
case $(payload | head -c 4 | od -An -tx1 | tr -d ' ') in
28b52ffd) unpack='zstd -dc' remedy=zstd ;;
fd377a58) unpack='xz -dc --single-stream' remedy=xz-utils ;;
02214c18) unpack='lz4 -dc' remedy=lz4 ;;
*) cannot "$kernel is compressed in a way that fetch.sh does not know: add it there" ;;
esac
command -v "${unpack%% *}" >/dev/null || cannot "${unpack%% *} is missing, which unpacks $kernel: apt-get install $remedy"
payload | $unpack >"$work/guest/vmlinux" 2>/dev/null || true # the tools take the size after the stream for garbage
[ "$(head -c 4 "$work/guest/vmlinux" | tail -c 3)" = ELF ] ||
    cannot "$kernel did not unpack to an ELF file: see that the disk is not full"

# --- is it complete? -----------------------------------------------------------------------------------------------------------

"$work/guest/qemu" --version >"$log" 2>&1 || cannot "QEMU does not start ($(head -n 1 "$log")): apt-get install qemu-system-x86"
"$work/guest/busybox" true || cannot "busybox does not start: see that $folder is not mounted noexec"
rm -rf "$folder"
mv "$work/guest" "$folder"
echo "guest: $(head -n 1 "$log"), $kernel, in $folder" >&2
