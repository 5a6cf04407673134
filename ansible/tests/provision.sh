#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# provision.yml, tune.yml and restore.yml on two fake hosts: check mode is accurate, a second run changes nothing, and every byte
# is restored. The hosts build a small project with this project's program. One line a case.
set -u
. "$(dirname "$0")/fleet.bash"
: "${LOCUS:?LOCUS must name the program}"

# --- what the hosts have -------------------------------------------------------------------------------------------------------

layer=$fleet/layer
mkdir -p "$layer"/{srv,opt/prebuilt,usr/local/{bin,sbin},boot/grub,var/lib/fake}
cp "$LOCUS" "$layer/opt/prebuilt/locus"

export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export GIT_{AUTHOR,COMMITTER}_NAME=fleet GIT_{AUTHOR,COMMITTER}_EMAIL=fleet@example.org
project=$fleet/project
git init -q -b main "$project"
cat >"$project/Makefile" <<'END'
all: ; install -D /opt/prebuilt/locus build/gcc/locus
check: ; [ "$$DEPS" = skip ]; echo x >>build/tested; echo 3 passed
test: ; echo x >>build/tested-all; echo 9 passed
END
echo /build/ >"$project/.gitignore"
mkdir -p "$project/logs/bm2" && echo 1 >"$project/logs/bm2/ledger.jsonl"
git -C "$project" add . && git -C "$project" commit -q -m one && one=$(git -C "$project" rev-parse HEAD)
echo two >"$project/two" && printf '1\n2\n' >"$project/logs/bm2/ledger.jsonl"
git -C "$project" add . && git -C "$project" commit -q -m two && two=$(git -C "$project" rev-parse HEAD)
git clone -q --bare "$project" "$layer/srv/locus.git"
chown -R 61000:61000 "$layer/srv/locus.git" # git reads nobody else's

# A service and swap that run, GRUB, and a package that is missing until apt-get installs it: enough of each to be asked and told.
stub() { cat >"$layer/usr/local/$1" && chmod +x "$layer/usr/local/$1"; }
touch "$layer/var/lib/fake/irqbalance"
stub sbin/systemctl <<'END'
#!/bin/sh
case $1 in
is-active) [ -e "/var/lib/fake/$2" ] && echo active ;;
start) touch "/var/lib/fake/$2" ;;
stop) rm "/var/lib/fake/$2" ;;
esac
END
stub sbin/swapoff <<'END'
#!/bin/sh
left=$(grep -vF "$1 " /proc/swaps)
printf '%s\n' "$left" >/proc/swaps
END
stub sbin/swapon <<'END'
#!/bin/sh
printf '%s partition 1000 0 %s\n' "$3" "$2" >>/proc/swaps
END
stub sbin/update-grub <<'END'
#!/bin/sh
[ ! -e /etc/default/grub.d/locus.cfg ] || . /etc/default/grub.d/locus.cfg
printf '\tlinux /vmlinuz ro %s\n' "$GRUB_CMDLINE_LINUX_DEFAULT" >/boot/grub/grub.cfg
END
printf '\tlinux /vmlinuz ro \n' >"$layer/boot/grub/grub.cfg"
stub bin/dpkg-query <<'END'
#!/bin/sh
for name; do :; done
[ "$name" != make ] || [ -e /var/lib/fake/make ] || { echo not-installed; exit; }
echo installed
END
stub bin/apt-cache <<'END'
#!/bin/sh
echo '  Candidate: 1'
END
stub bin/apt-get <<'END'
#!/bin/sh
case " $* " in *' install '*' make '*) touch /var/lib/fake/make ;; *' update '*) ;; *) exit 1 ;; esac
END

FLEET_LAYERS=$layer
fleet_open 2
fleet_on bm1 'echo "/dev/fake partition 1000 0 5" >>/proc/swaps'
for host in bm1 bm2; do fleet_on $host touch /boot/grub/grub.cfg /var/lib/fake/irqbalance; done # so that they are among its own
cat >"$fleet/vars.yml" <<END
ansible_become_method: su
locus_repository: /srv/locus.git
locus_commit: $one
locus_smt: "off"
locus_hugepages: {0: 4, 1: 4}
locus_isolated_cpus: "1"
END

