#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# Isolated CPUs, on the emulated machine n2, whose nodes have the CPUs 0-1 and 2-3: which threads run where. Once with one isolated
# CPU on each node (isolcpus=1,3), and once with all but one (1-3), where a node without any other would have none for a process
# that keeps to the mask it was started with. LOCUS=path/to/locus BUILD=folder of the build.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD#"$PWD"/}

needs_guest isolated_guest

# --- what runs inside ----------------------------------------------------------------------------------------------------------

# watched NAME COMMAND...: "NAME PROGRAM THREAD CPU COUNT": how often a thread of the program was seen on a CPU. THREAD is main or
# other. Of `locus` itself that is how often it was seen to wait, which is while it has a child or a second thread: before, it goes
# to the CPUs that it is to measure on, to see whether the kernel grants them.
cat >"$scratch/head" <<END
#!/bin/sh
locus=$build/locus
END
cat >>"$scratch/head" <<'END'
look() {
    waiting= parents=
    for task in /proc/[0-9]*/task/[0-9]*; do
        read -r name <"$task/comm" || continue
        case $name in locus | locus-lap) ;; *) continue ;; esac
        read -r line <"$task/stat" || continue
        process=${task#/proc/} thread=other
        process=${process%%/*}
        [ "$process" != "${task##*/}" ] || thread=main
        set -- ${line##*) }
        parents="$parents $2 "
        [ $thread = main ] || parents="$parents $process "
        if [ $name = locus ]; then waiting="$waiting $process/$thread/${37}"; else echo "$word $name $thread ${37}"; fi
    done 2>/dev/null
    for one in $waiting; do
        case $parents in *" ${one%%/*} "*) one=${one#*/} && echo "$word locus ${one%/*} ${one#*/}" ;; esac
    done
}
watched() {
    word=$1
    shift
    rm -f /tmp/status
    ("$@" >/tmp/said 2>&1; echo $? >/tmp/status) &
    while [ ! -e /tmp/status ]; do look; done >/tmp/seen
    sort /tmp/seen | uniq -c | awk '{ print $2, $3, $4, $5, $1 }'
    echo "$word status $(cat /tmp/status) $(tail -n 1 /tmp/said)"
}
doctor() {
    word=$1
    shift
    echo "$word $("$@" doctor isolation cpuset | sed -n '/^\(fit\|note\|UNFIT\|unknown\) /p' | tr '\n' ';')"
}
few='-c locus -r 2 --laps 40 -q'
END
{
    cat "$scratch/head" - <<'END'
doctor doctor "$locus"
doctor doctor-chosen taskset 1 "$locus"
watched eval "$locus" eval -W cycle-256 -d spin $few --log /tmp/eval.jsonl
echo "eval-allowed $(head -n 1 /tmp/eval.jsonl | sed 's/.*"allowed":"\([^"]*\)".*/\1/')"
watched eval-chosen taskset 4 "$locus" eval -W cycle-256 $few
watched eval-cpus "$locus" eval -W cycle-256 -d spin $few --cpus 0,2
watched matrix "$locus" matrix -k latency -r 64 -q
mkdir /sys/fs/cgroup/few
echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control
echo 0,2 >/sys/fs/cgroup/few/cpuset.cpus
(
    echo 0 >/sys/fs/cgroup/few/cgroup.procs
    doctor doctor-cpuset "$locus"
    "$locus" eval --cpus 1,3
    echo "cpus-cpuset status $?"
) 2>&1
"$locus" topo | sed -n 's/^this process may use */topo /p'
echo done
END
} >"$scratch/two.sh"
{
    cat "$scratch/head" - <<'END'
watched nodes timeout 30 "$locus" run 0005 --smoke -q
tail -n 3 /tmp/said
watched advise "$locus" advise -W cycle-256 -c home-steered -r 2 -q
echo done
END
} >"$scratch/wide.sh"

# --- outside -------------------------------------------------------------------------------------------------------------------

machine() { # SCRIPT LIST: what it says is in $seen
    local status
    seen=$scratch/$1
    sh testbed/guest/boot.sh --machine n2 --with "$LOCUS" --timeout 200 \
        --kernel "isolcpus=managed_irq,domain,$2 nohz_full=$2 rcu_nocbs=$2" -- "$scratch/$1.sh" >"$seen" 2>"$seen.err"
    status=$?
    why="exit $status: $(tail -qn 2 "$seen" "$seen.err")"
    [ $status -ne 99 ] || cat "$seen.err" >&2 # what the console of a machine that failed says
    [ "$(tail -n 1 "$seen")" = "done" ]
}
says() { # a line, by an expression
    why=$(grep "^${1%% *} " "$seen" | head -n 4)
    grep -qE "^$1" "$seen"
}
# The threads of a program ran on these CPUs and, but for N in a hundred looks, on no others: a process starts where its parent
# waits, and asks then.
ran() { # NAME PROGRAM THREAD CPUS N
    why=$(grep "^$1 $2 $3 " "$seen" || echo 'none was seen')
    awk -v name="$1 $2 $3" -v cpus=" $4 " -v most="$5" '
        name == $1 " " $2 " " $3 { all += $5; if (!index(cpus, " " $4 " ")) away += $5 }
        END { exit !(all && away * 100 <= most * all) }' "$seen"
}

check 'the machine with isolcpus=1,3 runs' machine two 1,3
check 'what is measured has the isolated CPUs: its first thread' ran eval locus-lap main '1 3' 40
check 'the worker, too' ran eval locus-lap other '1 3' 0
check 'who waits for it has the others' ran eval locus main '0 2' 0
check 'the record says where' says 'eval-allowed 1,3$'
check 'matrix waits elsewhere as well' ran matrix locus main '0 2' 0
check 'isolation is fit' says 'doctor fit isolation isolcpus 1,3, nohz_full 1,3;fit cpuset 2 of 2 isolated'
check 'under taskset it is not' says 'doctor-chosen UNFIT isolation isolcpus 1,3, but this process is kept to 0;'
check 'nor in a cpuset without them' says 'doctor-cpuset UNFIT isolation isolcpus 1,3, but this process is kept to 0,2;'
check 'taskset is respected' ran eval-chosen locus-lap main 2 0
check '--cpus decides: the first thread' ran eval-cpus locus-lap main 0 40
check '--cpus decides: the worker' ran eval-cpus locus-lap other 2 0
check '--cpus cannot leave the cpuset, and says so' says 'cpus-cpuset status 2'
check 'the library keeps to the mask of its caller' says 'topo .*CPUs 0,2'
check 'the machine with isolcpus=1-3 runs' machine wide 1-3
check 'a node has none but isolated CPUs: its scheduler and worker run there' ran nodes locus-lap other '1 2 3' 0
check 'they were seen on that node' says 'nodes locus-lap other [23] '
check 'nobody calls the node unmeasurable' eval '! grep unmeasurable "$seen"'
check 'who waits for them has the other CPU' ran nodes locus main 0 0
check 'advise runs on both nodes' says 'advise locus-lap other 2 '
check 'and ends' says 'advise status 0'
[ -z "${TALK-}" ] || cat "$scratch/two" "$scratch/wide" >&2
done_testing
