#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# submit.sh: runs one campaign on many nodes of a Slurm cluster and collects the logs. See --help.
#
# One job for each node, so that a job that cannot start holds up no other. We must not wait for jobs that will never run. A
# failing prolog shows in different ways: a job that may be requeued is held ("launch failed requeued held"), one that may not is
# cancelled, and Slurm 22.05 reports an array's task that may not as RUNNING for ever. All leave the node draining, with a reason.
# So jobs are judged together with their node.
set -u
export LC_ALL=C

usage() {
    cat <<'END'
usage: ansible/slurm/submit.sh --nodes LIST [OPTION...] NNNN...

Runs the postulates NNNN officially on each node, at the same commit, one job per node (campaign.sbatch), and waits until the logs
are verified and in logs/NODE of this checkout. Jobs that cannot finish are reported with a remedy and not waited for:
held jobs, nodes that are down, drained or failed their prolog, jobs that failed.

  --nodes LIST          in Slurm's syntax: bm1,bm[3-5]
  --repeat N            repetitions on each node, one after the other (1)
  --commit HASH         the commit to run (the one checked out here)
  --checkout FOLDER     the project on the nodes (this checkout). %N becomes the node's name. Nodes may share it: each has its own
                        ledger in logs/NODE. Do not change it until the campaign has ended
  --repository URL      clone from there if that folder is missing
  --update              let the job check out the commit if another one is there
  --local               that folder is on a disk of each node, not shared with this machine: logs are fetched by srun (which takes
                        its partition and account from SLURM_PARTITION and SLURM_ACCOUNT)
  --fit 'ID ID'         findings of `locus doctor` that must be fit when the job starts. For all jobs of a partition, an
                        administrator has prolog.sh
  --sbatch OPTION       passed to sbatch; may be repeated: --sbatch=--partition=measure --sbatch=--time=2:00:00
  --poll SECONDS        time between two looks at the queue (10)
  --help                print this text

Examples:
  ansible/slurm/submit.sh --nodes bm[1-4] 0014
  ansible/slurm/submit.sh --nodes bm1,bm2 --repeat 5 --checkout /shared/%N/locus --repository https://example.org/locus 0014 0016
  ansible/slurm/submit.sh --nodes bm1 --fit 'governor thp swap' --sbatch=--account=lab 0023

Ctrl-C stops watching but not the jobs; it lists them, and says how to cancel them or collect their logs later.

Exit status: 0 all nodes were collected; 1 some; 3 none; 2 bad input. The last line says how many.
END
}

bad() {
    echo "submit: $1" >&2
    exit 2
}

folder=$(cd "$(dirname "$0")" && pwd)
home=$(cd "$folder/../.." && pwd)
nodes='' repeat=1 commit='' checkout=$home repository='' fit='' poll=10 local=() update=() extra=()
while [ $# -gt 0 ]; do
    case $1 in --[a-z]*=*) set -- "${1%%=*}" "${1#*=}" "${@:2}" ;; esac
    case $1 in
    --nodes | --repeat | --commit | --checkout | --repository | --fit | --poll | --sbatch)
        [ $# -ge 2 ] || bad "$1: what? (see --help)"
        if [ "$1" = --sbatch ]; then extra+=("$2"); else declare "${1#--}=$2"; fi
        shift
        ;;
    --update) update=(--update) ;;
    --local) local=(--local) ;;
    --help) usage && exit ;;
    -*) bad "$1 is not an option (see --help)" ;;
    *) break ;;
    esac
    shift
