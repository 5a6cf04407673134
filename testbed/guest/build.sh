#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# build.sh BUSYBOX ROOT IMAGE [FILE PATH]...: fills the folder ROOT with the guest's root file system and packs it into IMAGE, an
# uncompressed cpio (decompression would be emulated). Run it in the project's folder, whose path is PROJECT; "": no project.
#
#   /bin       busybox and its names, offline-node
#   /locus     the project without ignored files: the command's working directory. RECORD is the host whose logs go along, and
#              .git does, too; "": neither
#   and each FILE at its PATH, a program's shared libraries at theirs; git; GNU tar, for packets;
#   what is loaded by name: the compared mallocs; libgcc_s, by glibc where a thread ends before its function does
#
# For a guest of another architecture SYSROOT is the folder with its libraries, and PACKER is a busybox that runs here. Such a
# guest gets no git, tar or mallocs.
set -eu
busybox=$1 root=$2 image=$3
shift 3
here=$(dirname "$0")

sysroot=${SYSROOT-}

in_sysroot() { # library's name: its path in the guest
    (cd "$sysroot" && find ./lib ./usr/lib -name "$1" | head -n 1 | cut -c 2-)
}

libraries() { # program: its libraries' paths in the guest
    if [ -z "$sysroot" ]; then
        ldd "$1" 2>/dev/null | sed -n 's,^[^/]*\(/[^ ]*\).*,\1,p'
        return
    fi
    readelf -ld "$1" 2>/dev/null | sed -n 's/.*program interpreter: \(.*\)].*/\1/p; s/.*(NEEDED).*\[\(.*\)]/\1/p' |
        while read -r name; do
            case $name in
            /*) echo "$name" ;;
            *) in_sysroot "$name" ;;
            esac
        done
}

take() { # file with its libraries, path in the guest
    mkdir -p "$root$(dirname "$2")"
    cp -L "$1" "$root$2"
    chmod 755 "$root$2"
    libraries "$1" | while read -r library; do
        [ ! -e "$root$library" ] || continue
        if [ -n "$sysroot" ]; then
            take "$sysroot$library" "$library" # ldd also lists the libraries that it needs
        else
            mkdir -p "$root$(dirname "$library")"
            cp -L "$library" "$root$library"
        fi
    done
}

mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/results" "$root/locus" "$root/etc"
cp "$busybox" "$root/bin/busybox"
cp "$here/init.sh" "$root/init"
cp "$here/offline-node.sh" "$root/bin/offline-node"
ln "$root/bin/offline-node" "$root/bin/online-node"
chmod 755 "$root/init" "$root/bin/offline-node"
echo 'root:x:0:0:root:/:/bin/sh' >"$root/etc/passwd"
ln -s bin "$root/sbin"
[ -n "$sysroot" ] || [ ! -r /etc/ld.so.cache ] || cp /etc/ld.so.cache "$root/etc/"

own=${RECORD:+logs/$RECORD} # other hosts' logs are most of what there is, and nothing in the guest reads them

project_files() { # a trace of gigabytes would not fit into the guest's memory
    { git ls-files -z --cached --others --exclude-standard ':!logs' &&
        { [ -z "$own" ] || git ls-files -z --cached --others --exclude-standard "$own"; }; } 2>/dev/null |
        xargs -0 -r sh -c 'find "$@" -maxdepth 0 ! -type d -size -32768k 2>/dev/null' find
}
if [ -z "${PROJECT-}" ]; then
    : # /locus is empty
elif [ -n "$(project_files | head -n 1)" ]; then
    project_files | tar -cf - -T - | tar -C "$root/locus" -xf -
else # no repository, or not ours
    { find . \( -path ./build -o -path ./.git -o -path ./logs \) -prune -o -type f -size -32768k -print
        [ ! -d "$own" ] || find "./$own" -type f -size -32768k; } | tar -cf - -T - | tar -C "$root/locus" -xf -
fi
if [ -n "${PROJECT-}" ] && [ -n "$own" ] && [ -d .git ] && command -v git >/dev/null; then
    cp -R .git "$root/locus/" 2>/dev/null || true # a commit may happen meanwhile
    [ -n "$sysroot" ] || take "$(command -v git)" /usr/bin/git
fi
[ -n "$sysroot" ] || ! tar --version 2>/dev/null | grep -q '^tar (GNU' || take "$(command -v tar)" /bin/tar
by_name() { # their paths in the guest
    if [ -n "$sysroot" ]; then
        in_sysroot libgcc_s.so.1
    else
        PATH=$PATH:/sbin:/usr/sbin ldconfig -p | sed -nE 's,.*=> (.*/lib(gcc_s|jemalloc|mimalloc|tcmalloc|tbbmalloc)[^/]*)$,\1,p'
    fi
}
for library in $(by_name); do
    take "$sysroot$library" "$library"
done

while [ $# -gt 0 ]; do
    take "$1" "$2"
    shift 2
done
(cd "$root" && find . | "${PACKER:-$busybox}" cpio -o -H newc -R 0:0 2>/dev/null) >"$image"
