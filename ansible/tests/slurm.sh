#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# ansible/slurm on a real Slurm (slurm.bash): a campaign on two nodes comes home, and whatever does not is said and not waited for.
# LOCUS names the program, BUILD its build.
#
# The repository is a small one with the project's postulates 0030, which on two CPUs is unmeasurable at once, and 0002, which is
# interrupted. Its Makefile "builds" by copying a program that was linked here with that repository's commit.
set -u
REPO=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
BUILD=${BUILD:-$REPO/build/gcc}
LOCUS=${LOCUS:-$BUILD/locus}
. "$(dirname "$0")/slurm.bash"
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null XDG_STATE_HOME=$scratch/home/state HOME=$scratch/home
unset LOCUS_HOST

# --- a repository, a program of its commit, a cluster --------------------------------------------------------------------------

control=$scratch/control
logs=$control/logs
nodes=$scratch/nodes # NODE/locus is its checkout

repository() {
    mkdir -p "$control"/{postulates,ansible,experiments} "$nodes" "$scratch/home" "$scratch/build" && cd "$control" &&
        cp "$REPO"/postulates/00{02,30}-*.md postulates/ && cp -r "$REPO/ansible/slurm" ansible/ && echo /build/ >.gitignore &&
        printf '%s\n' all: "$(printf '\t')mkdir -p build/gcc && cp $scratch/build/locus $scratch/build/locus-lap build/gcc/" \
            "$(printf '\t')git rev-parse HEAD >build/gcc/commit; echo >>$scratch/builds" >Makefile &&
        git init -q . && git config user.email test@localhost && git config user.name test && git add -A && git commit -qm one &&
        one=$(git rev-parse HEAD)
}

# Its objects are the build's; only what names the commit is compiled. The second commit changes nothing that a run looks at.
program() {
    (cd "$BUILD" && find . \( -name '*.o' -o -name optional -o -name dpdk \) ! -path '*/tests/*' -print0 | tar --null -T - -c) |
        tar -x -C "$scratch/build"
    make -C "$REPO" B="$scratch/build" CC="${CC:-gcc}" commit="$one" "$scratch/build/locus" && make CC=gcc all
}

second_commit() {
    echo text >experiments/README.md && git add -A && git commit -qm two && two=$(git rev-parse HEAD) && make CC=gcc all
}

settings() {
    install -m 755 "$REPO/ansible/slurm/prolog.sh" "$cluster/prolog.sh"
    printf '%s\n' "program=$scratch/build/locus" 'fit=thp' 'partitions="bare measure"' "PATH=\$PATH:$PATH" \
        "export LD_LIBRARY_PATH=$LD_LIBRARY_PATH" >"$cluster/prolog.conf"
}

check repository repository
check program program
mkdir "$cluster"
if ! cluster_open; then
    fail cluster "$(tail -n 1 "$scratch/opened")"
    exit 1
fi
pass cluster
check prolog-is-installed settings

submit() { # STATUS ARGUMENT...; $out and $err are what it said
    local wanted=$1 status
    shift
    timeout 60 ansible/slurm/submit.sh --poll 0.2 "$@" >"$out" 2>"$err" </dev/null
    status=$?
    why="exit $status, not $wanted: $(tail -n 4 "$out" "$err" | paste -sd ' ')"
    [ $status -eq "$wanted" ]
}
collect() { # STATUS ARGUMENT...
    local wanted=$1 status
    shift
    timeout 60 ansible/slurm/collect.sh "$@" >"$out" 2>"$err" </dev/null
    status=$?
    why="exit $status, not $wanted: $(tail -n 4 "$out" "$err" | paste -sd ' ')"
    [ $status -eq "$wanted" ]
}
said() { holds "$1" "no '$2' in: $(paste -sd ' ' "$out" | cut -c 1-400)" grep -q -- "$2" "$out"; }
closed() { grep -c '"t":"close"' "$1/ledger.jsonl"; }
empty_queue() {
    scancel --user=root
    soon eval '[ -z "$(squeue --noheader)" ]'
}
own=(--checkout "$nodes/%N/locus")

