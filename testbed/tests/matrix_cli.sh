#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus matrix from outside. LOCUS names the program, LOCUS_ASAN the one with AddressSanitizer, which also gets the bad input.
#
# Measurements here take tenths of a second; figures are used only to compare two views of the same one.
set -u
: "${LOCUS:?LOCUS must name the program}"
here=$(cd "$(dirname "$0")" && pwd)
fixtures=$here/../../topo/tests/fixtures
. "$(dirname "$0")/cases.bash"

matrix() { locus "$1" matrix "${@:2}"; }
refused() { refuses "$1" "$2" "$3" matrix "${@:4}"; }
plain() { ! grep -q "$(printf '\033')" "$1"; }

# --- bad input -----------------------------------------------------------------------------------------------------------------

refused unknown_flag 2 "'--bogus'" --bogus
refused stray_argument 2 "'read'" read
refused unknown_kind 2 "--kinds: 'speed' is none of latency" --kinds latency,speed
refused no_kind 2 '--kinds: the list is empty' --kinds ,
refused no_round 2 "--rounds: '0'" --rounds 0
refused too_many_rounds 2 "--rounds: '65'" -r 65
refused rounds_of_no_number 2 "--rounds: 'x'" -r x
refused seed_of_no_number 2 "--seed: '-1'" --seed=-1
refused two_forms_on_one_output 2 'only one of --json, --csv' --json --csv
refused described_machine_cannot_be_measured 2 'add --plan' --topology pu:2
refused described_root_cannot_be_measured 2 '--root: .*add --plan' --root "$fixtures"
refused root_that_is_no_machine 2 'fixtures: it lacks' --plan --root "$fixtures"
bare='pack:2 [numa(memory=0)] core:1 pu:1'
refused machine_without_memory 2 "$(sed 's/[][]/\\&/g' <<<"$bare"): cannot plan: no node there has CPUs" --plan --topology "$bare"
refused plan_has_no_drawing 2 '--plot: a plan' --plan --plot x.svg
refused plan_has_no_values 2 '--hwloc-xml: a plan' --plan --hwloc-xml x.xml
refused damaged_topology 2 'cut off' --plan --topology "$fixtures/truncated.xml"
refused garbage_topology 2 'neither a file' --plan --topology garbage
refused missing_folder 1 '/nonexistent/m.json: there is no such folder' --json=/nonexistent/m.json
refused folder_for_a_file 1 'Is a directory' --csv="$scratch"

# --- plans ---------------------------------------------------------------------------------------------------------------------

two='pack:2 [numa(memory=64GB)] core:4 pu:2'

check help matrix 0 --help
check help_is_narrow narrow "$out"
for word in latency nt-write working-set migration drain 'move_pages' 'huge pages' 'How to read it' --hwloc-xml 'lstopo'; do
    why="no '$word'"
    check "help_has_${word// /_}" grep -qe "$word" "$out"
done

check plan matrix 0 --plan --topology "$two" --json
says plan_is_json '.cells | length > 0'
says plan_has_every_pair '[.cells[] | select(.kind == "latency") | [.initiator, .memory]] == [[0,0],[0,1],[1,0],[1,1]]'
says plan_measured_nothing '[.cells[] | select(.state != "planned" and .state != "unmeasurable")] == []'
says plan_has_no_verdict '.verdict == null and .took_ns == null and ([.cells[].value] | unique == [null])'
says plan_knows_the_machine '.machine.source == "synthetic" and .machine.nodes_count == 2 and .machine.kernel == null'
machine_root "$scratch/box"
check plan_of_a_root matrix 0 --plan --root "$scratch/box" --json -k latency
says plan_of_a_root_has_its_nodes '[.cells[].initiator] | unique == [0, 1, 2, 3]'
says plan_of_a_root_has_its_memory '([.cells[].memory] | unique == [1, 2]) and .machine.source == "root"'
check plan_of_some_kinds matrix 0 --plan --topology "$two" --json -k latency,3:1 --seed 9223372036854775807
says plan_has_only_those '([.cells[].kind] | unique == ["3:1", "latency"]) and .config.kinds == ["latency", "3:1"]'
says plan_of_a_large_seed ".config.seed == 9223372036854775807"
check plan_beside_a_gpus_memory matrix 0 --plan --topology "$fixtures/grace.xml" --json -k latency
says a_gpus_memory_is_not_measured '[.cells[].memory] | unique == [0]'
check plan_of_memory_without_cpus matrix 0 --plan --topology "$fixtures/tiers.xml" --json -k latency
says memory_without_cpus_is_a_column '([.cells[].initiator] | unique) as $i | ([.cells[].memory] | unique) as $m |
    ($m | length) > ($i | length) and ($i - $m == [])'
