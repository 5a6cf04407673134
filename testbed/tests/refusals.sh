#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# What locus reports if the kernel or a container refuses: each system call of placement is denied in turn (deny_scenario), with
# EPERM and with ENOSYS, on this host and in the two-node guest, which also gets a cpuset without node 1. `locus topo` must name
# the call and the cause. `locus run` of an experiment that needs mbind and move_pages on two nodes (EXPERIMENT, 0005) must end
# with the verdict unmeasurable-on-host and the cause, not with an error or another measurement; a host with one node leaves that
# to the guest.
#
# BUILD=path/of/the/build. The guest runs this script again, with that path as its argument.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:-${BUILD:?BUILD must name the folder of the build}}
build=${build#"$PWD"/}
experiment=${EXPERIMENT:-0005}
where=${LOCUS_GUEST:-host}
locus=$build/locus deny=$build/testbed/host/tests/deny_scenario
group=/sys/fs/cgroup/refusals
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failures=0 count=0 measurable=false

pass() { count=$((count + 1)) && echo "ok - $where: $1"; }
skip() { count=$((count + 1)) && echo "ok - $where: ${1%%: *} # SKIP ${1#*: }"; }
fail() {
    count=$((count + 1))
    echo "not ok - $where: $1"
    failures=$((failures + 1))
}

# What a denial does not change: without the head, which has the time, without what is free at the moment, and without what is said
# of the calls.
steady() { sed '/^  "head": {$/,/^  },$/d' "$1" | grep -v '_free_bytes\|_reclaimable_bytes\|_room_bytes\|"mbind\|"move_pages'; }

# says NAME "call:word ..." COMMAND...: COMMAND is locus topo behind something. For each call both forms name the word, and beyond
# that --json says what it says without a denial.
says() {
    name=$1 named=$2 wrong=''
    shift 2
    for form in text json; do
        option=''
        [ $form = text ] || option=--json
        "$@" $option >"$scratch/$form" 2>"$scratch/err" || wrong="$form: exit $?"
        [ ! -s "$scratch/err" ] || wrong="$form: $(head -n 1 "$scratch/err")"
    done
    for pair in $named; do
        call=${pair%%:*} word=${pair#*:}
        grep -Eq "^$call +no: $word, " "$scratch/text" || wrong="the text does not name $pair"
        grep -q "\"$call\": false" "$scratch/json" && grep -q "\"${call}_why\": \"$word, " "$scratch/json" ||
            wrong="the JSON does not name $pair"
    done
    [ "$(awk 'length > 80' "$scratch/text" | wc -l)" -eq 0 ] || wrong="a line is longer than 80 columns"
    steady "$scratch/json" >"$scratch/steady"
    cmp -s "$scratch/steady" "$scratch/undenied" || wrong="the JSON differs in more than the calls"
    if [ -z "$wrong" ]; then pass "$name"; else fail "$name: $wrong"; fi
}

# unmeasurable NAME PATTERN COMMAND...: COMMAND is locus behind something.
unmeasurable() {
    name=$1 pattern=$2
    shift 2
    "$@" run "$experiment" --smoke --quiet --logs "$scratch/logs" >"$scratch/out" 2>"$scratch/err"
    status=$?
    verdict=$(grep '^verdict' "$scratch/out")
    if [ $status -ne 0 ]; then
        fail "$name: exit $status: $(head -n 1 "$scratch/err")"
    elif echo "$verdict" | grep -q '^verdict unmeasurable-on-host: ' && echo "$verdict" | grep -qiE "$pattern"; then
        pass "$name"
    else
        fail "$name: ${verdict:-no verdict}"
    fi
}

runs() { # can the experiment be run here?
    [ "$("$locus" topo --json | grep -c '"kind": "DRAM"')" -ge 2 ] || return
    "$locus" postulate list --json | grep -q "\"$experiment\"" && return
    skip "locus run where calls are denied: there is no experiment $experiment"
    return 1
}

denials() {
    "$deny" || { skip "denied calls: $deny, exit $?"; return; }
    "$locus" topo --json >"$scratch/json"
    steady "$scratch/json" >"$scratch/undenied"
    for error in EPERM ENOSYS; do
        for call in mbind move_pages; do
            says "topo names $call and $error" "$call:$error" "$deny" $error $call -- "$locus" topo
        done
        says "topo is the same without reading or setting policies ($error)" '' \
            "$deny" $error get_mempolicy,set_mempolicy -- "$locus" topo
        says "topo names both calls when all are denied ($error)" "mbind:$error move_pages:$error" \
            "$deny" $error mbind,move_pages,get_mempolicy,set_mempolicy -- "$locus" topo
    done
    runs || return
    measurable=true
    for call in mbind move_pages; do
        unmeasurable "run $experiment without $call (EPERM)" "$call.*(EPERM|seccomp)|(EPERM|seccomp).*$call" \
            "$deny" EPERM $call -- "$locus"
        unmeasurable "run $experiment without $call (ENOSYS)" "$call.*ENOSYS|ENOSYS.*$call" "$deny" ENOSYS $call -- "$locus"
    done
}

# cgroup v2, in the guest: node 0 and its CPUs, without node 1.
in_cpuset() {
    sh -c 'echo $$ >"$0" && exec "$@"' $group/cgroup.procs "$@"
}

cpuset() {
    if ! { echo +cpuset >/sys/fs/cgroup/cgroup.subtree_control && mkdir $group && echo 0 >$group/cpuset.mems &&
        echo 0-1 >$group/cpuset.cpus; }; then
        fail "a cpuset without node 1: it cannot be made"
        return
    fi
    if in_cpuset "$locus" topo | grep -Eq '^this process may use +nodes 0, CPUs 0-1$'; then
        pass "topo in a cpuset without node 1 says what is left"
    else
        fail "topo in a cpuset without node 1: $(in_cpuset "$locus" topo 2>&1 | grep 'may use')"
    fi
    ! $measurable || unmeasurable "run $experiment in a cpuset without node 1" cpuset in_cpuset "$locus"
}

denials
if [ -n "${LOCUS_GUEST-}" ]; then
    cpuset
    exit $((failures > 0))
fi

sh testbed/guest/or-skip.sh "n2: refusals" || { status=$?; echo "1..$((count + 1))"; exit $((failures > 0 || status == 1)); }
sh testbed/guest/boot.sh --machine n2 --with "$locus" --with "$deny" -- testbed/tests/refusals.sh "$build" >"$scratch/n2" \
    2>"$scratch/err"
status=$?
cat "$scratch/n2"
[ $status -le 1 ] && grep -q '^ok' "$scratch/n2" || fail "the guest: exit $status: $(tail -n 1 "$scratch/err")"
echo "1..$((count + $(grep -cE '^(not )?ok ' "$scratch/n2")))"
[ $status -eq 0 ] && [ "$failures" -eq 0 ]
