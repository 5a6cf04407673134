#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus topo from outside: LOCUS=path/to/locus.
set -u
: "${LOCUS:?LOCUS must name the program}"
fixtures=$(dirname "$0")/../../topo/tests/fixtures
. "$(dirname "$0")/cases.bash"

refused() { refuses "$1" 2 "$2" topo "${@:3}"; } # name, word, argument...

# shows NAME PATTERN ARGUMENT...: a page with a line that matches the pattern.
shows() {
    if page "$LOCUS" topo "${@:3}" && why="no line matches $2" && grep -Eq "$2" "$out"; then pass "$1"; else fail "$1" "$why"; fi
}

# json NAME TOPOLOGY PIECE...: the JSON, without blanks, contains every piece. TOPOLOGY "" is this machine.
json() {
    name=$1 topology=$2
    shift 2
    "$LOCUS" topo --json ${topology:+--topology "$topology"} >"$scratch/out" 2>"$scratch/err"
    status=$?
    if [ "$status" -ne 0 ] || [ -s "$scratch/err" ]; then
        fail "$name" "exit $status: $(head -n 1 "$scratch/err")"
        return
    fi
    sed 's/": /":/; s/^ *//' "$scratch/out" | tr -d '\n' >"$scratch/flat"
    for piece; do
        grep -qF -e "$piece" "$scratch/flat" || {
            fail "$name" "not in the JSON: $piece"
            return
        }
    done
    pass "$name"
}

# counts NAME NUMBER PIECE: how often the piece occurs in the JSON of the previous json case.
counts() {
    found=$(grep -oF -e "$3" "$scratch/flat" | wc -l)
    if [ "$found" -eq "$2" ]; then pass "$1"; else fail "$1" "$found times $3, not $2"; fi
}

machine='pack:2 [numa(memory=64GB)] core:4 pu:2'

json synthetic_has_2_nodes_and_16_cpus "$machine" '"nodes_count":2,' '"cpus_count":16,' '"cpus":[0,1,2,3,4,5,6,7]' \
    '"cpus":[8,9,10,11,12,13,14,15]' '"memory_total_bytes":64000000000'
counts synthetic_lists_2_nodes 2 '"kind":"DRAM"'
counts synthetic_lists_16_cpus 16 '"smt_rank":'
json unknown_is_null_and_not_guessed "$machine" '"source":"synthetic"' '"kernel":null' '"mbind":null' '"move_pages":null' \
    '"numa_balancing":null' '"pages":null' '"cgroup":null' \
    '"memory_free_bytes":null,"memory_reclaimable_bytes":null,"allowed":null' \
    '"distances":[[null,null],[null,null]]'
json xml_keeps_sparse_numbers "$fixtures/sparse.xml" '"source":"xml"' '"nodes":[{"os_index":4,' '{"os_index":5,' \
    '"distances":[[10,32],[21,10]]' '"cpus":[{"os_index":8,"node":4,"core":8,"package":0,"smt_rank":0,'
