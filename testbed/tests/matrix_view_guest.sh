#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# `locus matrix` in the emulated machine `cxl`, two sockets and memory without CPUs, whose firmware has figures of its own (HMAT):
# every page of every cell is on its node, and neither the firmware's figures nor ours become a result. LOCUS names the program.
# (matrix_guest.sh tests the cells.)
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1

needs_guest matrix_view_guest

locus 0 guest --machine cxl --timeout 240 -- matrix --rounds 1 --json || echo "$why"
says the_verdict_is_no_timing '.emulated == "cxl" and .verdict.answer == "emulated: no timing" and
    .verdict.sentence == .verdict.answer'
says no_time_no_ratio_no_rank '[.took_ns, .verdict.flat, .verdict.slowest_over_fastest,
    (.cells[] | .value, .time_ns, .loaded_bytes_per_s, .samples[])] | unique == [null]'
says every_pair_ran '[.cells[] | select(.kind == "latency" and .state == "emulated") | [.initiator, .memory]]
    == [[0,0],[0,1],[0,2],[1,0],[1,1],[1,2]]'
says every_kind_ran '[.cells[] | select(.state == "emulated") | .kind] | unique | length == 13'
says nothing_is_invalid '[.cells[] | select(.state != "emulated" and .state != "unmeasurable")] == []'
says what_did_not_run_says_why '[.cells[] | select(.state == "unmeasurable" and .why == null)] == []'
says every_page_is_on_its_node '[.cells[] | select(.state == "emulated") | .placement |
    .verified and .pages > 0 and .pages_there == .pages and .granted == .requested] | all'
says every_byte_was_moved '[.cells[] | select(.state == "emulated") | .bytes_moved > 0 and .bytes_moved == .bytes_planned] | all'
done_testing
