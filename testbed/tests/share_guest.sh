#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# Requests of two nodes share a prefix, in the emulated machine n2 (testbed/contenders/tests/share_scenario.c). A shared block has
# one home, so the remote touches are exactly those of the sharers abroad: by the program's own page map, and by QEMU's plugin,
# which counts the stores from outside. A copy that a write makes lies on the writer's node. BUILD=folder of the build.
set -u
: "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1

needs_guest share

build=${BUILD#"$PWD"/}
cat >"$scratch/run.sh" <<END
#!/bin/sh
LD_PRELOAD=\$PWD/$build/testbed/measure/tests/window_inject.so LOCUS_WINDOW=200000000000 \
    $build/testbed/contenders/tests/share_scenario touches || exit
$build/testbed/contenders/tests/share_scenario copies
END
window=window=200000000000-200000400000,section=2097152
sh testbed/guest/boot.sh --machine n2 --no-record --accesses "$BUILD/testbed/guest/plugin,$window,out=$scratch/accesses" \
    --with "$BUILD/testbed/contenders/tests/share_scenario" --with "$BUILD/testbed/measure/tests/window_inject.so" \
    --timeout 120 -- \
    "$scratch/run.sh" >"$scratch/out" 2>"$scratch/err"
status=$?
awk '$6 > 0 { print $1, $2, $3, $6 }' "$scratch/accesses" >"$scratch/stores"

title="the requests of two nodes share a prefix and everything comes home"
if [ $status -eq 0 ]; then pass "$title"; else fail "$title" "exit $status: $(tail -n 3 "$scratch/err" | tr '\n' ';')"; fi

grep -v copy "$scratch/out" >"$scratch/touches"
title="stores equal touches to the unit"
if [ -s "$scratch/touches" ] && diff "$scratch/touches" "$scratch/stores" >"$scratch/difference" 2>&1; then
    pass "$title"
else
    fail "$title" "touches <, stores >: $(tr '\n' ';' <"$scratch/difference")"
fi

# 5 requests a node, 24 shared blocks and 7 of their own, 64 lines each, 3 times: the shared ones are all on node 0.
title="remote touches are those of the sharers abroad"
printf '%s\n' "0 0 0 $((5 * 31 * 64 * 3))" "0 1 0 $((5 * 24 * 64 * 3))" "1 1 1 $((5 * 7 * 64 * 3))" >"$scratch/expected"
if diff "$scratch/expected" "$scratch/stores" >"$scratch/difference" 2>&1; then
    pass "$title"
else
    fail "$title" "expected <, stores >: $(tr '\n' ';' <"$scratch/difference")"
fi

title="a copy lies on the writer's node"
copies=$(grep copy "$scratch/out" | sort | tr '\n' ';')
if [ "$copies" = 'copy 0 0;copy 1 1;' ]; then pass "$title"; else fail "$title" "$copies"; fi

done_testing
