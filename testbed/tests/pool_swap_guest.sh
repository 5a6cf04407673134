#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# An arena of pages on one node and a tier on another, in the emulated machines n2 (two sockets) and cxl (node 2 has memory only):
# near pages are near and far pages far by move_pages and by numa_maps, arena and tier count the same pages, and a way there and
# back leaves every tag (testbed/pool/tests/swap_scenario.c). BUILD=folder of the build.
set -u
: "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1

needs_guest pool_swap

scenario=${BUILD#"$PWD"/}/testbed/pool/tests/swap_scenario
swaps() { # machine, near, far
    local said=$scratch/$1-$2-$3
    printf '#!/bin/sh\nexec %s %s %s\n' "$scenario" "$2" "$3" >"$scratch/run.sh"
    sh testbed/guest/boot.sh --machine "$1" --no-record --with "$scenario" --timeout 120 -- "$scratch/run.sh" >"$said" 2>"$said.err"
    local status=$?
    sed 's/^/    /' "$said"
    holds "$1: from node $2 to node $3 and back, every page counted and every tag as it was" \
        "exit $status: $(tail -n 2 "$said" "$said.err" | tr '\n' ';')" \
        [ "$status" = 0 ] && [ "$(tail -n 1 "$said")" = 'every tag is as it was' ]
}
swaps n2 0 1
swaps cxl 0 2
done_testing
