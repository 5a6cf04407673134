# SPDX-License-Identifier: Apache-2.0
#
# slurm.bash: a Slurm cluster of two nodes, bm1 and bm2, on this machine; to be sourced by a test script, with its arguments:
#
#     . "$(dirname "$0")/slurm.bash"
#     cluster_open                    slurmctld, two slurmd and munged are up; sbatch, squeue ... are in PATH
#     cluster_thp bm2 always          from now on bm2 reads this of transparent huge pages; madvise is fit
#
# Slurm's packages are unpacked and not installed (fleet/fetch.sh), because installing them would start services on this very
# machine. The script runs again in namespaces of its own: ports, the name "control", mounts and processes are visible to nobody
# else, so two clusters cannot meet, and the kernel ends everything when the script ends, even by SIGKILL. $scratch and the cases
# are cases.bash's.

cluster_repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cluster_packages=build/fleet-slurm

# Why there can be no cluster here, and what to do. In continuous integration nobody would look for what was left out.
cluster_cannot() { # yes: packages would help, why
    case $1/${CI-} in
    no/* | yes/ | yes/0 | yes/false)
        echo "1..0 # SKIP $2"
        exit 0
        ;;
    esac
    echo "not ok - $(basename "$0" .sh): CI is set, where a skip is a failure. $2"
    exit 1
}

if [ "${CLUSTER_INSIDE-}" != yes ]; then
    [ "$(id -u)" -eq 0 ] || cluster_cannot no 'slurmd needs root: run it as root'
    for tool in unshare setpriv taskset ip flock git jq; do
        command -v $tool >/dev/null || cluster_cannot yes "there is no $tool here: make deps-test"
    done
    why=$(unshare --mount --net --uts --pid --fork --kill-child --mount-proc true 2>&1) ||
        cluster_cannot no "namespaces are not allowed here (${why##*$'\n'}): run it on a host, not in a container"
    why=$(cd "$cluster_repo" && sh ansible/tests/fleet/fetch.sh $cluster_packages slurmctld slurmd slurm-client munge \
        slurm-wlm-basic-plugins libmunge2 2>&1) || cluster_cannot yes "${why##*locus: fleet: }"
    # What is inside may be killed as it stands, so its folder is ours. unshare itself takes no other signal.
    TMPDIR=$(mktemp -d) || exit 1
    export TMPDIR
    trap 'kill -KILL $inside && wait $inside; rm -rf "$TMPDIR"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
    CLUSTER_INSIDE=yes unshare --mount --net --uts --pid --fork --kill-child --mount-proc bash "$0" "$@" &
    inside=$!
    wait $inside
    status=$?
    trap 'rm -rf "$TMPDIR"' EXIT
    exit $status
fi
unset CLUSTER_INSIDE

. "$cluster_repo/testbed/tests/cases.bash"
trap 'exit 130' INT # the first process of a pid namespace ignores what it has no trap for
trap 'exit 143' TERM HUP
cluster=$scratch/cluster

# Waits, a minute at most, until a command succeeds.
soon() {
    local tries=1200
    until "$@"; do
        [ $((tries -= 1)) -gt 0 ] || return 1
        sleep 0.05
    done 2>/dev/null
}

cluster_conf() {
    cat <<END
ClusterName=fleet
SlurmctldHost=control(127.0.0.1)
SlurmUser=root
SlurmdUser=root
SlurmctldPort=17000
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket=$cluster/munge/socket
PluginDir=$plugins
StateSaveLocation=$cluster/state
SlurmdSpoolDir=$cluster/spool/%n
SlurmctldPidFile=$cluster/slurmctld.pid
SlurmdPidFile=$cluster/%n.pid
SlurmctldLogFile=$cluster/slurmctld.log
SlurmdLogFile=$cluster/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/linear
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
SchedulerParameters=batch_sched_delay=0,sched_interval=1,sched_min_interval=0
KillWait=1
Prolog=$cluster/prolog.sh
NodeName=bm1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=17001 CPUs=2 RealMemory=1000
NodeName=bm2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=17002 CPUs=2 RealMemory=1000
PartitionName=all Nodes=bm1,bm2 Default=YES
PartitionName=measure Nodes=bm1,bm2
END
}

cluster_thp() { # node, always or madvise
    echo "always madvise never" | sed "s/$2/[&]/" >"$cluster/$1.thp"
}

# Each slurmd sees huge pages of its own, and two CPUs, on which a postulate that wants 16 is unmeasurable at once.
cluster_start() { # node
    local enabled=/sys/kernel/mm/transparent_hugepage/enabled
    unshare --mount sh -c "[ ! -e $enabled ] || mount --bind '$cluster/$1.thp' $enabled || exit
        exec taskset -c '$(taskset -cp $$ | sed 's/.*: //; s/-/,/' | cut -d , -f 1,2)' $slurmd -N $1 -d $slurmstepd"
}

all_idle() { [ "$(sinfo --noheader --Node --partition=all --format=%T | sort -u)" = idle ]; }

cluster_open() {
    local root=$cluster_repo/$cluster_packages/root daemon
    plugins=$(dirname "$(find "$root/usr/lib" -name libslurmfull.so)")
    for daemon in slurmctld slurmd slurmstepd; do declare -g "$daemon=$(find "$root/usr/sbin" -name "$daemon*" | head -n 1)"; done
    export PATH=$root/usr/bin:$root/usr/sbin:$PATH LD_LIBRARY_PATH=$plugins:${plugins%/*} SLURM_CONF=$cluster/slurm.conf
    mkdir -p "$cluster"/{state,spool,munge} && chmod 755 "$scratch" "$cluster" "$cluster/munge"
    hostname control && ip link set lo up && ip addr add 192.0.2.1/32 dev lo # with 127.0.0.1 alone libc resolves no address
    (umask 277 && head -c 128 /dev/urandom >"$cluster/munge/key")
    cluster_conf >"$SLURM_CONF"
    cluster_thp bm1 madvise
    cluster_thp bm2 madvise
    munged --key-file="$cluster/munge/key" --socket="$cluster/munge/socket" --pid-file="$cluster/munge/pid" --force \
        --log-file="$cluster/munge/log" --seed-file="$cluster/munge/seed" --origin=127.0.0.1 &&
        "$slurmctld" -c && cluster_start bm1 && cluster_start bm2 && soon all_idle
} >"$scratch/opened" 2>&1
