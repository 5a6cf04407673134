#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all free
#
# layers.sh: does `make layers` find violations? Each case breaks a rule in a copy of the sources; the unchanged copy passes. REPO
# names the checkout.
set -u
REPO=$(cd "${REPO:-$(dirname "$0")/../..}" && pwd) || exit 2
. "$(dirname "$0")/cases.bash"

copy() {
    rm -rf "$scratch/tree" && mkdir "$scratch/tree" && cd "$REPO" || exit 2
    cp -r topo placement testbed Makefile .ci "$scratch/tree/" && cd "$scratch/tree" || exit 2
}
case_of() { # name, pattern of the complaint or "", what is done to the copy
    copy
    eval "$3"
    make -s layers >"$out" 2>&1
    local status=$?
    if [ -z "$2" ]; then
        holds "$1" "$(head -n 1 "$out")" [ $status -eq 0 ]
    else
        holds "$1" "exit $status: $(head -n 1 "$out")" complained $status "$2"
    fi
}
complained() { [ "$1" -ne 0 ] && grep -qE "^layers: $2" "$out"; } # status, pattern
include() { sed -i "0,/^#include/s|^#include|#include \"$2\"\n&|" "$1"; } # file, header

case_of "the sources as they are pass" '' :
case_of "an include of a room above is seen" 'testbed/base/words.c:.*does not use testbed/report' \
    'include testbed/base/words.c testbed/report/board/board.h'
case_of "and one of a room below that is not used" 'testbed/workload/trace.c:.*does not use testbed/counters' \
    'include testbed/workload/trace.c testbed/counters/counters.h'
case_of "a circle of rooms is seen" 'testbed/record/README.md: .*cannot use testbed/judge' \
    'sed -i "s|^Uses:|& testbed/judge|" testbed/record/README.md; include testbed/record/log.c testbed/judge/verdict.h'
case_of "a private header of topo is seen" 'testbed/host/probe.c:.*"topo/sysfs.h" is private' \
    'include testbed/host/probe.c topo/sysfs.h'
case_of "a private header of placement is seen" 'testbed/measure/engine.c:.*is private' \
    'include testbed/measure/engine.c placement/memory/region_internal.h'
case_of "a public header that is not there is seen" 'testbed/measure/engine.c:.*no public header' \
    'include testbed/measure/engine.c locus/rules.h'
case_of "a public header that includes a private one is seen" 'placement/include/locus/pool.h:.*only public ones' \
    'include placement/include/locus/pool.h placement/base/rules.h'
case_of "and one that includes another by its folder" 'placement/include/locus/pool.h:.*only public ones' \
    'include placement/include/locus/pool.h locus/block.h'
case_of "a public header of placement in topo is seen" 'topo/pin.c:.*does not use placement' 'include topo/pin.c locus/policy.h'
case_of "a header of tests is not for others" 'testbed/host/probe.c:.*header of tests' \
    'include testbed/host/probe.c topo/tests/tree.h'
case_of "a room without its line is seen" 'testbed/stats/README.md has no line' 'sed -i /^Uses:/d testbed/stats/README.md'
done_testing