# --- a campaign comes home -----------------------------------------------------------------------------------------------------

check campaign-of-two-nodes-and-two-repetitions submit 0 --nodes 'bm[1-2]' --repeat 2 "${own[@]}" --repository "$control" 0030
said both-nodes-came-home '^2 of 2 came home'
holds quiet-in-a-pipe "$(head -n 1 "$err")" [ ! -s "$err" ]
for node in bm1 bm2; do
    holds "$node-has-two-sealed-runs" "$(tail -n 2 "$out" | head -n 1)" [ "$(closed "$logs/$node")" -eq 2 ]
    check "$node-came-home-byte-for-byte" diff -r "$nodes/$node/locus/logs/$node" "$logs/$node"
done
check what-came-home-verifies "$LOCUS" verify
says filed-once-on-each-host '[.[] | select(.t == "postulate")] | length == 1' <(jq -s . "$logs/bm2/ledger.jsonl")
holds checkpoint-is-kept "$(cat "$XDG_STATE_HOME/locus/checkpoints/bm1")" \
    "$LOCUS" verify --host bm1 --checkpoint "$XDG_STATE_HOME/locus/checkpoints/bm1"
check collecting-again-changes-nothing collect 0 "${own[@]}" bm1 bm2
check collecting-by-srun collect 0 --local "${own[@]}" bm2

# --- what is refused at collection ---------------------------------------------------------------------------------------------

cp -a "$logs" "$scratch/before" && cp -a "$nodes/bm1/locus/logs" "$scratch/good"
far=$nodes/bm1/locus/logs
restored() { rm -rf "$far" && cp -a "$scratch/good" "$far"; }
untouched() { diff -r "$scratch/before" "$logs"; }
newest() { find "$1" -name '*.jsonl' ! -name 'ledger*' | sort | tail -n 1; }

sed -i '2s/"t"/"T"/' "$(newest "$far")"
check a-log-changed-on-its-node-is-refused collect 1 "${own[@]}" bm1 bm2
said its-name-is-said "^bm1 is not home: bm1/0030-.*$(basename "$(newest "$far")"):2: "
said the-other-node-is-home '^bm2 is home'
check logs-are-untouched untouched
restored
rm -r "$far/bm1" && mkdir "$far/bm1"
(cd "$nodes/bm1/locus" && LOCUS_HOST=bm1 build/gcc/locus postulate file 0030 >/dev/null)
check a-ledger-written-anew-is-refused collect 1 "${own[@]}" --checkpoints "$scratch/none" bm1
said it-is-not-what-came-home-before '^bm1 is not home: bm1/0030-[^ ]* is here, and bm1 has it no more'
check logs-are-untouched-by-it untouched
mv logs "$scratch/away"
check the-checkpoint-remembers collect 1 "${own[@]}" bm1
said the-checkpoint-is-the-witness 'ledger.jsonl:.*(witness: .*checkpoint'
check nothing-came-of-it [ ! -e logs ]
mv "$scratch/away" logs
restored
ln -s /etc/passwd "$far/bm1/0030-link"
check a-link-is-refused collect 1 "${own[@]}" bm1
restored
mkdir "$scratch/bin"
srun_that() { # COMMAND...: from now on, srun's output passes through it
    printf '%s\n' '#!/bin/sh' "$(command -v srun) \"\$@\" | $*" >"$scratch/bin/srun" && chmod +x "$scratch/bin/srun"
}
changed="gzip -d | sed 's/\"t\":\"sum\"/\"t\":\"SUM\"/' | gzip"
cut_once="if [ -e $scratch/cut ]; then cat; else : >$scratch/cut; head -c 1024; fi"
srun_that "$changed"
check a-log-changed-on-its-way-is-refused eval 'PATH=$scratch/bin:$PATH collect 1 --local "${own[@]}" bm1'
said what-changed-on-its-way-is-said '^bm1 is not home: bm1/0030-.*jsonl:[0-9]*: '
srun_that "$cut_once"
check an-end-that-srun-lost-is-fetched-again eval 'PATH=$scratch/bin:$PATH collect 0 --local "${own[@]}" bm2'
holds it-was-lost "nothing was cut" [ -e "$scratch/cut" ]
srun_that head -c 1024
check an-end-that-srun-always-loses-is-refused eval 'PATH=$scratch/bin:$PATH collect 1 --local "${own[@]}" bm2'
said what-was-lost-is-said 'logs/bm2 cannot be read (.*unexpected end of file)'
check no-logs-is-said collect 1 "${own[@]}" bm9
said no-logs-where 'nodes/bm9/locus/logs/bm9 cannot be read'

