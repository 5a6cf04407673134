#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# The emulated machines: do they match machines.sh, do the unit tests pass on several nodes, and is a failing command
# distinguished from a failing machine? LOCUS=path/to/locus BUILD=path/of/the/build.
#
# Each machine boots once for all its cases, two machines at a time. n2 runs all unit tests, the others those that depend on the
# machine (Criterion says "test was skipped" for a case outside its filter). If QEMU is not available everything is skipped, with
# the command that would fix it; in continuous integration that is a failure (or-skip.sh).
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
trap 'rm -rf "$scratch" build/logs/guest-test' EXIT

said() { tail -n 1 "$scratch/$1.err" 2>/dev/null; }

needs_guest guest

# --- what runs in every machine ------------------------------------------------------------------------------------------------

build=${BUILD#"$PWD"/}
cat >"$scratch/cases.sh" <<END
#!/bin/sh
units() { # room
    $build/\$1/tests/unit -j1 --filter "\$cases" --tap=/tmp/tap >/tmp/out 2>&1
    echo "unit \$1 exit \$?"
    sed "s|^|unit \$1 |" /tmp/tap
}
echo "name \$LOCUS_GUEST"
$build/locus topo --json | sed 's/^/topo /'
case \$LOCUS_GUEST in
n1) mkdir -p build/logs/guest-test && echo back >build/logs/guest-test/probe ;;
hot)
    left() { sed -n 's/.*MemTotal: *\([0-9]*\).*/\1/p' /sys/devices/system/node/node2/meminfo; }
    offline-node 2; echo "offline \$? \$(left)"
    $build/locus topo --json | sed 's/^/after /'
    online-node 2; echo "online \$? \$(left)" ;;
*)
    [ \$LOCUS_GUEST = n2 ] && cases='*' || cases='!(@(block|cgroup|cpulist|mailbox|pool|shapes|sysfs|table|trial)/*|topo/says_*)'
    echo 8 >/proc/sys/vm/nr_hugepages
    for room in memory blocks domain; do units placement/\$room; done
    echo +memory >/sys/fs/cgroup/cgroup.subtree_control
    mkdir /sys/fs/cgroup/limited
    echo 400M >/sys/fs/cgroup/limited/memory.max
    echo \$\$ >/sys/fs/cgroup/limited/cgroup.procs
    units topo
    echo 0 >/proc/sys/vm/nr_hugepages # of the tiny node they hold a third of what room_scenario needs
    [ \$LOCUS_GUEST != odd ] || { $build/placement/memory/tests/room_scenario /dev/nvme0n1 2>&1; echo "room exit \$?"; } ;;
esac
END

# A disk that is only zeros, and takes no room on this one: what is read from it is page cache that the kernel can drop.
truncate -s 256M "$scratch/disk"

machine() {
    disk=
    [ "$1" != odd ] || disk="-drive file=$scratch/disk,if=none,id=disk,format=raw,readonly=on -device nvme,serial=1,drive=disk"
    sh testbed/guest/boot.sh --machine "$1" --no-record --with "$BUILD/locus" --with "$BUILD/topo/tests/unit" \
        --with "$BUILD/placement/memory/tests/unit" --with "$BUILD/placement/blocks/tests/unit" \
        --with "$BUILD/placement/domain/tests/unit" \
        --with "$BUILD/placement/memory/tests/room_scenario" --qemu "$disk" --timeout 600 -- \
        "$scratch/cases.sh" >"$scratch/$1" 2>"$scratch/$1.err"
    echo $? >"$scratch/$1.status"
}

# What may go wrong, each in a machine of its own (of its own name, too: those of one name wait for each other).
trouble() { # name, machine, line of a script, option...
    title=$1 machine=$2
    printf '#!/bin/sh\n%s\n' "$3" >"$scratch/$1.sh"
    shift 3
    "$LOCUS" guest --machine "$machine" --timeout 3 "$@" --program "$scratch/$title.sh" word "it's" >"$scratch/$title" \
        2>"$scratch/$title.err"
    echo $? >"$scratch/$title.status"
}

# What is taken along, with the command that fails: data, a folder's files, a program from elsewhere and one of the project.
mkdir "$scratch/folder"
echo one >"$scratch/data file"
echo two >"$scratch/folder/two"
printf '#!/bin/sh\necho three\n' >"$scratch/folder/three"
chmod +x "$scratch/folder/three"
carried='cat "$LOCUS_TRACES/data file" /with/two; three; [ -x '$build'/topo/tests/unit ] && [ ! -e /with/unit ] &&
    locus --version >/dev/null && [ -e postulates/0001-*.md ] && [ ! -e logs/emr-vm ] && echo home'