check plan_of_sparse_numbers matrix 0 --plan --topology "$fixtures/sparse.xml" --json
says sparse_numbers_stay '[.cells[].memory] | unique | first == 4'
check plan_of_many_nodes matrix 0 --plan --topology 'pack:16 [numa(memory=64GB)] core:8 pu:2'
check plan_of_many_nodes_is_narrow narrow "$out"
check plan_as_csv matrix 0 --plan --topology "$two" --csv -k latency
why="$(cat "$out")"
check plan_has_a_line_for_each_cell test "$(grep -c '^latency,ns,[01],[01],.*,planned,' "$out")" -eq 4

# --- measured ------------------------------------------------------------------------------------------------------------------

nodes=$("$LOCUS" topo --json | jq '[.nodes[] | select(.allowed)] | length')
check run matrix 0 -k latency,read,push,drain -r 2 -s 7 --json
why="stderr says: $(cat "$err")"
check run_in_a_pipe_is_silent test ! -s "$err"
says run_moved_what_it_planned '[.cells[] | select(.bytes_moved != .bytes_planned)] == []'
says run_is_measured '[.cells[].state] | unique == ["measured"]'
says run_has_every_sample '[.cells[].samples | length] | unique == [2]'
says run_verified_its_pages '[.cells[].placement | .verified and .pages == .pages_there and .granted == "bind"] | all'
says run_says_what_it_had '.config.seed == 7 and .config.rounds == 2 and .emulated == null and .took_ns > 0'
says run_knows_this_machine ".machine.source == \"this machine\" and .machine.kernel == \"$(uname -r)\""
if [ "$nodes" -eq 1 ]; then
    says one_node_is_flat '.verdict.answer == "flat" and .verdict.flat and .verdict.sentence == "flat: one node"'
    check page matrix 0 -k push,drain -r 2
    why="$(tail -n 1 "$out")"
    check page_ends_with_the_answer test "$(tail -n 1 "$out")" = 'flat: one node'
    check page_is_narrow narrow "$out"
    check page_in_a_pipe_has_no_colour plain "$out"
    check refusals_are_no_failure matrix 0 -k migration
    why="$(cat "$out")"
    check refusals_stand_there grep -qi '^not measured' "$out"
else
    skip one_node_is_flat "needs a machine of one node"
fi
cells=$("$LOCUS" matrix --plan -k push,drain --json | jq '[.cells[] | select(.state == "planned")] | length')
check run_as_csv matrix 0 -k push,drain -r 3 --csv
columns=$(head -n 1 "$out" | tr ',' '\n' | wc -l)
why="$(awk -F, -v n="$columns" 'NF != n' "$out" | head -n 1)"
check csv_lines_have_as_many_fields_as_the_head test -z "$why"
why="$(cat "$out")"
lines=$(grep -cE '^(push|drain),ns,.*,measured,,[123],[0-9.e+-]+,' "$out")
check csv_has_every_sample test "$lines" -eq $((3 * cells))