# play NAME STATUS PLAYBOOK ARGUMENT...: what it says is in $out.
play() {
    local wanted=$1 status
    shift
    timeout 120 bash -c 'cd "$1/ansible" && shift && ansible-playbook "$@"' - "$FLEET_REPO" -i "$fleet/inventory.yml" \
        -e "@$fleet/vars.yml" --forks 2 "$@" >"$out" 2>"$err" </dev/null
    status=$?
    why="exit $status, not $wanted: $(grep -A 3 -m 1 -E 'fatal|ERROR' "$out" "$err" | paste -sd ' ' | cut -c 1-400)"
    [ $status -eq "$wanted" ]
}
said() { why="'$1' was not said" && tr -s ' \n' ' ' <"$out" | grep -q -- "$1"; } # lines are broken to fit a screen
changed() { # HOST=COUNT...; + is more than none
    local each count
    for each; do
        count=$(sed -nE "s/^${each%=*} .*changed=([0-9]+) .*/\1/p" "$out")
        why="${each%=*} has changed=$count: $(grep -B 3 -m 1 '^changed' "$out" | paste -sd ' ' | cut -c 1-200)"
        case ${each#*=} in +) [ "${count:-0}" -gt 0 ] ;; *) [ "$count" = "${each#*=}" ] ;; esac || return
    done
}
# All that a host is: its knobs, and the files that are not as the machine below has them.
state() { # host
    fleet_knobs "$1"
    (cd "$fleet/$1/upper" && find . -type f ! -path './var/lib/locus/*' ! -path './var/log/*' -exec sha256sum {} + | sort -k 2)
}
states() { state bm1 >"$fleet/bm1.$1"; state bm2 >"$fleet/bm2.$1"; }
same() { # STATE HOST...: it is as it was when that state was noted
    local noted=$1 host
    shift
    for host; do
        state "$host" >"$fleet/$host.now"
        why="$host is not as it was: $(diff "$fleet/$host.$noted" "$fleet/$host.now" | grep '^[<>]' | head -n 3 | paste -sd ' ')"
        cmp -s "$fleet/$host.$noted" "$fleet/$host.now" || return
    done
}

# --- before any host -----------------------------------------------------------------------------------------------------------

all_tags() { # each playbook, and the tags of its tasks
    (cd "$FLEET_REPO/ansible" && ansible-playbook -i "$fleet/inventory.yml" --list-tags ./*.yml) >"$out" 2>"$err" &&
        why="they have: $(sed -n 's/.*TASK TAGS: //p' "$out" | paste -sd ' ')" &&
        diff <(sed -nE 's/^playbook: \.\/(.*)\.yml/\1/p; s/.*TASK TAGS: \[(.*)\]/\1/p' "$out" | paste - -) <(
            printf '%s\t%s\n' campaign 'campaign, wait' collect collect provision 'always, build, packages, provision, test, user' \
                restore 'kernel, restore, settings' runner 'runner, start' tune 'always, kernel, settings, tune'
        )
}
check 'each playbook has its own tag, and those of its parts' all_tags
syntax() { (cd "$FLEET_REPO/ansible" && ansible-playbook -i "$fleet/inventory.yml" --syntax-check ./*.yml); }
check 'the playbooks have the syntax of playbooks' syntax
lint() { (cd "$FLEET_REPO/ansible" && ansible-lint --profile production --offline --nocolor -q) >"$out" 2>&1; }
if command -v ansible-lint >/dev/null; then
    why= && holds 'ansible-lint has nothing to say, production profile' "see ansible-lint --profile production --offline" lint
else
    skip 'ansible-lint has nothing to say' 'ansible-lint is missing (make deps-test)'
fi

# --- provision -----------------------------------------------------------------------------------------------------------------

states bare
bare_check() {
    play 0 provision.yml --check --diff && changed bm1=+ bm2=+ && said 'make' && said "$one would be checked out" &&
        same bare bm1 bm2
}
check 'provision in check mode on bare hosts says what is missing, and changes nothing' bare_check
tune_bare() {
    play 0 tune.yml --check --diff --limit bm1 && said 'is not there yet' && said 'nr_hugepages: 0 -> 4' && same bare bm1
}
check 'tune in check mode on bare hosts says what it cannot know, and changes nothing' tune_bare
tune_unbuilt() { play 2 tune.yml && said 'provision.yml first' && same bare bm1 bm2; }
check 'tune without the program is refused before anything is changed' tune_unbuilt
provisioned() {
    play 0 provision.yml && changed bm1=+ bm2=+ && why='not at the commit' &&
        [ "$(fleet_on bm2 cat /opt/locus/.git/HEAD)" = "$one" ] &&
        why="the build is not locus's" && [ "$(fleet_on bm1 stat -c %U /opt/locus/build/gcc/locus)" = locus ] &&
        why='make was not installed' && fleet_on bm1 test -e /var/lib/fake/make &&
        why='all was tested' && ! fleet_on bm1 test -e /opt/locus/build/tested-all
}
check 'provision installs, checks out, builds and runs the short tests' provisioned
again() {
    play 0 provision.yml && changed bm1=0 bm2=0 && why='tested again' && [ "$(fleet_on bm1 cat /opt/locus/build/tested)" = x ]
}
check 'provision again changes nothing' again

whole() {
    play 0 provision.yml --tags test -e locus_tests=test --limit bm1 && why='not tested' &&
        fleet_on bm1 test -e /opt/locus/build/tested-all
}
check 'all of the tests are run where that is asked for' whole

# --- tune and restore ----------------------------------------------------------------------------------------------------------

states untuned
tune_check() {
    play 0 tune.yml --check --diff --limit bm1 && changed bm1=+ && said '/proc/sys/vm/swappiness: 60 -> 10' &&
        said 'policy0/scaling_governor: powersave -> performance' && said 'service irqbalance: running -> stopped' &&
        said 'swap: 5 /dev/fake -> off' && said 'smt/control: on -> off' && said '+GRUB_CMDLINE_LINUX_DEFAULT=.*isolcpus=' &&
        same untuned bm1
}
check 'tune in check mode says each change, and changes nothing' tune_check
cp "$out" "$fleet/promised"
tuned() {
    play 0 tune.yml --diff && changed bm1=+ bm2=+ && why='check mode had said something else' &&
        diff <(grep ' -> ' "$fleet/promised") <(sed '/bm2/,$d' "$out" | grep ' -> ') &&
        said 'bm1 was booted with another kernel command line' &&
        why='swap is on' && [ "$(fleet_on bm1 'wc -l </proc/swaps')" = 1 ] && why='irqbalance runs' &&
        fleet_on bm1 '! test -e /var/lib/fake/irqbalance'
}
check 'tune makes just the changes that check mode had said' tuned
fits() { # what was acted upon and decides
    why='the doctor failed' && fleet_on bm2 su locus -c '"/opt/locus/build/gcc/locus doctor --json"' >"$out" &&
        why=$(jq -c '[.findings[] | {(.id): .state}] | add' "$out") &&
        jq -e '[.findings[] | select(.id | IN("governor", "boost", "idle-states", "thp", "numa-balancing", "ksm", "demotion"))] |
            length == 7 and all(.[]; .state == "fit")' "$out"
}
check 'after it the doctor finds the host fit in what was set' fits
states tuned
tuned_again() { play 0 tune.yml && changed bm1=0 bm2=0 && same tuned bm1 bm2; }
check 'tune again changes nothing' tuned_again
restore_check() {
    play 0 restore.yml --check --diff --limit bm1 && changed bm1=+ && said 'scaling_governor: performance -> powersave' &&
        same tuned bm1
}
check 'restore in check mode says each change, and changes nothing' restore_check
restored() {
    play 0 restore.yml && changed bm1=+ bm2=+ && same untuned bm1 bm2 && why='the snapshot is there' &&
        [ -z "$(fleet_on bm1 ls /var/lib/locus)" ]
}
check 'restore gives back every byte' restored
parts() { # the kernel's arguments alone, and all but these
    play 0 tune.yml --tags kernel --limit bm1 && why='no arguments' && fleet_on bm1 test -e /etc/default/grub.d/locus.cfg &&
        why='more was set' && fleet_on bm1 '! test -e /var/lib/locus/snapshot.json' &&
        play 0 restore.yml --tags kernel --limit bm1 && changed bm1=+ && same untuned bm1 &&
        play 0 tune.yml --skip-tags kernel --limit bm1 && why='there are arguments' &&
        fleet_on bm1 '! test -e /etc/default/grub.d/locus.cfg' && why='nothing was set' &&
        fleet_on bm1 test -e /var/lib/locus/snapshot.json &&
        play 0 restore.yml --tags settings --limit bm1 && changed bm1=+ && same untuned bm1
}
check "the kernel's arguments and all other settings can be set and put back alone" parts
restored_again() { play 0 restore.yml && changed bm1=0 bm2=0 && same untuned bm1 bm2; }
check 'restore again changes nothing' restored_again

# --- what goes wrong -----------------------------------------------------------------------------------------------------------

fleet_lie bm1 /sys/kernel/mm/ksm/run
lie() {
    play 2 tune.yml && said 'wrote 0 to /sys/kernel/mm/ksm/run, reads 1' && why='the next host was looked at' &&
        ! grep -q bm2 "$out" && same untuned bm2
}
check 'a knob that lies stops the canary, and the next host is as it was' lie

commits() { # of the record the commit has two lines, and the host has one more
    fleet_on bm2 'printf "2\n3\n" >>/opt/locus/logs/bm2/ledger.jsonl; chown locus: /opt/locus/logs/bm2/*'
    play 0 provision.yml --tags build --limit bm2 && changed bm2=0 &&
        play 0 provision.yml --tags build -e "locus_commit=$two" --limit bm2 && changed bm2=+ && why='not at the commit' &&
        fleet_on bm2 test -e /opt/locus/two && why="the host's record was changed" &&
        [ "$(fleet_on bm2 cat /opt/locus/logs/bm2/ledger.jsonl | paste -sd ' ')" = '1 2 3' ] &&
        play 0 provision.yml --tags build --limit bm2 && changed bm2=+ &&
        why='not tested once for each' && [ "$(fleet_on bm2 cat /opt/locus/build/tested | paste -sd ' ')" = 'x x x' ]
}
check "another commit is built and tested, then the first one again; the host's record stays" commits
untested() {
    play 0 provision.yml --skip-tags test -e "locus_commit=$two" --limit bm2 && changed bm2=+ && why='not at the commit' &&
        fleet_on bm2 test -e /opt/locus/two && why='it was tested' &&
        [ "$(fleet_on bm2 cat /opt/locus/build/tested | paste -sd ' ')" = 'x x x' ]
}
check 'the tests can be left out' untested

# --- hosts that reach no network -----------------------------------------------------------------------------------------------

bundle() { # STATUS COMMIT ARGUMENT...: from the control host's repository, of which the hosts know nothing
    play "$1" provision.yml -e locus_bundle=true -e locus_repository= -e "locus_home=$project" -e "locus_commit=$2" --limit bm2 \
        "${@:3}"
}
bundled() { # COMMIT
    bundle 0 "$1" && changed bm2=+ && why='not at the commit' && [ "$(fleet_on bm2 cat /opt/locus/.git/HEAD)" = "$1" ] &&
        why='the bundle is there still' && [ -z "$(fleet_on bm2 ls /var/spool/locus)" ]
}
anew() {
    fleet_on bm2 'rm -rf /opt/locus/* /opt/locus/.[a-z]*' && bundled "$one" && bundle 0 "$two" --check &&
        said "$two would be brought in a bundle" && why='it is there' && fleet_on bm2 '! test -e /opt/locus/two' && bundled "$two"
}
check 'a host without a network gets the commit in a bundle, and the next one' anew
bundled_again() { bundle 0 "$two" && changed bm2=0; }
check 'and a second time nothing is copied' bundled_again
bundle_of_nothing() { bundle 2 "${one//[0-9]/a}" && said "$project has no commit ${one//[0-9]/a}"; }
check 'a commit that is not here cannot be bundled, and that is said' bundle_of_nothing

# --- what goes wrong with a host or a variable ---------------------------------------------------------------------------------

busy() {
    fleet_on bm2 'install -o locus -d /var/spool/locus && cd / && setsid -f flock /var/spool/locus/lock sleep 600 >/dev/null 2>&1'
    play 2 provision.yml --tags build --limit bm2 && said 'running a campaign' &&
        why='it was changed' && fleet_on bm2 test -e /opt/locus/two
}
check 'a checkout that is being measured is not changed' busy
states last
short() { play 2 provision.yml --tags build -e locus_commit=main --limit bm2 && said 'wanted are a URL .* and the full hash'; }
check 'a branch in place of a commit is refused' short
typo() { play 2 tune.yml -e '{locus_tune: [governer]}' --limit bm2 --check && said 'findings: governer'; }
check 'a finding that the doctor does not know is refused' typo
boolean() { play 2 tune.yml -e '{locus_smt: off}' --limit bm2 && said 'in quotes (False)' && same last bm2; }
check 'a value that YAML took for a boolean is refused' boolean
release() { # HOST ID NAME VERSION LIKE: as its /etc/os-release says
    fleet_on "$1" "printf '%s=\"%s\"\n' ID '$2' NAME '$3' VERSION_ID $4 PRETTY_NAME '$3 $4' ID_LIKE '$5' >/etc/os-release"
}
distributions() { # what Ansible calls bm1's, and bm2's
    play 2 provision.yml && said "bm1 runs $1, and the names of packages are known for Debian and Ubuntu alone" &&
        said "bm2 runs $2, and" && said 'sh -s check --missing <../.ci/deps.sh' && said '--skip-tags packages' && changed bm1=0 bm2=0
}
release bm1 fedora 'Fedora Linux' 39 '' && release bm2 rhel 'Red Hat Enterprise Linux' 9.4 fedora
check 'Fedora and RHEL are refused by their names, with the way out' distributions 'Fedora Linux 39' 'Red Hat Enterprise Linux 9.4'
release bm1 sles SLES 15.6 suse && release bm2 rocky 'Rocky Linux' 9.4 'rhel centos fedora'
check 'so are SLES and Rocky' distributions 'SLES 15.6' 'Rocky Linux 9.4'
way_out() {
    fleet_on bm2 'pkill -x flock; rm -rf /var/spool/locus; echo rm >/opt/locus/build/tested' &&
        play 0 provision.yml --skip-tags packages --limit bm2 && changed bm2=+ && why='no folder of the queue' &&
        [ "$(fleet_on bm2 stat -c %U /var/spool/locus)" = locus ] && why='not tested' &&
        [ "$(fleet_on bm2 tail -n 1 /opt/locus/build/tested)" = x ]
}
check 'the way out is one: user, folders, build and tests' way_out

done_testing