# --- the wrong commit, a tree that is not clean --------------------------------------------------------------------------------

check second-commit second_commit
check another-commit-fails submit 3 --nodes bm1 "${own[@]}" 0030
said another-commit-is-said "ended as FAILED: campaign: bm1: .* is at $one, not at $two: submit with --update"
check update-checks-it-out submit 0 --nodes bm1 "${own[@]}" --update 0030
check update-is-at-the-commit [ "$(git -C "$nodes/bm1/locus" rev-parse HEAD)" = "$two" ]
echo '#' >>"$nodes/bm1/locus/Makefile"
check a-changed-tree-fails submit 3 --nodes bm1 "${own[@]}" 0030
said what-changed-is-said 'is not clean ( M Makefile): commit or stash it'
git -C "$nodes/bm1/locus" checkout -q Makefile

# --- not fit -------------------------------------------------------------------------------------------------------------------

on_node() { # node, command: what it sees
    srun --quiet --immediate=10 --nodelist="$1" --nodes=1 "${@:2}" </dev/null 2>&1
}
if on_node bm2 grep -q '\[madvise\]' /sys/kernel/mm/transparent_hugepage/enabled; then
    cluster_thp bm2 always
    check unfit-in-the-job submit 3 --nodes bm2 "${own[@]}" --update --fit 'thp clocksource' 0030
    said unfit-in-the-job-is-said 'bm2: not fit to measure: .*thp'
    check a-failing-prolog-is-not-waited-for submit 1 --nodes bm1,bm2 --repeat 2 "${own[@]}" --sbatch=--partition=measure 0030
    said a-failing-prolog-is-said 'bm2 is stuck, and not waited for: node bm2 is drain[a-z]* (locus doctor: thp)'
    said a-failing-prolog-has-a-remedy 'scontrol update NodeName=bm2 State=RESUME'
    said the-fit-node-came-home '^1 of 2 came home'
    check a-drained-node-is-not-waited-for submit 3 --nodes bm2 "${own[@]}" 0030
    said a-drained-node-is-said 'bm2 is stuck.*drain[a-z]* (locus doctor: thp)'
    empty_queue
    cluster_thp bm2 madvise
    scontrol update NodeName=bm2 State=RESUME
    check a-node-that-was-mended-measures submit 0 --nodes bm2 "${own[@]}" --update --sbatch=--partition=measure 0030
    cluster_thp bm2 always
    check a-prolog-that-holds-the-job submit 3 --nodes bm2 "${own[@]}" --sbatch=--partition=measure --sbatch=--requeue 0030
    said a-held-launch-is-said 'its job is held (launch failed requeued held), and node bm2 is drained'
    cluster_thp bm2 madvise
    empty_queue
    scontrol update NodeName=bm2 State=RESUME
else
    skip unfit "the kernel has no transparent huge pages, or /sys takes no mounts"
fi

# --- held, down ----------------------------------------------------------------------------------------------------------------

