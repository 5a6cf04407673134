#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# suite: all alone
#
# Power loss, 20 times at random moments, under a process that writes ledger and logs (record_kill_scenario.c has the checks,
# power.bash the method). BUILD=path/to/build/variant; SEED repeats a run.
set -u
: "${BUILD:?BUILD must name the folder of a build}"
. "$(dirname "$0")/power.bash"

scenario=$BUILD/testbed/record/tests/record_kill_scenario
way=LOCUS_JOURNAL
nosync=$BUILD/testbed/record/tests/record_nosync_inject.so losing_way=plain
acknowledged=''
lost=': lost: '
losing=without_fsync_a_power_cut_loses_acknowledged_lines
power_cuts "$@"
