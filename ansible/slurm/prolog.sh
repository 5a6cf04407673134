#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# prolog.sh: keeps jobs from starting on a node that is not fit to measure. An administrator installs it as slurmd's Prolog:
#
#     install -o root -m 755 ansible/slurm/prolog.sh /etc/slurm/locus-prolog.sh       on every node
#     Prolog=/etc/slurm/locus-prolog.sh                                               in slurm.conf, then: scontrol reconfigure
#
# slurmd runs it as root, so this file, prolog.conf beside it and the program must belong to root (make install), never to the
# user who measures. The program itself runs as the job's user. If a finding is unfit, slurmd drains the node; the reason (sinfo
# -R) names the findings. That drains the node for everybody, so give shared nodes a partition for measuring, and check only jobs
# in it. prolog.conf is shell, and may set:
#
#     program=/usr/local/bin/locus        the program
#     fit='governor thp swap'             the findings that must be fit (locus doctor --all has their names)
#     partitions='measure bare'           check only jobs in these; empty: all jobs
#
# Load and pressure are left out: they fade only after the previous job has ended.
program=/usr/local/bin/locus
fit='governor boost idle-states numa-balancing thp thp-defrag ksm swap zone-reclaim demotion'
partitions=
export PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin # slurmd sets none
[ ! -r "$(dirname "$0")/prolog.conf" ] || . "$(dirname "$0")/prolog.conf"

case " ${partitions:-$SLURM_JOB_PARTITION} " in
*" $SLURM_JOB_PARTITION "*) ;;
*) exit 0 ;;
esac

# shellcheck disable=SC2086 # a list
found=$(setpriv --reuid "$SLURM_JOB_UID" --regid "$SLURM_JOB_GID" --clear-groups "$program" doctor --check $fit 2>&1) && exit 0
why=$(echo "$found" | awk '/^(UNFIT|unknown) /{ printf "%s%s", comma, $2; comma = ", " }')
why="locus doctor: ${why:-$(echo "$found" | tail -n 1)}"

# slurmd drains the node in any case, and keeps an existing reason. Slurm's commands do not belong in a prolog, for which all jobs
# wait, but this job will not start.
timeout 5 scontrol update "NodeName=$SLURMD_NODENAME" State=DRAIN "Reason=$why" >/dev/null 2>&1
logger -t locus-prolog "job $SLURM_JOB_ID: $why" 2>/dev/null
exit 1