# Two at a time; the longest first.
{ machine n2; machine cxl; trouble hangs n2 'echo before; while :; do :; done'; machine hot; } &
machine n4
machine odd
machine n1
trouble fails n4 'echo out "$@"; { echo err; cat /proc/sys/kernel/numa_balancing; '"$carried"'; } >&2; exit 7' --balancing \
    --with "$scratch/data file" --with "$scratch/folder" --with "$BUILD/topo/tests/unit"
trouble panics n1 'echo c >/proc/sysrq-trigger; sleep 60'
trouble ends n1 'exit 124' --timeout 60
# As if its clock had run ahead: it ends as timed out, too early, unless it is the steadier clock's.
trouble hurries n1 'grep hpet /sys/devices/system/clocksource/clocksource0/current_clocksource || : >/tmp/timed-out' --timeout 60
wait

# What a terminal sees while it runs, what a full disk says, and an interrupt, which ends it before its time is up.
printf '#!/bin/sh\necho half of it; sleep 6; echo the rest; exit 5\n' >"$scratch/slow.sh"
printf '#!/bin/sh\nsleep 3000\n' >"$scratch/endless.sh"
chmod +x "$scratch"/*.sh
script -qec "stty cols 60; '$LOCUS' guest -m n1 --program '$scratch/slow.sh'" "$scratch/typescript" >/dev/null 2>&1 </dev/null
echo $? >"$scratch/terminal.status"
"$LOCUS" guest -m n1 --program "$scratch/slow.sh" >/dev/full 2>"$scratch/full.err"
echo $? >"$scratch/full.status"
"$LOCUS" guest -m n1 --program "$scratch/endless.sh" >"$scratch/interrupted" 2>&1 </dev/null &
guest=$!
emulators() { grep -ls "^PPid:[[:space:]]$guest$" /proc/[0-9]*/status | wc -l; }
for _ in {1..1200}; do # it builds the root file system first
    [ "$(emulators)" -eq 0 ] || break
    sleep 0.1
done
sleep 3
kill -TERM $guest
for _ in {1..1200}; do kill -0 $guest 2>/dev/null || break; sleep 0.1; done
kill -KILL $guest 2>/dev/null
wait $guest
echo $? >"$scratch/interrupted.status"

# --- are they what they should be? ---------------------------------------------------------------------------------------------

shape() { # machine, prefix: NODE:KIND:CPUS ... / distances, row by row
    sed -n "s/^$2 //p" "$scratch/$1" |
        jq -r '([.nodes[] | "\(.os_index):\(.kind):\(.cpus | map(tostring) | join(","))"] | join(" "))
            + " / " + (.distances | map(map(tostring) | join(" ")) | join(" | "))' 2>/dev/null
}

is() { # machine, shape
    got=$(shape "$1" topo)
    if [ "$(cat "$scratch/$1.status")" != 0 ]; then
        fail "$1 runs a program" "exit $(cat "$scratch/$1.status"): $(said "$1")"
    elif ! grep -qx "name $1" "$scratch/$1"; then
        fail "$1 says inside that it is $1" "$(grep -m 1 '^name' "$scratch/$1")"
    elif [ "$got" != "$2" ]; then
        fail "$1 has its nodes, CPUs and distances" "got $got, $(said "$1")"
    else
        pass "$1 has its nodes, CPUs and distances"
    fi
}
is n1 '0:DRAM:0,1 / 10'
is n2 '0:DRAM:0,1 1:DRAM:2,3 / 10 21 | 21 10'
is n4 '0:DRAM:0 1:DRAM:1 2:DRAM:2 3:DRAM:3 / 10 12 21 31 | 14 10 22 30 | 25 23 10 12 | 33 29 15 10'
is cxl '0:DRAM:0,1 1:DRAM:2,3 2:memory-only: / 10 20 28 | 20 10 40 | 28 40 10'
is odd '0:DRAM:0 1:DRAM:1 2:CPU-only:2,3 3:memory-only: / 10 20 30 28 | 20 10 22 40 | 30 22 10 50 | 28 40 50 10'
is hot '0:DRAM:0,1 1:DRAM:2,3 2:memory-only: / 10 20 28 | 20 10 40 | 28 40 10'

