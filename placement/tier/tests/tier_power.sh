#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# suite: all alone
#
# Power loss, 20 times at random moments, under a process that stores in a tier's file and drops from it (tier_kill_scenario.c has
# the checks, testbed/tests/power.bash the method). BUILD=path/to/build/variant; SEED repeats a run.
set -u
: "${BUILD:?BUILD must name the folder of a build}"
. "$(dirname "$0")/../../../testbed/tests/power.bash"

scenario=$BUILD/placement/tier/tests/tier_kill_scenario
way=LOCUS_TIER
nosync=$BUILD/placement/tier/tests/tier_nosync_inject.so losing_way=io_uring
acknowledged='^[SD]'
lost=': lost: '
losing=without_the_linked_sync_a_power_cut_loses_acknowledged_objects
power_cuts "$@"
