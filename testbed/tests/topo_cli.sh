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

# A copy of another machine's /sys.
machine_root "$scratch/box"
json root_is_another_machine "$scratch/box" '"source":"root"' '"kernel":null' '"nodes_count":4,"cpus_count":8,' \
    '"os_index":0,"kind":"CPU-only","tier":null,"cpus":[0,1],' '"os_index":1,"kind":"DRAM","tier":null,"cpus":[2,3],' \
    '"memory_total_bytes":68719476736,"memory_free_bytes":null,' '"allowed":null,"cpus_allowed_count":null' \
    '"distances":[[10,12,12,12],[12,10,12,12],[12,12,10,12],[12,12,12,10]]'
shows root_by_its_option '^ +3  CPU-only  6-7 ' --root "$scratch/box"
refused root_that_is_missing "--root: there is no folder 'nowhere'" --root nowhere
refused root_that_is_a_file '--topology' --root "$fixtures/two_nodes.xml"
refused root_that_is_no_machine 'fixtures: it lacks sys/devices/system/cpu' --root "$fixtures"
refused two_machines 'name it once' --root "$scratch/box" --topology pu:2
rm "$scratch/box/sys/devices/system/node/node2/meminfo"
refused root_that_lacks_a_file 'box: it lacks the memory of node 2' --root "$scratch/box"

json this_machine_agrees_with_its_kernel "" '"source":"this machine"' "\"kernel\":\"$(uname -r)\"" \
    '"bytes":'"$(getconf PAGESIZE)"
counts this_machine_allows_as_many_cpus_as_nproc "$(nproc)" '"allowed":true}'

# Machines that nobody here has, and what sandboxes hide: files mounted over this machine's, in a namespace of their own.
# node TREE NODE CPULIST DISTANCES KIB
node() {
    mkdir -p "$1/devices/system/node/node$2"
    printf '%s\n' "$3" >"$1/devices/system/node/node$2/cpulist"
    printf '%s\n' "$4" >"$1/devices/system/node/node$2/distance"
    printf 'Node %s %s %s kB\n' "$2" MemTotal: "$5" "$2" MemFree: "$5" >"$1/devices/system/node/node$2/meminfo"
}
# cpus TREE LIST NUMBER...: each is a core of its own
cpus() {
    local tree=$1/devices/system/cpu list=$2 cpu
    shift 2
    for cpu; do
        mkdir -p "$tree/cpu$cpu/topology"
        echo "$cpu" >"$tree/cpu$cpu/topology/thread_siblings_list"
    done
    echo "$list" >"$tree/online"
}
# among NAME MOUNT JQ-EXPRESSION PATTERN [COMMAND...]: after the mounts, the JSON is so, a line of the page is so, and nothing is on
# stderr. A command may stand before the program.
among() {
    local name=$1 mounts=$2 so=$3 pattern=$4 status
    shift 4
    if ! unshare --mount true 2>/dev/null; then
        skip "$name" "a mount namespace is refused here"
        return
    fi
    unshare --mount sh -c "cd '$scratch' && $mounts"' || exit 99; cd "$OLDPWD" && "$@" topo --json && "$@" topo >&3' \
        - "$@" "$(realpath "$LOCUS")" >"$out" 2>"$err" 3>"$scratch/page"
    status=$?
    if [ $status -ne 0 ] || [ -s "$err" ]; then
        fail "$name" "exit $status: $(head -n 1 "$err")"
    elif ! jq -e "$so" "$out" >/dev/null; then
        fail "$name" "false: $so"
    elif ! tr -s '\n ' ' ' <"$scratch/page" | grep -Eq "$pattern"; then
        fail "$name" "the page does not say $pattern"
    else
        pass "$name"
    fi
}
fake=$scratch/fake gpu=$scratch/gpu sandbox=$scratch/sandbox
node "$fake" 0 0-3 '10 10' 8000000
node "$fake" 1 0-3 '10 10' 8000000
cpus "$fake" 0-3 0 1 2 3
node "$gpu" 0 0-71 '10 80 80' 501797888
node "$gpu" 1 '' '80 10 255' 99614720
node "$gpu" 2 '' '80 255 10' 0
cpus "$gpu" 0-71 0 1
mkdir -p "$sandbox/devices/system/cpu/cpu0"
echo 0-1 >"$sandbox/devices/system/cpu/online"
echo 0-1 >"$fake/devices/system/node/online"
echo 0-2 >"$gpu/devices/system/node/online"
echo 0-1 >"$gpu/devices/system/node/has_memory"
last=$(taskset -pc $$ | sed 's/.*[:,-] *//')
echo $((last == 0)) >"$scratch/online"
printf '%s kB\n' 'MemTotal: 1000' 'MemFree: 500' >"$scratch/meminfo"
among a_cpu_of_several_nodes_is_on_each 'mount --bind fake /sys' \
    '[.nodes[] | "\(.kind):\(.cpus | length)"] == ["DRAM:4", "DRAM:4"] and .cpus_count == 4' '0 DRAM 0-3 .*1 DRAM 0-3 '
