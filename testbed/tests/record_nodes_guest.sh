#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: test guest
#
# The record on a machine of two nodes, the emulated n2: its nodes meet the needs; if a cpuset or an affinity withholds a node,
# the verdict names it; a run's log comes back, names the machine, and is judged by its counts. LOCUS=path/to/locus
# BUILD=path/of/the/build.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
trap 'rm -rf "$scratch" build/logs/guest-record build/logs/scenario' EXIT

said() { # name, section of the output, pattern of a line in it
    sed -n "s/^$2: //p" "$scratch/out" >"$scratch/section"
    if grep -Eq -- "$3" "$scratch/section"; then pass "$1"; else fail "$1" "$(cut -c 1-200 "$scratch/section" | head -n 2)"; fi
}

needs_guest record_nodes_guest

build=${BUILD#"$PWD"/}
cat >"$scratch/cases.sh" <<END
#!/bin/sh
export LOCUS_LAP=$build/locus-lap
scenario() { # section, arguments
    section=\$1
    shift
    $build/testbed/cli/tests/record_nodes_scenario "\$@" 2>&1 | sed "s/^/\$section: /"
}
echo 0 >/proc/sys/kernel/numa_balancing # a run that sees pages migrate is invalid
scenario two-nodes many home-steered sample/line 'cpu_nodes >= 2'
scenario three-nodes many home-steered sample/line 'numa_nodes >= 3'
scenario policies many home-steered sample/line policies
scenario pinned many home-steered sample/line workers_pinned
scenario hardware many home-steered sample/line hardware
scenario steered many home-steered%50 steady-decode/line 'cpu_nodes >= 2' run
scenario crossing many cross-node steady-decode/line 'cpu_nodes >= 2' run
$build/locus run 0003 --rounds 2 --host guest-record -q 2>&1 | sed 's/^/run: /'
echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
mkdir /sys/fs/cgroup/memory /sys/fs/cgroup/cpus
echo 0 >/sys/fs/cgroup/memory/cpuset.mems
echo 0-1 >/sys/fs/cgroup/cpus/cpuset.cpus
(echo 0 >/sys/fs/cgroup/memory/cgroup.procs
    scenario memory many home-steered sample/line 'numa_nodes >= 2'
    scenario memory-cpus many home-steered sample/line 'cpu_nodes >= 2')
(echo 0 >/sys/fs/cgroup/cpus/cgroup.procs
    scenario cpus-memory many home-steered sample/line 'numa_nodes >= 2'
    scenario cpus many home-steered sample/line 'cpu_nodes >= 2')
END
sh testbed/guest/boot.sh --machine n2 --with "$LOCUS" --with "$BUILD/testbed/cli/tests/record_nodes_scenario" --timeout 120 \
    -- "$scratch/cases.sh" >"$scratch/out" 2>"$scratch/err"
status=$?
[ $status -eq 0 ] || fail the_machine "exit $status: $(tail -n 1 "$scratch/err")"

unmet='^unmet unmeasurable-on-host: needs'
said two_nodes_are_met two-nodes '^met .*"emulated":"n2".*"many_nodes":true'
said the_environment_names_the_guest two-nodes '"guest":"n2"'
said three_nodes_are_not three-nodes "$unmet numa_nodes >= 3, and here are 2 nodes\$"
said the_kernel_has_the_policy policies '^met '
said each_node_has_a_cpu_for_a_worker pinned '^met '
said it_is_no_hardware hardware "$unmet hardware, and this is an emulated guest \\(n2\\)\$"
said a_node_outside_the_cpuset_is_named memory \
    "$unmet numa_nodes >= 2, and here is 1 node \\(node 1 is outside this process's cpuset\\)\$"
said so_is_one_that_should_have_cpus memory-cpus \
    "$unmet cpu_nodes >= 2, and here is 1 node with CPUs and memory \\(node 1 is outside this process's cpuset\\)\$"
said a_node_without_own_cpus_still_has_memory cpus-memory '^met '
said a_node_without_own_cpus_is_named cpus \
    "$unmet cpu_nodes >= 2, and here is 1 node with CPUs and memory \\(node 1 has no CPU that this process may run on\\)\$"

clock='the clock of an emulated machine \(n2\) says nothing about hardware'
said steered_home_nothing_is_remote steered "^ran unmeasurable-on-host: P2: $clock; the rest survived \\(P1\\)\$"
said across_nodes_all_is crossing '^ran falsified: P1 falsified: .*A: 1$'
for case in steered:0 crossing:1; do
    log=$(sed -n "s/^${case%:*}: log //p" "$scratch/out")
    holds "the_log_of_${case%:*}_counts_each_node" "'$log'" jq -es '
        .[0].cells[0].laps_metered as $laps | [.[] | select(.t == "s")] | length == 2 and
        all(.[]; .valid and $laps == 3 and .time_ns_metered > 0 and .counters.context_switches.enabled_ns > 0 and
        .counters.cycles == null and
        .nodes.os == [0, 1] and
        .remote_touch_ratio == '"${case#*:}"' and (.nodes.homes | map(.node) == [0, 1] and all(.[]; .allocated == .freed)) and
        (.nodes.before | all(.[]; .granted == "bind" and .elsewhere == 0 and .numa_maps == true)))' \
        <("$LOCUS" record show --samples "$log")
done

said a_run_says_where_it_was_made run '^guest   made in an emulated guest \(n2\): counts, no times$'
said its_counts_are_judged run '^P2 .*max\(C\) of outstanding_ratio == 1 .*observed 1  (survived|falsified)'
log=$(sed -n 's/^run: log //p' "$scratch/out")
holds its_log_comes_back_and_says_so "log '$log'" jq -es '.[0] | .emulated == "n2" and .env.guest == "n2"' "$log"
why=
check its_log_is_verified_outside "$LOCUS" verify --logs build/logs --host guest-record
done_testing