check a-held-job-is-not-waited-for submit 3 --nodes bm2 "${own[@]}" --sbatch=--hold 0030
said a-held-job-is-said 'bm2 is stuck, and not waited for: its job is held (JobHeldUser)'
said a-held-job-has-a-remedy "scontrol release $(sed -n 's/^bm2 is job \([0-9]*\):.*/\1/p' "$out")"
empty_queue
scontrol update NodeName=bm2 State=DOWN Reason=power
check a-node-that-is-down-is-not-waited-for submit 1 --nodes bm1,bm2 "${own[@]}" 0030
said a-node-that-is-down-is-said 'bm2 is stuck.*node bm2 is down[*]* (power)'
empty_queue
scontrol update NodeName=bm2 State=RESUME
check a-node-that-is-none submit 3 --nodes bm7 "${own[@]}" 0030
said a-node-that-is-none-is-said 'bm7 was not queued: .*Invalid node name'

# --- interrupted, cancelled ----------------------------------------------------------------------------------------------------

job_of() { sed -n "s/^bm1 is job \([0-9]*\):.*/\1/p" "$1"; }
sampling() { [ "$(cat "$nodes"/bm1/locus/logs/bm1/0002-*/*.jsonl | wc -l)" -gt 3 ]; }
: >"$scratch/long"
timeout 60 ansible/slurm/submit.sh --poll 0.2 --nodes bm1 "${own[@]}" 0002 >"$scratch/long" 2>&1 </dev/null &
long=$!
holds a-long-run-begins "$(tail -n 1 "$scratch/long")" soon sampling
pkill -STOP -x locus # so that it is in the middle however long all of this takes; in this namespace there are no others
# A program in the background ignores SIGINT, and so would what it starts.
env --default-signal=INT ansible/slurm/submit.sh --poll 0.2 --nodes bm1 "${own[@]}" 0030 >"$out" 2>"$err" </dev/null &
second=$!
soon eval '[ -n "$(job_of "$out")" ]'
sleep 0.5 # it watches by now
kill -INT $second
wait $second
status=$?
holds interrupted "exit $status: $(tail -n 1 "$err")" [ $status -eq 130 ]
said interrupted-says-how-to-cancel "scancel $(job_of "$out")\$"
said interrupted-says-how-to-collect "collect.sh --checkout $nodes/%N/locus bm1"
check interrupted-leaves-the-job-in-the-queue eval '[ -n "$(squeue --noheader --jobs="$(job_of "$out")")" ]'
scancel "$(job_of "$out")" "$(job_of "$scratch/long")"
wait $long
status=$?
cp "$scratch/long" "$out"
holds cancelled-in-mid-run "exit $status" [ $status -eq 3 ]
said cancelled-is-said 'bm1: repetition 1 ended as CANCELLED'
said its-unsealed-log-is-said '0002-.* has no seal: it crashed or is still running (bm1/0002-'
said its-unsealed-log-is-home 'bm1 is home in logs/bm1: .* 1 crashed'
soon all_idle
check the-next-run-on-that-node submit 0 --nodes bm1 "${own[@]}" 0030
said the-crashed-run-stays-counted '1 crashed'

# --- one checkout for all nodes ------------------------------------------------------------------------------------------------

rm -rf logs "$XDG_STATE_HOME" "$scratch/builds" build/gcc/commit
check nodes-share-a-checkout submit 0 --nodes bm1,bm2 0030
holds one-of-them-builds-it "$(wc -l <"$scratch/builds") builds" [ "$(wc -l <"$scratch/builds")" -eq 1 ]
check shared-logs-verify eval '"$LOCUS" verify >"$out" && grep -q "^2 hosts, 2 runs (2 sealed" "$out"'

# --- bad input -----------------------------------------------------------------------------------------------------------------

for bad in '0030' '--nodes bm1' '--nodes bm1 30' '--nodes bm1 0099' '--nodes bm1 --repeat none 0030' '--nodes bm1 --what 0030' \
    '--nodes bm1 --checkout here 0030'; do
    # shellcheck disable=SC2086 # words
    check "refuses $bad" eval 'submit 2 $bad && [ "$(wc -l <"$err")" -eq 1 ] && [ ! -s "$out" ]'
done
check help eval 'submit 0 --help && grep -q Examples "$out" && collect 0 --help && grep -q Examples "$out"'

done_testing