among a_gpus_memory_is_called_so 'mount --bind gpu /sys' \
    '[.nodes[].kind] == ["DRAM", "GPU memory", "empty"]' '1 GPU memory - 95.0 '
among an_empty_node_folder_is_one_node 'mount -t tmpfs none /sys/devices/system/node' \
    '.nodes_hidden and .nodes_count == 1 and .cores_count > 0' 'cannot be read .* is shown as one node'
among cpus_without_a_topology_folder_have_no_cores 'mount --bind sandbox /sys' \
    '.nodes_hidden and .nodes_count == 1 and .cores_count == null and .nodes[0].memory_total_bytes > 0' 'is shown as one node'
among without_sys_it_is_one_node 'mount -t tmpfs none /sys' \
    '.nodes_hidden and .nodes_count == 1 and .cpus_count == .nodes[0].cpus_allowed_count' "from this process's affinity and /proc"
among without_sys_and_meminfo_too 'mount -t tmpfs none /sys && mount -t proc -o subset=pid proc /proc' \
    '.nodes_hidden and .nodes[0].memory_total_bytes > 0 and .memory_kernel_bytes == null' 'NUMA balancing unknown'
among what_cannot_be_read_is_unknown 'mount -t proc -o subset=pid proc /proc' \
    '.numa_balancing == null' 'NUMA balancing unknown'
among the_affinity_is_right_where_online_is_not 'mount --bind online /sys/devices/system/cpu/online' \
    "[.cpus[] | select(.allowed)] | length == 1 and .[0].os_index == $last" 'this process may use' taskset -c "$last"
among memtotal_is_compared 'mount --bind meminfo /proc/meminfo' \
    '.memory_kernel_bytes == 1024000 and .memory_nodes_bytes > 1024000' \
    "nodes report .* together, the kernel 1000 KiB in all .* LOCUS goes by the nodes"
printf '%s kB\n' 'MemTotal: 16000000' 'MemFree: 16000000' >"$scratch/equal"
among memtotal_is_that_of_all_nodes 'mount --bind fake /sys && mount --bind equal /proc/meminfo' \
    '.memory_kernel_bytes == 16384000000 and .memory_nodes_bytes == 16384000000' '0 DRAM 0-3 '
if [ -s "$scratch/page" ]; then
    check memtotal_is_not_told_where_it_is_equal sh -c '! grep "together, the kernel" "$1"' - "$scratch/page"
fi
for variable in HWLOC_XMLFILE HWLOC_SYNTHETIC HWLOC_FSROOT; do
    export "$variable=pack:2 pu:64"
    refuses "${variable}_is_refused_by_its_name" 1 "$variable in the environment" topo
    unset "$variable"
done

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
refused xml_of_hwloc_3 'hwloc3.xml: of version 3.0, .*reads up to.*lstopo --export-xml-flags v2' --topology "$fixtures/hwloc3.xml"
refused directory_for_a_file 'it lacks sys/devices/system/cpu' --topology "$fixtures/"
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