json xml_names_tiers "$fixtures/tiers.xml" '"os_index":0,"kind":"memory-only","tier":"HBM","cpus":[],' '"tier":"CXL"'
# Well-known machines (topo/tests/shapes.h): nodes with kind, tier, CPUs / distances by row.
shape() { # FILE WANTED
    "$LOCUS" topo --json --topology "$fixtures/$1.xml" >"$scratch/out" 2>"$scratch/err"
    got=$(jq -r '([.nodes[] | "\(.os_index):\(.tier // .kind):\(.cpus | map(tostring) | join(","))"] | join(" ")) + " / " +
        (.distances | map(map(tostring) | join(" ")) | join(" | "))' "$scratch/out" 2>&1)
    if [ "$got" = "$2" ] && [ ! -s "$scratch/err" ]; then
        shows "shape_$1" '^distance ' --topology "$fixtures/$1.xml"
    else
        fail "shape_$1" "$got $(head -n 1 "$scratch/err")"
    fi
}
shape two_sockets '0:DRAM:0,1,2,3,8,9,10,11 1:DRAM:4,5,6,7,12,13,14,15 / 10 21 | 21 10'
near4='10 12 12 12 32 32 32 32 | 12 10 12 12 32 32 32 32 | 12 12 10 12 32 32 32 32 | 12 12 12 10 32 32 32 32'
far4='32 32 32 32 10 12 12 12 | 32 32 32 32 12 10 12 12 | 32 32 32 32 12 12 10 12 | 32 32 32 32 12 12 12 10'
shape epyc_nps4 "0:DRAM:0,8 1:DRAM:1,9 2:DRAM:2,10 3:DRAM:3,11 4:DRAM:4,12 5:DRAM:5,13 6:DRAM:6,14 7:DRAM:7,15 / $near4 | $far4"
shape snc2 "0:DRAM:0,1,8,9 1:DRAM:2,3,10,11 2:DRAM:4,5,12,13 3:DRAM:6,7,14,15 \
/ 10 12 21 21 | 12 10 21 21 | 21 21 10 12 | 21 21 12 10"
shape hbm_flat '0:DRAM:0,1,2,3 1:DRAM:4,5,6,7 2:HBM: 3:HBM: / 10 21 13 23 | 21 10 23 13 | 13 23 10 23 | 23 13 23 10'
shape cxl '0:DRAM:0,1,4,5 1:DRAM:2,3,6,7 2:CXL: / 10 21 24 | 21 10 34 | 24 34 10'
shape sparse_4_to_7 '4:DRAM:32,33 5:DRAM:34,35 6:DRAM:36,37 7:DRAM:38,39 / 10 20 20 20 | 20 10 20 20 | 20 20 10 20 | 20 20 20 10'
shape cpu_only '0:DRAM:0,1 1:CPU-only:2,3 / 10 20 | 20 10'
shape glued '0:DRAM:0,1 1:DRAM:2,3 2:DRAM:4,5 3:DRAM:6,7 / 10 15 40 45 | 15 10 45 40 | 40 44 10 15 | 45 40 16 10'
shape grace '0:DRAM:0,1,2,3,4,5,6,7 1:GPU memory: 2:empty: 3:empty: / 10 80 80 80 | 80 10 255 255 | 80 255 10 255 | 80 255 255 10'
json this_machine_agrees_with_its_kernel "" '"source":"this machine"' "\"kernel\":\"$(uname -r)\"" \
    '"bytes":'"$(getconf PAGESIZE)"
counts this_machine_allows_as_many_cpus_as_nproc "$(nproc)" '"allowed":true}'

shows text_of_this_machine 'this process may use'
shows text_of_a_description '2 nodes, 16 CPUs \(8 cores, SMT on\)' --topology "$machine"
shows text_of_a_wide_machine '^ +15  ' --topology 'pack:16 [numa(memory=1TB)] core:8 pu:2(indexes=128*2:1*128)'
shows help_teaches_by_example 'locus topo --topology .?pack:2' --help

refused truncated_xml 'truncated.xml: cut off' --topology "$fixtures/truncated.xml"
refused empty_file 'empty.xml: the file is empty' --topology "$fixtures/empty.xml"
refused missing_file 'missing.xml: No such file' --topology "$fixtures/missing.xml"
refused file_that_is_not_xml 'not_xml.xml: not an XML file' --topology "$fixtures/not_xml.xml"
refused xml_of_something_else 'not_topology.xml: XML, but not' --topology "$fixtures/not_topology.xml"
refused xml_that_contradicts_itself 'occurs twice' --topology "$fixtures/node_twice.xml"
refused xml_that_crashes_hwloc 'damaged' --topology "$fixtures/core_without_cpuset.xml"
refused directory_for_a_file 'directory' --topology "$fixtures/"
refused garbage_synthetic 'garbage: neither a file' --topology garbage
refused absurd_synthetic 'more than 8192 CPUs' --topology pu:4000000000
refused unknown_flag "option '--bogus'" --bogus
refused flag_without_its_value 'topology' --topology
refused stray_argument "'machine.xml'" machine.xml

if [ -c /dev/full ]; then # a regular file of that name would only fill up
    "$LOCUS" topo >/dev/full 2>"$scratch/err"
    status=$?
    if [ "$status" -eq 1 ] && [ "$(wc -l <"$scratch/err")" -eq 1 ]; then pass full_disk; else fail full_disk "exit $status"; fi
else
    skip full_disk "needs the device /dev/full"
fi

done_testing