done
[ -n "$nodes" ] || bad 'on which nodes? --nodes LIST (sinfo --Node shows them)'
[ $# -gt 0 ] || bad "which postulates? (see: locus postulate list)"
[[ $repeat =~ ^[1-9][0-9]{0,3}$ ]] || bad "--repeat: '$repeat' is not a number from 1 to 9999"
[[ $poll =~ ^[0-9]{1,4}([.][0-9]+)?$ ]] || bad "--poll: '$poll' is not a number of seconds"
for tool in sbatch squeue sinfo scontrol; do
    command -v $tool >/dev/null || bad "there is no $tool here: run this where jobs are submitted"
done
cd "$home" || exit 2
[ -x "${LOCUS:-build/gcc/locus}" ] || bad "there is no $home/build/gcc/locus, which verifies what comes home: make"
commit=$(git rev-parse --verify --quiet "${commit:-HEAD}^{commit}") || bad "--commit: $home has no such commit"
for number; do
    [[ $number =~ ^[0-9]{4}$ ]] || bad "'$number' is not a postulate's number, 0001 to 9999"
    git ls-tree --name-only "$commit" postulates/ | grep -q "^postulates/$number-" ||
        bad "commit ${commit:0:12} has no postulate $number"
done
[[ $checkout = /* ]] || bad "--checkout: '$checkout' is not a whole path, and jobs start elsewhere"
names=$(scontrol show hostnames "$nodes" | awk '!seen[$0]++') && [ -n "$names" ] || bad "--nodes: Slurm cannot read '$nodes'"

declare -A job=() fate=() before=()
declare -a watched=()
came=0 progress='' out=$home/build/slurm
[ ${#local[@]} -eq 0 ] || out=/tmp
mkdir -p "$home/build/slurm" || exit 2
[ ! -t 2 ] || progress=yes

say() {
    [ -z "$progress" ] || printf '\r\033[K' >&2
    printf '%s\n' "$@"
}

collect_command() { printf '%s ' ansible/slurm/collect.sh "${local[@]}" --checkout "$checkout" "$@" | sed 's/ $//'; }

interrupted() { # exit status
    local node ids=() open=()
    for node in "${watched[@]}"; do
        [ -n "${fate[$node]-}" ] && [ "${fate[$node]}" != stuck ] || { ids+=("${job[$node]}"); open+=("$node"); }
    done
    trap '' INT TERM
    [ ${#ids[@]} -eq 0 ] || say '' "interrupted: ${open[*]} go on without being watched, as jobs ${ids[*]}" \
        "  cancel them:                scancel ${ids[*]}" \
        "  later, bring logs home:     cd $home && $(collect_command "${open[@]}")"
    exit "$1"
}
trap 'interrupted 130' INT
trap 'interrupted 143' TERM HUP

# --- into the queue ------------------------------------------------------------------------------------------------------------

options=(--commit "$commit" --checkout "$checkout" "${update[@]}")
[ -z "$repository" ] || options+=(--repository "$repository")
[ -z "$fit" ] || options+=(--fit "$fit")
count=0
for node in $names; do
    count=$((count + 1))
    if id=$(sbatch --parsable --nodelist="$node" --nodes=1 --exclusive --no-requeue --array="1-$repeat%1" --job-name="locus-$node" \
        --chdir=/ --output="$out/locus-%A_%a.out" "${extra[@]}" "$folder/campaign.sbatch" "${options[@]}" "$@" 2>&1); then
        job[$node]=${id##*$'\n'}
        job[$node]=${job[$node]%%;*}
        watched+=("$node")
        say "$node is job ${job[$node]}: $repeat of $*"
    else
        say "$node was not queued: ${id##*$'\n'}" "  see: sinfo --Node --nodes=$node --long"
    fi
done

# --- watching ------------------------------------------------------------------------------------------------------------------

# A pending job's reason that does not go away by itself. A failed prolog's reason is Slurm's or prolog.sh's.
for_good='[Hh]eld|JobHoldMaxRequeue|BadConstraints|Invalid(Account|QOS)|Partition(Down|Inactive|NodeLimit|TimeLimit)|NeverSatisfied'
prolog='^(Prolog error|locus doctor: )'

# Sets $queue, lines "JOB_TASK|STATE|REASON", and $machines, "NODE|STATE|REASON". Slurm forgets a job minutes after its end; a job
# that is no longer listed has ended.
look() {
    queue=$(squeue --noheader --array --user="$(id -un)" --states=all --format='%i|%T|%r' 2>&1) &&
        machines=$(sinfo --noheader --Node --nodes="$(paste -sd , <<<"$names")" --format='%N|%T|%E' 2>&1)
}

# A node's job at the last look: $completed, $running, $waiting and $failed tasks; $held is the reason if one is held.
tasks_of() { # node
    local id state reason
    completed=0 running=0 waiting=0 failed='' held='' task=''
    while IFS='|' read -r id state reason; do
        [ "${id%%_*}" = "${job[$1]}" ] || continue
        case $state in
        COMPLETED) completed=$((completed + 1)) ;;
        PENDING) if [[ $reason =~ $for_good ]]; then held=$reason; else waiting=$((waiting + 1)); fi ;;
        RUNNING | COMPLETING | CONFIGURING | SUSPENDED | STOPPED | SIGNALING | STAGE_OUT | RESIZING) running=$((running + 1)) ;;
        *) failed=$state task=${id#*_} ;;
        esac
    done <<<"$queue"
}

# $stuck: why a node's job will not go on; empty if it will.
stuck_of() { # node; after tasks_of
    local name state reason out_of_use=''
    stuck=''
    while IFS='|' read -r name state reason; do
        [ "$name" != "$1" ] || case $state in
        down* | drain* | fail* | error* | unknown*) out_of_use="node $1 is $state ($reason)" ;;
        esac
    done <<<"$machines"
    [ -z "$out_of_use" ] || [ $running -eq 0 ] || [[ ! ${out_of_use#*\(} =~ $prolog ]] || running=0 waiting=1
    [ $running -eq 0 ] || return
    if [ -n "$held" ]; then stuck="its job is held ($held)${out_of_use:+, and $out_of_use}"
    elif [ $waiting -gt 0 ] && [ -n "$out_of_use" ]; then stuck=$out_of_use
    elif [ -n "$out_of_use" ] && [[ ${out_of_use#*\(} =~ $prolog ]]; then stuck=$out_of_use
    fi
}

remedy_of() { # node; after stuck_of
    [[ $stuck != *'node '* ]] ||
        say "  when it is well again:      scontrol update NodeName=$1 State=RESUME        (an administrator)"
    [ -z "$held" ] || say "  let the job start:          scontrol release ${job[$1]}"
    say "  or give up:                 scancel ${job[$1]}" "  logs of a later start:      $(collect_command "$1")"
}

# The last line of a failed task's output has the reason; a job that never ran has none.
failure_of() { # node
    local file=$out/locus-${job[$1]}_$task.out words=''
    if [ ${#local[@]} -gt 0 ]; then words="its words are in $1:$file"
    elif [ -s "$file" ]; then words=$(grep -v '^[[:space:]]*$' "$file" | grep -v '^slurmstepd' | tail -n 1 | cut -c 1-500)
    fi
    echo "repetition $task ended as $failed${words:+: $words}"
}

bring_home() { # node; after tasks_of
    local said home_too=yes
    said=$("$folder/collect.sh" "${local[@]}" --checkout "$checkout" "$1") || home_too=
    if [ -n "$home_too" ] && [ -z "$failed" ]; then
        came=$((came + 1))
        say "$said"
    else
        [ -z "$failed" ] || say "$1: $(failure_of "$1")"
        say "${said:-"$1 is not home: collect.sh failed"}"
    fi
}

# Has the node's job ended, and how? A job is stuck if two looks say so: Slurm needs a moment to hold a job whose node it has
# drained.
settle() { # node
    tasks_of "$1"
    stuck_of "$1"
    if [ -n "$stuck" ] && [ "$stuck" != "${before[$1]-}" ]; then
        before[$1]=$stuck
        left=$((left + 1))
    elif [ -n "$stuck" ]; then
        fate[$1]=stuck
        say "$1 is stuck, and not waited for: $stuck"
        remedy_of "$1"
        [ -z "$failed" ] || say "$1: $(failure_of "$1")"
        [ "$completed$failed" = 0 ] || "$folder/collect.sh" "${local[@]}" --checkout "$checkout" "$1"
    elif [ $running -eq 0 ] && [ $waiting -eq 0 ]; then
        fate[$1]=ended
        bring_home "$1"
    else
        left=$((left + 1)) all_running=$((all_running + running))
    fi
}

silent=0
while :; do
    left=0 all_running=0
    if look; then
        silent=0
        for node in "${watched[@]}"; do
            [ -n "${fate[$node]-}" ] || settle "$node"
        done
        [ $left -gt 0 ] || break
    elif [ $((silent += 1)) -ge 20 ]; then
        say "Slurm does not answer (${queue##*$'\n'}): the jobs go on as far as it does"
        interrupted 1
    fi
    [ -z "$progress" ] || printf '\r\033[K%s' "$came home, $left to come, $all_running running" >&2
    sleep "$poll" &
    wait $!
done
say "$came of $count came home"
case $came in
"$count") exit 0 ;;
0) exit 3 ;;
*) exit 1 ;;
esac
