#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# collect.sh: collects the logs of a cluster's nodes. See --help.
#
# It fetches a node's folder, and `locus packet import` does the rest: it checks each log's chain, its place in the ledger, and the
# ledger against the checkpoint of the previous collection; and the existing logs must be the beginning of the new ones. Nothing
# in logs/ changes before all these checks pass.
set -u
export LC_ALL=C

usage() {
    cat <<'END'
usage: ansible/slurm/collect.sh [OPTION...] NODE...

Brings each node's ledger and logs to logs/NODE here, if all of them verify. submit.sh does this when jobs have ended; run it by
hand for jobs that went on after submit.sh was interrupted or had given up on a node.

  --checkout FOLDER     where the campaign ran (this checkout). %N becomes the node's name
  --local               that folder is on a disk of the node: fetch by srun, which waits 60 s for the node, and takes its
                        partition and account from SLURM_PARTITION and SLURM_ACCOUNT
  --checkpoints FOLDER  a checkpoint for each host, so that none can rewrite its past (~/.local/state/locus/checkpoints)
  --help                print this text

Examples:
  ansible/slurm/collect.sh --checkout /shared/%N/locus bm1 bm2
  ansible/slurm/collect.sh --local --checkout /scratch/locus bm1

Exit status: 0 all nodes were collected; 1 at least one was not, and its line says why; 2 bad input.
END
}

bad() {
    echo "collect: $1" >&2
    exit 2
}

home=$(cd "$(dirname "$0")/../.." && pwd)
locus=${LOCUS:-$home/build/gcc/locus}
checkout=$home local='' checkpoints=${XDG_STATE_HOME:-$HOME/.local/state}/locus/checkpoints
while [ $# -gt 0 ]; do
    case $1 in
    --checkout | --checkpoints)
        [ $# -ge 2 ] || bad "$1: which folder? (see --help)"
        declare "${1#--}=$2"
        shift
        ;;
    --local) local=yes ;;
    --help) usage && exit ;;
    -*) bad "$1 is not an option (see --help)" ;;
    *) break ;;
    esac
    shift
done
[ $# -gt 0 ] || bad 'which nodes? (see --help)'
[ -x "$locus" ] || bad "there is no $locus, which imports: run make in $home"
cd "$home" || exit 1
mkdir -p build || exit 1
stage=$(mktemp -d build/collect.XXXXXX) || exit 1
trap 'rm -rf "$stage"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# --- one host ------------------------------------------------------------------------------------------------------------------

# Runs a command where the node's checkout is.
there() {
    if [ -n "$local" ]; then
        srun --quiet --immediate=60 --nodelist="$host" --nodes=1 --ntasks=1 --chdir=/ bash -c "cd '$folder' && $1" </dev/null
    else
        (cd "$folder" && eval "$1")
    fi
}

# Under load, srun of Slurm 22.05 loses the end of a command's output now and then (1 of 1,500 calls) and still exits with 0. The
# checksum at the end of gzip notices it wherever the cut is, and what was cut is asked for again. perf's raw data stay on the node;
# git does not keep them either.
fetch() {
    local tries=3 status
    while :; do
        there "tar -cz --exclude='*.perf/*.data' 'logs/$host'" 2>"$stage/err" | tar -xz -C "$stage" --no-same-owner 2>>"$stage/err"
        status=${PIPESTATUS[*]}
        [ "$status" = '0 0' ] && return
        [ "${status% *}" = 0 ] && [ $((tries -= 1)) -gt 0 ] || break
    done
    why="$folder/logs/$host cannot be read ($(sed -n 's/^[a-z]*: //p' "$stage/err" | head -n 1)). Is a run still writing? Try again"
    return 1
}

collect() {
    local from=logs/$host
    folder=${checkout//%N/$host}
    rm -rf "${stage:?}"/*
    if [ -n "$local" ] || ! [ "$folder" -ef "$home" ]; then
        fetch || return
        from=$stage/logs/$host
    fi
    "$locus" packet import "$from" --checkpoints "$checkpoints" >"$stage/said" 2>&1 ||
        { why=$(sed -n 's/^wrong  *//p; s/^locus: //p' "$stage/said" | head -n 1); return 1; }
}

missing=0
for host; do
    case $host in *[!A-Za-z0-9._-]* | .*) bad "'$host' is not the name of a node" ;; esac
    if collect; then
        grep ' has no seal' "$stage/said"
        echo "$host is home in logs/$host: $(sed -n 's/^runs  *\([0-9]*\),/\1 runs,/p' "$stage/said")"
    else
        echo "$host is not home: ${why//"$stage/"/}"
        missing=1
    fi
done
exit $missing
