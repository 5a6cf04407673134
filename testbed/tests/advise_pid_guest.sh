#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# locus advise --pid on the emulated machine of two nodes: where pages and threads are is known, because a program puts them there
# (testbed/host/tests/resident_scenario.c). Pages are exact; the share of CPU time is of two threads that do nothing but run, each
# on a CPU of its own. LOCUS=path/to/locus BUILD=path/of/the/build.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1

needs_guest advise_pid

build=${BUILD#"$PWD"/}
cat >"$scratch/cases.sh" <<END
#!/bin/sh
# part NAME ARGUMENT...: looks at such a process; its lines begin with NAME
mkfifo /tmp/in /tmp/said
part() {
    name=\$1
    shift
    $build/testbed/host/tests/resident_scenario "\$@" </tmp/in >/tmp/said 2>/tmp/refused &
    exec 3>/tmp/in
    read -r word </tmp/said || sed "s/^/\$name refused /" /tmp/refused
    $build/locus advise --pid \$! --json 2>&1 | sed "s/^/\$name out /"
    [ \$name != half ] || $build/locus advise --pid \$! 2>&1 | sed "s/^/page out /"
    exec 3>&-
    wait
}
part half 32 bind 0 4k 0 2
part none 32 bind 0 4k 0 1
part all 32 bind 1 4k 0 1
part spread 32 interleave 0,1 4k 0 2
echo 16 >/sys/devices/system/node/node1/hugepages/hugepages-2048kB/nr_hugepages
part huge 16 bind 1 2m 2
echo 1 >/proc/sys/kernel/numa_balancing
part moving 32 bind 0 4k
END
"$LOCUS" guest --machine n2 --timeout 200 --with "$BUILD/testbed/host/tests/resident_scenario" --program "$scratch/cases.sh" \
    >"$scratch/said" 2>"$scratch/err"
status=$?
holds "the machine runs" "exit $status: $(tail -n 2 "$scratch/err" | tr '\n' ';')" test $status -eq 0

for name in half none all spread huge moving page; do sed -n "s/^$name out //p" "$scratch/said" >"$scratch/$name"; done
of() { # part, name, expression. Of nothing jq says that it is true
    if [ -s "$scratch/$1" ]; then says "$1: $2" "$3" "$scratch/$1"; else fail "$1: $2" "$(grep -m 1 "^$1" "$scratch/said")"; fi
}
on='def on: [.regions[] | select(.kind == "anonymous").on[].bytes / 1048576];'

of half "all pages on node 0, as bound" "$on on == [32, 0] and .regions[0].policy == \"bind:0\""
of half "the second witness says the same" '.regions[0].move_pages.on | map(.pages) == [4096, 0]'
of half "one busy thread may run on either node" \
    '.busy == 2 and ([.threads_by_nodes[] | select(.busy == 1) | [.nodes, .cpus]] | sort) == [[[0], [0]], [[1], [2]]]'
of half "so half of the reads are remote" '.remote_read_ratio | . > 0.35 and . < 0.65'
of half "and each cure says what it leaves" \
    '[.cures[] | [.name, .remote_read_ratio]] | .[0:2] == [["bind", 0], ["one-each", 0]] and
     (map(select(.[0] == "interleave"))[0][1] | . > 0.49 and . < 0.51)'
of half "the line to type is there" '.cures[0].commands == "numactl --cpunodebind=0 --membind=0 ENGINE\n" and
    (.cures[0].unit | test("NUMAMask=0\nAllowedCPUs=0-1\n"))'
of half "balancing is off, and the machine is emulated" '.numa_balancing == 0 and .head.emulated == "n2"'
of none "threads and pages on one node: nothing is remote" "$on on == [32, 0] and .remote_read_ratio == 0 and .busy == 2"
of none "and little is left to do" '[.cures[].name] == ["bind"] and (.answer | test("next to nothing to gain"))'
of all "threads on one, pages on the other: everything is" "$on on == [0, 32] and .remote_read_ratio == 1"
of spread "interleaved pages are half and half" "$on on == [16, 16] and .regions[0].policy == \"interleave:0-1\""
of spread "whatever the threads do, half is remote" '.remote_read_ratio == 0.5'
of spread "a sample of them as well" '.regions[0].move_pages.on | map(.pages) | .[0] > 1900 and .[0] < 2200'
of huge "hugetlb is counted in huge pages" \
    "$on on == [0, 16] and (.regions[0] | .page_bytes == 2097152 and .huge_bytes == 16777216 and .on[1].pages == 8)"
of huge "and read where it lies" '.remote_read_ratio == 0'
of moving "balancing is seen" '.numa_balancing == 1'
holds "the page begins with what it is" "$(head -n 1 "$scratch/page")" \
    test "$(head -n 1 "$scratch/page")" = "EMULATED MACHINE n2: counts only; nothing here says how fast hardware is."
why="a line of more than 80 columns"
check "the page fits 80 columns" eval "tail -n +2 '$scratch/page' | narrow /dev/stdin"
done_testing
