#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# campaign.yml and collect.yml on three fake hosts: a real campaign by the real program, and its failures: a host that dies, a
# forged log, a rewritten past, a knob that lies, a full disk, another host key. Also a host's queue and its timer. One line a
# case.
set -u
. "$(dirname "$0")/fleet.bash"
: "${LOCUS:?LOCUS must name the program}"

# --- what the hosts have -------------------------------------------------------------------------------------------------------

# The project as it is here, in a repository with one commit, and the program that was built from that: the objects are those of
# this build, and the one that holds the commit is compiled anew.
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_{AUTHOR,COMMITTER}_NAME=fleet GIT_{AUTHOR,COMMITTER}_EMAIL=fleet@example.org
layer=$fleet/layer
tree=$layer/opt/locus
built=$(dirname "$LOCUS")
mkdir -p "$tree/build" "$layer/var/spool/locus"
(cd "$FLEET_REPO" && git ls-files -z --cached --others --exclude-standard ':!logs/*/*' |
    xargs -0 cp --parents -t "$tree") 2>/dev/null # but for what is not there any more
cp -r "$built" "$tree/build/gcc" && rm -f "$tree/build/gcc/locus" && find "$tree/build" -name '*.o' -exec touch {} +
git -C "$tree" init -q -b main && git -C "$tree" add -A && git -C "$tree" commit -q -m fixture || exit 1
commit=$(git -C "$tree" rev-parse HEAD)
make -C "$tree" CC=gcc DPDK="$([ -s "$built/dpdk" ] && grep -q . "$built/dpdk" || echo)" build/gcc/locus >"$out" 2>&1 ||
    { fail fixture "the program cannot be built: $(grep -iE -m 1 "error|undefined|\*\*\*" "$out")"; exit 1; }
chown -R 61000:61000 "$tree" "$layer/var/spool/locus"

# The control host's checkout, on a small disk of its own, without the records of runs whose logs are not there either.
home=$fleet/home
mkdir "$home" && mount -t tmpfs -o size=16m home "$home"
git -C "$tree" -c safe.directory="$tree" archive HEAD postulates experiments ':!experiments/0*.md' | tar -x -C "$home" && mkdir "$home/logs" "$home/build"

FLEET_LAYERS=$layer
fleet_open 3
cat >"$fleet/vars.yml" <<END
locus_commit: $commit
locus_postulates: "0014"
locus_home: $home
locus_patience_minutes: 0
locus_home_program: $tree/build/gcc/locus
locus_checkpoints: $fleet/checkpoints
END
fit='cd /sys/kernel/mm && echo madvise | tee transparent_hugepage/enabled >transparent_hugepage/defrag && echo 0 >ksm/run &&
    echo false >numa/demotion_enabled && cd /proc/sys && echo 0 | tee kernel/numa_balancing >vm/zone_reclaim_mode &&
    cd /sys/devices/system/cpu && echo performance | tee cpufreq/policy*/scaling_governor && echo 0 >cpufreq/boost &&
    echo 1 | tee cpu*/cpuidle/state2/disable'