# Cases that a machine may leave out: they ask for a third node, a tiny one, one without memory, or huge pages on each of two,
# and another machine has that.
units_of() { # machine, layer, pattern of cases that may be skipped
    tap=$scratch/$1.$2.tap
    sed -nE "s,^unit $2(/[a-z]+)? ,,p" "$scratch/$1" | grep -v 'SKIP test was skipped' >"$tap"
    skipped=$(sed -n 's/^ok - \([^ ]*\) *# SKIP\(.*\)/\1:\2/p' "$tap" | grep -vE "${3:-^$}" | tr '\n' ' ')
    title="$1: the $2 unit tests"
    count=$(grep -c '^ok ' "$tap")
    rooms=1
    [ "$2" != placement ] || rooms=3
    if [ "$(grep -cx 'exit 0' "$tap")" -ne $rooms ] || grep -q '^not ok' "$tap"; then
        fail "$title" "$(grep -m 1 '^exit' "$tap"): $(sed -n 's/^not ok - \([^ ]*\).*/\1/p' "$tap" | tr '\n' ' ')"
    elif [ "$count" -lt 15 ]; then
        fail "$title" "only $count cases were run"
    elif [ -n "$skipped" ]; then
        fail "$title" "skipped here, too: $skipped"
    else
        pass "$title, $count cases"
    fi
}
tiny='repair_to_a_full_node' memoryless='a_node_without_memory' huge='interleave_of_huge_pages'
units_of n2 placement "^(policy::($tiny|repair_of_an_interleaved_span|$memoryless)|domain::nearer_homes)"
units_of n4 placement "^policy::($tiny|$huge|$memoryless)"
units_of cxl placement "^policy::($tiny|$huge|$memoryless)"
units_of odd placement "^(region::(hugetlb_span_is|more_huge_pages)|policy::(two_nodes_hold|$huge))"
for name in n2 n4 cxl odd; do units_of $name topo; done

room=$(sed -n '/^\(refused\|room_scenario\|SKIP room\)/,$p' "$scratch/odd" | grep -v '^unit topo' | tr '\n' ' ')
title="odd: a strict bind beyond the tiny node is refused, one over page cache is not"
case $room in
*'room exit 0 ') pass "$title" ;;
*'room exit 77 ') skip "$title" "$room" ;;
*) fail "$title" "$room" ;;
esac
holds "hot: node 2 goes offline with all its memory" "$(grep '^offline' "$scratch/hot"), $(said hot)" \
    grep -qx 'offline 0 0' "$scratch/hot"
holds "hot: topo sees that the node has no memory" "$(shape hot after)" \
    test "$(shape hot after | sed 's, /.*,,')" = '0:DRAM:0,1 1:DRAM:2,3 2:empty:'
holds "hot: and it comes back" "$(grep '^online' "$scratch/hot")" grep -qx 'online 0 262144' "$scratch/hot"
holds "what is written below build/logs comes back" "build/logs/guest-test/probe: $(cat build/logs/guest-test/probe 2>&1)" \
    grep -qx back build/logs/guest-test/probe

# --- trouble -------------------------------------------------------------------------------------------------------------------

ended() { # name, status, line on stdout or "", pattern in stderr
    [ "$(cat "$scratch/$1.status")" = "$2" ] && [ "$(cat "$scratch/$1")" = "$3" ] && grep -Eq "$4" "$scratch/$1.err"
}
remark() { echo "exit $(cat "$scratch/$1.status"), stdout: $(head -n 1 "$scratch/$1"), stderr: $(said "$1")"; }
seen() { # pattern of a line that the terminal showed
    tr '\r' '\n' <"$scratch/typescript" | grep -E "$1"
}
shown=$(seen '^n1' | tail -n 1)
holds "a terminal shows the time and what was printed last" "$shown" seen '^n1: [0-9]+ s, at most 600  half of it +$'
holds "the line fits the terminal" "$shown" test "$(seen '^n1.{57,}' | wc -l)" -gt 0 -a -z "$(seen '^n1.{58,}')"
wiped() { seen '^ {59}$' && seen '^half of it$' && seen '^the rest$'; }
holds "and is wiped before the output" "$(seen '^ +$' | cut -c 1-70)" wiped
holds "the status is the command's there, too" "exit $(cat "$scratch/terminal.status")" test "$(cat "$scratch/terminal.status")" = 5
full="$(cat "$scratch/full.status"): $(cat "$scratch/full.err")"
holds "a full disk is said once" "exit $full" \
    test "$full" = '1: locus: guest: standard output: some of it could not be written; is the disk full?'
