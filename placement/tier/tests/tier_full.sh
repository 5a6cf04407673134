#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# A tier in a file on a file system that is really full: a small tmpfs, in a mount namespace that ends with the script
# (tier_full_scenario.c has the cases). BUILD=path/to/build/variant
set -u
: "${BUILD:?BUILD must name the folder of a build}"
skip() {
    echo "ok - tier_full # SKIP $1"
    echo 1..1
    exit 0
}
if [ "${1-}" != inside ]; then
    unshare -m true 2>/dev/null || skip "needs the right to make a mount namespace"
    scratch=$(mktemp -d) || exit 1
    trap 'rmdir "$scratch"' EXIT
    unshare -m --propagation private sh "$0" inside "$scratch"
    exit
fi
mount -t tmpfs -o size=8m,huge=never tmpfs "$2" 2>/dev/null || mount -t tmpfs -o size=8m tmpfs "$2" 2>/dev/null ||
    skip "needs the right to mount a tmpfs"
failures=0
for engine in io_uring plain; do
    LOCUS_TIER=$engine timeout 60 "$BUILD/placement/tier/tests/tier_full_scenario" "$2" || failures=1
done
echo 1..8
[ "$failures" -eq 0 ]
