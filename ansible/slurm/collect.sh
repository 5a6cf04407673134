#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# collect.sh: brings the logs of a cluster's nodes home. See --help.
#
# A log on its way is checked four times: its SHA-256 on the node and here, its chain, its place in the ledger, and the ledger
# against the checkpoint that was kept here after the collection before. Nothing in logs/ is touched until all of that is well.
# Then logs come first and the ledger last, so that a collection that is cut off can be done again: what is in logs/ already must
# be the beginning of what comes.
set -u
export LC_ALL=C

usage() {
    cat <<'END'
usage: ansible/slurm/collect.sh [OPTION...] NODE...

Brings each node's ledger and logs to logs/NODE here, when all of them verify. submit.sh does this when jobs have ended; by hand it
is for what went on after submit.sh was interrupted or had given a node up.

  --checkout FOLDER     where the campaign ran (this checkout). %N becomes the node's name
  --local               that folder is on a disk of the node: fetch by srun, which waits 60 s for the node, and takes its
                        partition and account from SLURM_PARTITION and SLURM_ACCOUNT
  --checkpoints FOLDER  a checkpoint for each host, kept so that none can rewrite its past (~/.local/state/locus/checkpoints)
  --help                this text

Examples:
  ansible/slurm/collect.sh --checkout /shared/%N/locus bm1 bm2
  ansible/slurm/collect.sh --local --checkout /scratch/locus bm1

Exit status: 0 all came home; 1 one did not, and its line says why; 2 bad input.
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
[ -x "$locus" ] || bad "there is no $locus, which verifies: run make in $home"
cd "$home" || exit 1
mkdir -p build "$checkpoints" || exit 1
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

last_words() { tail -n 1 "$stage/err" | sed 's/^[a-z]*: //'; }

fetch() {
    there "find 'logs/$host' -type f -exec sha256sum {} +" >"$stage/sums" 2>"$stage/err" && [ -s "$stage/sums" ] ||
        { why="$folder/logs/$host cannot be read ($(last_words))"; return 1; }
    there "tar -c 'logs/$host'" 2>"$stage/err" | tar -x -C "$stage" --no-same-owner 2>/dev/null
    odd=$(find "$stage/logs" ! -type f ! -type d | head -n 1)
    [ -z "$odd" ] || { why="${odd#"$stage"/} is no plain file: nobody but locus run writes there"; return 1; }
    (cd "$stage" && sha256sum --check --quiet --strict sums) >"$stage/err" 2>&1 &&
        [ "$(find "$stage/logs" -type f | wc -l)" = "$(wc -l <"$stage/sums")" ] ||
        { why="what arrived is not what was sent ($(head -n 1 "$stage/err")): is a run still writing? Try again"; return 1; }
}

verify() { # root
    [ ! -s "$checkpoints/$host" ] || set -- "$1" --checkpoint "$checkpoints/$host"
    "$locus" verify --host "$host" --root "$@" >"$stage/verify" 2>&1 || { why=$(head -n 1 "$stage/verify"); return 1; }
}

# What came home once may grow, and nothing else.
only_grows() {
    local file
    while IFS= read -r file; do
        [ -e "$stage/$file" ] && cmp --silent --bytes="$(stat -c %s "$file")" "$file" "$stage/$file" ||
            { why="$file is here already, and the node's is another: one of them was changed"; return 1; }
    done < <(find "logs/$host" -type f 2>/dev/null)
}

install_logs() {
    local file
    while IFS= read -r file; do
        cmp --silent "$stage/$file" "$file" || { mkdir -p "${file%/*}" && mv "$stage/$file" "$file"; } ||
            { why="$file cannot be written"; return 1; }
    done < <(cut -c 67- "$stage/sums" | grep -v '/ledger\.jsonl$'; echo "logs/$host/ledger.jsonl")
    sha256sum --check --quiet --strict "$stage/sums" >"$stage/err" 2>&1 || { why=$(head -n 1 "$stage/err"); return 1; }
}

collect() {
    folder=${checkout//%N/$host}
    rm -rf "${stage:?}"/*
    if [ -n "$local" ] || ! [ "$folder" -ef "$home" ]; then
        fetch && verify "$stage/logs" && only_grows && install_logs || return
    else
        verify logs || return
    fi
    grep -E "^$host [0-9]+ [0-9a-f]{64}\$" "$stage/verify" >"$checkpoints/$host.new" &&
        mv "$checkpoints/$host.new" "$checkpoints/$host"
}

missing=0
for host; do
    case $host in *[!A-Za-z0-9._-]* | .*) bad "'$host' is not the name of a node" ;; esac
    if collect; then
        grep ' crashed or is still running' "$stage/verify" | sed "s|$stage/||"
        echo "$host is home in logs/$host: $(grep -m 1 '^1 host, ' "$stage/verify" | sed 's/^1 host, //; s/: all is well$//')"
    else
        echo "$host is not home: ${why//"$stage/"/}"
        missing=1
    fi
done
exit $missing
