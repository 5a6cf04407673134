#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# prolog.sh: no job starts on a node that is not fit to measure. For slurmd's Prolog, by an administrator:
#
#     install -o root -m 755 ansible/slurm/prolog.sh /etc/slurm/locus-prolog.sh       on every node
#     Prolog=/etc/slurm/locus-prolog.sh                                               in slurm.conf, then: scontrol reconfigure
#
# slurmd runs it as root, so this file, prolog.conf beside it and the program belong to root (make install), never to who measures.
# The program itself runs as the job's user. When a finding is not fit, slurmd drains the node; its reason (sinfo -R) names the
# findings. slurmd would drain nodes for everybody, so nodes that others use get a partition of their own to measure in, and only
# jobs in it are looked at. prolog.conf is shell, and may set:
#
#     program=/usr/local/bin/locus        what looks
#     fit='governor thp swap'             the findings that must be fit (locus doctor --all has their names)
#     partitions='measure bare'           look at jobs in these only; empty: at all jobs
#
# Load and pressure are left out: they fade only after the job before has ended.
program=/usr/local/bin/locus
fit='governor boost idle-states numa-balancing thp thp-defrag ksm swap zone-reclaim demotion'
partitions=
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin # slurmd gives none
[ ! -r "$(dirname "$0")/prolog.conf" ] || . "$(dirname "$0")/prolog.conf"

case " ${partitions:-$SLURM_JOB_PARTITION} " in
*" $SLURM_JOB_PARTITION "*) ;;
*) exit 0 ;;
esac

# shellcheck disable=SC2086 # a list
found=$(setpriv --reuid "$SLURM_JOB_UID" --regid "$SLURM_JOB_GID" --clear-groups "$program" doctor --check $fit 2>&1) && exit 0
why=$(echo "$found" | awk '/^(UNFIT|unknown) /{ printf "%s%s", comma, $2; comma = ", " }')
why="locus doctor: ${why:-$(echo "$found" | tail -n 1)}"

# slurmd drains the node in any case; a reason that is there already it leaves as it is. Slurm's commands do not belong into a
# prolog that all jobs wait for, but this job goes nowhere.
timeout 5 scontrol update "NodeName=$SLURMD_NODENAME" State=DRAIN "Reason=$why" >/dev/null 2>&1
logger -t locus-prolog "job $SLURM_JOB_ID: $why" 2>/dev/null
exit 1