check files matrix 0 -k latency -r 2 --json="$scratch/m.json" --csv="$scratch/m.csv" --hwloc-xml "$scratch/m.xml"
why="no page beside the files"
check files_and_page grep -q 'pages verified on their nodes' "$out"
says json_file '.cells | length > 0' "$scratch/m.json"
if command -v lstopo-no-graphics >/dev/null; then
    value=$(jq '[.cells[] | select(.kind == "latency" and .memory == .initiator)][0].value.median + 0.5 | floor' "$scratch/m.json")
    env -u HWLOC_SYNTHETIC lstopo-no-graphics -i "$scratch/m.xml" --memattrs >"$out" 2>&1
    why="not $value: $(cat "$out")"
    shown=$(sed -n "/name .Latency'/,/Memory attribute/s/.* = \([0-9]*\) from .*/\1/p" "$out" | head -n 1)
    check lstopo_shows_our_latency test "$shown" = "$value"
    shown=$(sed -n "/name .ReadLatency'/,/Memory attribute/s/.* = \([0-9]*\) from .*/\1/p" "$out" | head -n 1)
    check lstopo_shows_our_read_latency test "$shown" = "$value"
else
    skip lstopo_shows_our_latency "needs lstopo-no-graphics (package hwloc-nox)"
fi
why="the XML names the host"
check xml_does_not_name_the_host test -z "$(sed -n 's/.*name="HostName" value="\(..*\)".*/\1/p' "$scratch/m.xml")"

# --- where it writes -----------------------------------------------------------------------------------------------------------

if [ -c /dev/full ]; then # a regular file of that name would only fill up
    "$LOCUS" matrix -k push -r 1 >/dev/full 2>"$err"
    why="exit $?: $(cat "$err")"
    check full_disk test "$(grep -c '^locus: standard output: No space left' "$err")" -eq 1
    matrix 1 -k push -r 1 --json=/dev/full --csv="$scratch/kept.csv"
    check full_disk_of_one_file grep -q '^locus: /dev/full: No space left' "$err"
    why="$(cat "$out")"
    check full_disk_loses_nothing_else grep -q 'pages verified' "$out"
    check full_disk_leaves_the_other_file grep -q '^push,' "$scratch/kept.csv"
else
    skip full_disk "needs the device /dev/full"
fi
echo old >"$scratch/kept.xml"
matrix 1 -k push -r 1 --hwloc-xml "$scratch/kept.xml" --plot "$scratch/none.svg"
check nothing_for_hwloc grep -q 'kept.xml: nothing that hwloc knows was measured' "$err"
check nothing_to_draw grep -q 'none.svg: there is nothing to draw' "$err"
why="$(cat "$scratch/kept.xml")"
check the_old_file_stays test "$(cat "$scratch/kept.xml")" = old

if script -qec true /dev/null >/dev/null 2>&1; then
    script -qec "$LOCUS matrix -k push -r 2 >/dev/null" /dev/null >"$out" 2>&1 </dev/null
    why="$(cat "$out")"
    check progress_on_a_terminal grep -q ' samples' "$out"
    script -qec "$LOCUS matrix -q -k push -r 2 >/dev/null" /dev/null >"$out" 2>&1 </dev/null
    why="$(cat "$out")"
    check quiet_on_a_terminal test ! -s "$out"
else
    skip progress_on_a_terminal "needs script(1)"
fi

# --- emulated, as far as a name makes it so ------------------------------------------------------------------------------------

export LOCUS_GUEST=n2
refused emulated_has_no_drawing 2 '--plot: this machine is emulated (n2)' --plot "$scratch/no.svg"
refused emulated_has_no_values 2 '--hwloc-xml: this machine is emulated (n2)' --hwloc-xml "$scratch/no.xml"
check emulated matrix 0 -k latency,read,loaded,push
why="$(cat "$out")"
check emulated_heading test "$(head -c 14 "$out")" = 'EMULATED (n2):'
check emulated_verdict test "$(tail -n 1 "$out")" = 'emulated: no timing'
check emulated_has_no_unit_of_time test -z "$(grep -E '[0-9] *(ns|us|ms|s|GB/s|x)( |$)' "$out")"
check emulated_json matrix 0 -k latency,read,loaded,push --json
says emulated_has_no_value '[.cells[] | .value, .time_ns, .loaded_bytes_per_s, .samples[]] | unique == [null]'
says emulated_has_no_rank '.took_ns == null and .verdict.flat == null and .verdict.slowest_over_fastest == null'
says emulated_has_its_pages '[.cells[] | select(.state == "emulated") | .placement | .pages == .pages_there]
    | length > 0 and all'
unset LOCUS_GUEST

done_testing