# play STATUS PLAYBOOK ARGUMENT...: what it says is in $out. STATUS -: whatever.
play() {
    local wanted=$1 status
    shift
    fleet_play -e "@$fleet/vars.yml" --forks 3 "$@" >"$out" 2>"$err"
    status=$?
    why="exit $status, not $wanted: $(grep -A 3 -m 1 -E 'fatal|ERROR' "$out" "$err" | paste -sd ' ' | cut -c 1-400)"
    [ "$wanted" = - ] || [ $status -eq "$wanted" ]
}
said() { why="'$1' was not said" && tr -s ' \n' ' ' <"$out" | grep -qE -- "$1"; } # lines are broken to fit a screen
unsaid() { why="'$1' was said" && ! grep -qE -- "$1" "$out"; }
unchanged() { why='something changed' && [ "$(grep -c 'changed=0 ' "$out")" -eq "$1" ]; } # number of hosts
record() { (cd "$home" && find logs "$fleet/checkpoints" -type f -exec sha256sum {} + 2>/dev/null | sort -k 2); }
verify() { (cd "$home" && "$tree/build/gcc/locus" verify "$@") >"$out" 2>"$err"; }
log_of() { echo "$fleet/$1"/upper/opt/locus/logs/"$1"/*/*.jsonl; } # a host's files are on a disk of this one
ledger_of() { echo "$fleet/$1/upper/opt/locus/logs/$1/ledger.jsonl"; }
queue_of() { LOCUS_QUEUE=$fleet/queue sh "$tree/ansible/roles/runner/files/queue.sh" "$@"; }

# --- the campaign --------------------------------------------------------------------------------------------------------------

number() { play 2 campaign.yml -e '{locus_postulates: [14]}' && said 'numbers in quotes' && unsaid 'bm2'; }
check 'a postulate that YAML took for a number is refused' number
unfit() {
    play 2 campaign.yml && said 'bm1: queue: not fit to measure: .*numa-balancing' && said 'wanted +0 \(off\)' && unsaid 'bm[23]' &&
        why='something was written' && ! [ -e "$(ledger_of bm1)" ]
}
check 'a canary that is not fit stops all, and says what to do' unfit
for host in bm1 bm2 bm3; do fleet_on $host "$fit" >/dev/null; done

dying() {
    local log tries=3000
    play - campaign.yml &
    until log=$(log_of bm2) && [ -s "$log" ] && [ "$(wc -l <"$log")" -gt 3 ] || [ $((tries -= 1)) -eq 0 ]; do sleep 0.02; done
    fleet_kill bm2
    wait $!
    said 'bm2.: (UNREACHABLE|FAILED).*Failed to connect to the host' && said 'bm1 .*failed=0' && said 'bm3 .*failed=0' &&
        said 'verdict' && why='bm2 was waited for no more, but its log has a seal' && ! grep -q '"t":"seal"' "$log"
}
check 'a host that dies in mid-campaign is reported, and the other finishes' dying
first() {
    why='bm2 began before bm1 had ended'
    [ "$(tail -n 1 "$(ledger_of bm1)" | jq -r .time)" \< "$(head -n 1 "$(ledger_of bm2)" | jq -r .time)" ]
}
check 'the canary was first' first

# --- bringing it home ----------------------------------------------------------------------------------------------------------

fleet_start bm2
planned() { play 0 collect.yml --check --limit bm1 && why='something is here' && [ -z "$(record)" ] && said 'bm1 .*changed=1'; }
check 'collecting in check mode says what would come, and brings nothing' planned

log=$(log_of bm3)
cp -p "$log" "$fleet/kept.jsonl"
victim=bm3/$(basename "$(dirname "$log")")/$(basename "$log")
fleet_on bm3 "sed -i '5s/,/&9/' /opt/locus/logs/$victim"
tampered() {
    play 2 collect.yml && said "bm3 is refused, it says itself: logs/$victim:[3-5]: " && said 'bm1: 1 runs, 1 sealed' &&
        why='bm3 is here' && [ ! -e "$home/logs/bm3" ]
}
check 'a log that was tampered with is refused by its name, and the others come home' tampered
crashed() {
    said 'bm2: 1 runs, 0 sealed' && said 'run 0014-[0-9TZa-f-]* has no seal: .*[(]bm2/0014-' && why="$(head -n 1 "$err")" &&
        verify && grep -q '2 hosts, 2 runs (1 sealed, 1 crashed)' "$out"
}
check 'the run of the host that died comes home as it is, and is counted' crashed
fleet_on bm3 'mv /opt/locus/build/gcc/locus /opt/locus/build/gcc/honest; ln -s /bin/true /opt/locus/build/gcc/locus'
before=$(record)
same() { why='something changed' && [ "$before" = "$(record)" ]; }
lying() { play 2 collect.yml --limit bm3 && said "bm3 is refused: $victim:[3-5]: " && same; }
check 'where the host does not say so, it is noticed here' lying
fleet_on bm3 'mv /opt/locus/build/gcc/honest /opt/locus/build/gcc/locus'
cp -p "$fleet/kept.jsonl" "$log"

full() {
    rm -rf "$home/build/coming"
    head -c 16m /dev/zero >"$home/build/filler" 2>/dev/null
    play 2 collect.yml --limit bm3 && said 'No space left on device' && same
}
check 'a full disk is an error, and the record is as it was' full
rm "$home/build/filler"
whole() {
    play 0 collect.yml --limit bm3 && said 'bm3: 1 runs, 1 sealed' && why="$(head -n 1 "$err")" && verify &&
        grep -q '3 hosts, 3 runs (2 sealed, 1 crashed), .*all is well' "$out" && why='the checkpoints are others' &&
        cat "$fleet"/checkpoints/bm? >"$fleet/checkpoint" && verify --checkpoint "$fleet/checkpoint"
}
check 'all that is well comes home, and verifies here' whole
before=$(record)
twice() { play 0 collect.yml --limit bm1,bm2 && unchanged 2 && same; }
check 'a second time nothing changes' twice

# A ledger that ends earlier, together with its log: consistent in itself.
fleet_on bm1 "cd /opt/locus && cp -a logs /tmp/logs && sed -i '3,\$d' logs/bm1/ledger.jsonl && rm -r logs/bm1/0014*"
rewritten() { play 2 collect.yml --limit bm1 && said 'bm1/0014-.*jsonl is here, and bm1 has it no more' && same; }
check 'a host does not take back what came home' rewritten
mv "$home/logs/bm1" "$fleet/lost"
witness() {
    play 2 collect.yml --limit bm1 && said 'bm1 is refused: .* ends with [0-9]* bytes, and had [0-9]*.*an older checkpoint' &&
        why='it is here' && [ ! -e "$home/logs/bm1" ]
}
check 'nor when this record is lost: the checkpoint knows' witness
mv "$fleet/lost" "$home/logs/bm1" && fleet_on bm1 'rm -r /opt/locus/logs && mv /tmp/logs /opt/locus/logs'

fleet_on bm1 'ln -s /etc/shadow /opt/locus/logs/bm1/x'
linked() { play 2 collect.yml --limit bm1 && said 'bm1 is refused, it says itself: logs/bm1/x:1: a symbolic link' && same; }
check 'a link among the logs is an error' linked
fleet_on bm1 'rm /opt/locus/logs/bm1/x'

# --- the queue of a host -------------------------------------------------------------------------------------------------------

git config --file "$fleet/gitconfig" safe.directory "$tree" && export GIT_CONFIG_GLOBAL=$fleet/gitconfig # it is locus's
mkdir "$fleet/queue"
job() { queue_of add "$1" <<<"$2" && queue_of work && queue_of wait "$1" 0 >"$out" && said "$3"; } # name, job, what is said
good="commit $commit"$'\nhost test'
check 'a job that is none fails, and says why' job a 'color blue' "failed .*'color' is nothing"
check 'a job of another commit fails' job b $'commit 0\nhost test\nrun 0030' "failed .*is at $commit, not at 0"
dirty() { echo x >"$tree/new" && job c "$good"$'\nrun 0030' 'failed .*is not clean .*new.*or remove it'; }
check 'in a checkout that is not clean it fails' dirty
rm "$tree/new"
check 'a job runs, is verified, and its output is kept' job d "$good"$'\nrun 0030' 'done .*unmeasurable.*all is well'
ordered() {
    touch -d '1 hour ago' "$fleet/queue/z.job" && echo bad >"$fleet/queue/b2.job" && queue_of work &&
        why='b2 was before z' && [ "$(ls -tr "$fleet/queue/failed" | grep -n 'z.log\|b2.log' | head -n 1 | cut -d : -f 2)" = z.log ]
}
check 'the oldest is first' ordered
interrupted() {
    echo "$good" >"$fleet/queue/running/e.job" && queue_of work && queue_of wait e 0 >"$out" &&
        said 'failed queue: e was interrupted'
}
check 'what was interrupted is failed and not begun again' interrupted
busy() {
    (exec 9>>"$fleet/queue/lock" && flock 9 && echo x >"$fleet/queue/running/f.job" &&
        ! queue_of add --alone g </dev/null 2>"$out") && said 'f is under way' && rm "$fleet/queue/running/f.job" &&
        why='a free queue is refused' && queue_of add --alone g </dev/null
}
check 'a second campaign is refused while one is under way' busy

left() { # at work by itself when the playbook has ended
    play 0 campaign.yml --skip-tags wait -e '{locus_require_fit: [], locus_postulates: "0030"}' --limit bm1 && unsaid verdict &&
        fleet_on bm1 'cd / && sh /opt/locus/ansible/roles/runner/files/queue.sh wait "$(find /var/spool/locus -name "*-0030.*" |
            sed "s|.*/||; s|[.][a-z]*$||" | head -n 1)" 100' >"$out" && said 'done .*unmeasurable.*all is well'
}
check 'a campaign that is not waited for goes on by itself' left
units() { play 0 runner.yml --limit bm1 && said 'bm1 has no systemd' && play 0 runner.yml --limit bm1 && unchanged 1; }
check 'the runner is set up, and a second time nothing changes' units
valid() {
    mkdir "$fleet/units" && cp "$fleet"/bm1/upper/etc/systemd/system/locus-runner.* "$fleet/units/" &&
        sed -i 's|^User=.*|User=root|' "$fleet/units/locus-runner.service" &&
        systemd-analyze verify "$fleet"/units/* >"$out" 2>&1 &&
        why=$(head -n 1 "$out") && [ ! -s "$out" ]
}
if command -v systemd-analyze >/dev/null; then why= && check 'systemd understands the unit and its timer' valid
else skip 'systemd understands the unit and its timer' 'systemd-analyze is missing'; fi

# --- whom one should not believe -----------------------------------------------------------------------------------------------

fleet_on bm1 'echo 1 >/proc/sys/kernel/numa_balancing'
fleet_lie bm1 /proc/sys/kernel/numa_balancing
fleet_on bm1 'echo 0 >/proc/sys/kernel/numa_balancing'
ledgers=$(sha256sum "$(ledger_of bm1)" "$(ledger_of bm3)")
lie() {
    play 2 campaign.yml && said 'bm1: queue: not fit to measure: numa-balancing' && unsaid 'bm[23]' && why='something was filed' &&
        [ "$ledgers" = "$(sha256sum "$(ledger_of bm1)" "$(ledger_of bm3)")" ]
}
check 'a knob that lies stops the canary before any other host' lie
fleet_new_key bm3
stranger() { play 4 collect.yml --limit bm3 && said 'HOST IDENTIFICATION HAS CHANGED' && same; }
check 'a host with another key is not spoken to' stranger

done_testing
