#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# A node goes offline under a domain, in the emulated machine `hot` (domain_hot_scenario.c). (guest.sh runs the domain's unit
# tests on machines with several nodes.) BUILD=path/of/the/build.
set -u
: "${BUILD:?BUILD must name the folder of the build}"
cd "$(dirname "$0")/../.." || exit 1
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
echo 1..1
name="a node that goes offline in mid-run is reported and no block is lost"

fail() {
    echo "not ok - $name: $1"
    exit 1
}

sh testbed/guest/or-skip.sh "$name" || exit $(($? == 1))

program=${BUILD#"$PWD"/}/placement/domain/tests/domain_hot_scenario
printf '#!/bin/sh\nexec %s 0 2 "offline-node 2"\n' "$program" >"$scratch/hot.sh"
sh testbed/guest/boot.sh --machine hot --no-record --with "$program" --timeout 60 -- "$scratch/hot.sh" \
    >"$scratch/out" 2>"$scratch/err"
status=$?
sed "s/^/    /" "$scratch/out"
[ $status -eq 0 ] || fail "exit $status: $(tail -n 1 "$scratch/err")"
[ "$(tail -n 1 "$scratch/out")" = "nothing was lost" ] || fail "it ended without its last word"
echo "ok - $name"