interrupted=$(cat "$scratch/interrupted.status")
holds "an interrupt ends it at once" "exit $interrupted: $(tail -n 1 "$scratch/interrupted")" test "$interrupted" = 1
holds "a command that fails passes output and status through" "$(remark fails)" ended fails 7 "out word it's" '^err$'
holds "what is taken along is there, and balancing on" "$(tr '\n' ' ' <"$scratch/fails.err")" \
    test "$(tr '\n' ' ' <"$scratch/fails.err")" = 'err 1 one two three home '
holds "balancing is off unless asked for" "$(grep numa_balancing "$scratch/n2")" grep -q '"numa_balancing": 0' "$scratch/n2"
holds "a command that hangs is status 124, with what it said" "$(remark hangs)" ended hangs 124 before 'timed out after 3 seconds'
holds "a command that ends with 124 by itself has not timed out" "$(remark ends)" \
    test "$(cat "$scratch/ends.status")" = 124 -a ! -s "$scratch/ends.err"
holds "a kernel that panics is status 99, after a third try" "$(remark panics)" ended panics 99 '' 'third try'
holds "a clock that ran ahead is no time-out: the machine is started again, by another clock" "$(remark hurries)" \
    ended hurries 0 hpet 'n1 failed, first try .its clock ran 60 s in [0-9]* s'
holds "a panic shows the console" "$(remark panics)" grep -q 'Kernel panic' "$scratch/panics.err"

# Where nothing was fetched, and nothing can be.
repo=$PWD
mkdir "$scratch/empty"
(cd "$scratch/empty" && export XDG_CACHE_HOME=$scratch/empty
    sh "$repo/testbed/guest/boot.sh" -- /bin/true >"$scratch/bare" 2>"$scratch/bare.err"
    echo $? >"$scratch/bare.status")
holds "without QEMU it is status 77 and the command that helps" "$(remark bare)" ended bare 77 '' 'testbed/guest/fetch.sh'
printf 'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "/dev/null";\n' >"$scratch/apt.conf"
APT_CONFIG=$scratch/apt.conf sh testbed/guest/fetch.sh "$scratch/empty/guest" >"$scratch/nomirror" 2>"$scratch/nomirror.err"
echo $? >"$scratch/nomirror.status"
holds "without a mirror fetch says so, status 77" "$(remark nomirror)" ended nomirror 77 '' 'sources name no mirror'

refused() { refuses "$1" 2 "$2" guest "${@:3}"; } # name, word, argument...
refused "a machine that does not exist is refused" "n7" -m n7 -- topo
refused "two machines at once are refused" "'n1 n2'" -m 'n1 n2' -- topo
refused "a time-out of nothing is refused" "seconds" --timeout 0 -- topo
refused "an option that does not exist is refused" "nonsense" --nonsense -- topo
refused "no command is asked for" "which command"
refused "a program that does not exist is refused" "no program" --program no-such-program -- x
refused "a file that does not exist is not taken along" "no file.*nowhere" --with nowhere -- topo
refused "two files of one name are not taken along" "two files.*README.md" --with README.md --with testbed/guest/README.md -- topo
truncate -s 300M "$scratch/large"
refused "more than the memory holds is not taken along" "n2 (1024 MiB) is too small" --with "$scratch/large" -- topo
mkdir -p "$scratch/old/postulates" "$scratch/old/build" "$scratch/old/.git"
ln -s "$repo/build/guest" "$scratch/old/build/guest"
truncate -s 450M "$scratch/old/.git/history"
cd "$scratch/old" || exit 1
refused "nor is a history that it does not hold" \
    "n2 (1024 MiB) is too small.*480 MiB.*[45][0-9][0-9] MiB, the project with its .git included. Take less" topo
cd "$repo" || exit 1

# A skip says what would help, and fails where nobody would see it.
status=none
missing() { # CI, status, pattern
    (cd "$scratch/empty" && CI=$1 APT_CONFIG=$scratch/apt.conf sh "$repo/testbed/guest/or-skip.sh" name) >"$scratch/out" 2>&1
    status=$?
    [ $status -eq "$2" ] && [ "$(wc -l <"$scratch/out")" -eq 1 ] && grep -q "^$3 .*mirror.*run: .*fetch.sh" "$scratch/out"
}
for value in '' 0 false; do
    holds "without a guest a test is skipped (CI='$value')" "exit $status: $(cat "$scratch/out")" \
        missing "$value" 77 'ok - name # SKIP'
done
for value in 1 true; do
    holds "without a guest a test fails in CI (CI=$value)" "exit $status: $(cat "$scratch/out")" missing "$value" 1 'not ok - name:'
done
done_testing
