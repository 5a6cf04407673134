#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# The Python package on two nodes, in the emulated machine n2: a pool bound to node 1, a window that shows it, and a far tier there.
# Where their pages are, move_pages and numa_maps say. The guest gets this machine's Python, as far as the program needs it.
# BUILD: folder of the build.
set -u
: "${BUILD:?BUILD must name the folder of the build}"
cd "$(dirname "$0")/../../.." || exit 1
. testbed/tests/cases.bash
needs_guest 'the Python package'

python=/usr/bin/python3
version=$($python -c 'import sys; print("python%d.%d" % sys.version_info[:2])' 2>/dev/null)
backend=$($python -c 'import _cffi_backend; print(_cffi_backend.__file__)' 2>/dev/null)
[ -n "$backend" ] || { skip 'the Python package on two nodes' "$python has no cffi"; done_testing; exit; }
(cd placement/python && $python setup.py -q build) >"$scratch/build" 2>&1 ||
    { fail 'the package is built' "$(tail -n 3 "$scratch/build" | paste -sd ' ')"; done_testing; exit; }
cp build/python/lib*/locus/_native.abi3.so "$scratch" || exit 1 # a file of the project would keep its path
mkdir -p "$scratch/home/lib" "$scratch/home/site"
tar -C /usr/lib --exclude=test --exclude=idlelib --exclude=lib2to3 --exclude=ensurepip --exclude=pydoc_data --exclude='config-*' \
    --exclude=distutils --exclude=tkinter --exclude=turtledemo -cf - "$version" | tar -C "$scratch/home/lib" -xf -
cp -r placement/python/locus "$scratch/home/site"
tar -C "$scratch/home" -cf "$scratch/python.tar" lib site

cat >"$scratch/pages.py" <<'END'
import locus
from locus._native import ffi

NODE, BLOCK, BLOCKS, PLANES = 1, 65536, 64, 4
pool = locus.Pool(BLOCKS, BLOCK, node=NODE, windows=True)
owner, table = locus.Owner(pool), locus.Table(BLOCKS, 16)
window = locus.Window(pool, BLOCKS, planes=PLANES)
with owner:
    owner.grow(table, BLOCKS)
window.show(0, table)
for at in range(0, window.nbytes, 4096):
    window.memory[at] = 1
far = locus.Tier.far(1 << 20, node=NODE)
far.store(1, bytes(500000)).result()


def say(what, pages, on, agrees):
    print(what, pages, dict(on), agrees)


found = pool.verify()
say("pool", found.pages_present, found.on, found.numa_maps_agrees)
seen = locus.where(window)
say("window", seen.pages_present, seen.on, None)
found = far.verify()
say("far", found.pages_present, found.on, found.numa_maps_agrees)
# The second witness of the window: its own lines.
first = int(ffi.cast("uintptr_t", ffi.from_buffer(window.memory)))
on = {}
for line in open("/proc/self/numa_maps"):
    words = line.split()
    if first <= int(words[0], 16) < first + window.nbytes:
        for word in words:
            if word[0] == "N" and "=" in word:
                node, count = word[1:].split("=")
                on[int(node)] = on.get(int(node), 0) + int(count)
say("window-maps", sum(on.values()), on, None)
END
cat >"$scratch/run.sh" <<END
#!/bin/sh
mkdir -p /tmp/python && tar -C /tmp/python -xf /with/python.tar && cp /with/_native.abi3.so /tmp/python/site/locus/ &&
    cp /with/$(basename "$backend") /tmp/python/site/ || exit 3
PYTHONHOME=/tmp/python PYTHONPATH=/tmp/python/site PYTHONDONTWRITEBYTECODE=1 /with/$version /with/pages.py
END
sh testbed/guest/boot.sh --machine n2 --no-record --with "$scratch/python.tar" --with "$scratch/_native.abi3.so" --with "$backend" \
    --with "/usr/bin/$version" --with "$scratch/pages.py" --timeout 300 -- "$scratch/run.sh" >"$scratch/out" 2>"$scratch/err"
status=$?
title='a pool, a window and a far tier are opened in the guest'
if [ $status -eq 0 ]; then pass "$title"; else fail "$title" "exit $status: $(tail -n 3 "$scratch/err" | paste -sd ' ')"; fi
is() { # what, line
    local said
    said=$(grep "^$1 " "$scratch/out")
    if [ "$said" = "$1 $2" ]; then pass "$1: 0 pages astray"; else fail "$1: 0 pages astray" "$said"; fi
}
is pool '1024 {1: 1024} True'
is window '1024 {1: 1024} None'
is window-maps '1024 {1: 1024} None'
is far '256 {1: 256} True'
done_testing
