#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# The modules of ansible/library, and the inventory from a file, each run as Ansible runs it: parameters as JSON on stdin. The
# knobs are files of a scratch folder and of a sleeping process; no file of the machine is written. One line a case.
#
# One case drops root's privileges, and a checkout below a home folder of mode 700 is then out of reach. So everything works on a
# copy in $scratch.
set -u
REPO=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$REPO/testbed/tests/cases.bash"
mkdir "$scratch/ansible" && cp -R "$REPO"/ansible/{ansible.cfg,inventory,library} "$scratch/ansible/" &&
    chmod -R a+rX "$scratch/ansible" && cd "$scratch/ansible" || exit 1
command -v ansible >/dev/null || { echo "1..0 # SKIP ansible is missing (make deps-test)"; exit; }
command -v jq >/dev/null || { echo "1..0 # SKIP jq is missing (make deps-test)"; exit; }
python=$(sed -n '1s/^#! *//p' "$(command -v ansible)") # the one that has Ansible's library

knobs=$scratch/knobs snapshot=$scratch/state/snapshot.json
mkdir "$knobs" "$scratch/state" "$scratch/bin"
PATH=$scratch/bin:$PATH
sleep 600 &
sleeper=$!
trap 'kill $sleeper; rm -rf "$scratch"' EXIT

# module STATUS NAME JSON: runs it as it is; what it says is in $out, and $why what was wrong.
module() {
    local wanted=$1 status
    jq -n "{ANSIBLE_MODULE_ARGS: ($3)}" >"$scratch/in" || exit 1
    timeout 20 "${as[@]}" "$python" "library/$2.py" <"$scratch/in" >"$out" 2>"$err"
    status=$?
    why="exit $status, not $wanted: $(jq -r '.msg? // empty' "$out" 2>/dev/null) $(tail -n 1 "$err")"
    [ $status -eq "$wanted" ]
}
as=()
settings() { module "$1" locus_settings "{snapshot: \"$snapshot\"} + ($2)"; }
group() { # ID NAME=VALUE...: such a group of knobs, as JSON
    local id=$1 each list=
    shift
    for each; do list+="${list:+, }{path: \"$(knob "${each%%=*}")\", wanted: \"${each#*=}\"}"; done
    echo "{id: \"$id\", knobs: [$list]}"
}
knob() { case $1 in /*) echo "$1" ;; *) echo "$knobs/$1" ;; esac; }
fresh() { # the knobs as they are at first, and no snapshot
    rm -rf "$knobs" "$scratch/state"
    mkdir "$knobs" "$scratch/state"
    echo 1 >"$knobs/one"
    echo 'always [madvise] never' >"$knobs/thp"
    printf 'no newline, \377 no UTF-8' >"$knobs/bytes"
}
bytes() { (cd "$scratch" && find knobs state -type f -exec sha256sum {} + | sort); }
has() { why="$1 has '$(cat "$(knob "$1")")'" && [ "$(cat "$(knob "$1")")" = "$2" ]; } # knob, text
complains() { why="it says: $(jq -r .msg "$out")" && jq -r .msg "$out" | grep -q -- "$1"; }
changed() { why="changed is not $1" && jq -e ".changed == $1" "$out"; }
gone() { why="$1 is there" && [ ! -e "$1" ]; }

# --- documentation -------------------------------------------------------------------------------------------------------------

names=$(cd library && printf '%s\n' *.py | sed 's/\.py$//')
documented() {
    ansible-doc -t module -j $names >"$out" 2>"$err" && why="$(head -n 1 "$err")" &&
        jq -e --arg names "$names" 'keys == ($names | split("\n")) and all(.[].doc; .options)' "$out"
}
check 'each module has documentation that ansible-doc understands' documented

# --- settings ------------------------------------------------------------------------------------------------------------------

all="$(group a one=0 thp=never), $(group b bytes=x)"
fresh
before=$(bytes)
check_mode() {
    settings 0 "{groups: [$all], _ansible_check_mode: true, _ansible_diff: true}" && changed true &&
        why='the diff is not the three changes' && jq -e --arg d "$knobs" '.diff.prepared | split("\n") | .[:2] ==
            [$d + "/one: 1 -> 0", $d + "/thp: madvise -> never"]' "$out" && why='something was written' &&
                [ "$before" = "$(bytes)" ]
}
check 'check mode says each change and writes nothing' check_mode
set_all() { settings 0 "{groups: [$all]}" && changed true && has one 0 && has thp never && has bytes x; }
check 'settings are made' set_all
known=$(bytes)
again() { settings 0 "{groups: [$all]}" && changed false && why='something was written' && [ "$known" = "$(bytes)" ]; }
check 'a second time nothing is changed' again
first=$(jq -c '.settings[] | select(.name | endswith("one"))' "$snapshot")
once() {
    settings 0 "{groups: [$(group a one=7), $(group c /proc/$sleeper/oom_score_adj=500)]}" && has one 7 &&
        has "/proc/$sleeper/oom_score_adj" 500 && why='the snapshot forgot what was there first' &&
        [ "$first" = "$(jq -c '.settings[] | select(.name | endswith("one"))' "$snapshot")" ] &&
        jq -e '[.settings[].group] == ["a", "a", "b", "c"]' "$snapshot"
}
check 'the snapshot keeps what was there first, and learns what is new' once
restored() {
    settings 0 '{state: "restored"}' && changed true && has "/proc/$sleeper/oom_score_adj" 0 &&
        why="not as it was: $(bytes)" && [ "$before" = "$(bytes)" ]
}
restore_check() {
    local now
    now=$(bytes)
    settings 0 '{state: "restored", _ansible_check_mode: true}' && changed true && why='written' && [ "$now" = "$(bytes)" ]
}
check 'restoring in check mode writes nothing' restore_check
check 'restoring gives back every byte' restored
restored_again() { settings 0 '{state: "restored"}' && changed false; }
check 'a second time there is nothing to restore' restored_again

# One file by two names, so that the later of two writes is seen. The other one then reads wrong, and that is said.
order() { # group of the first name, group of the second, which is written last, and what it was
    fresh
    ln "$knobs/one" "$knobs/other"
    settings 0 "{groups: [$(group "$1" one=0)]}" && settings 0 "{groups: [$(group "$2" other=7)]}" &&
        settings 1 '{state: "restored"}' && has one "$4" && complains "to $knobs/$3, reads $4"
}
check 'groups are put back last first' order a b other 1
check 'knobs of a group are put back in their order' order a a one 0

fresh
sneaks() { # notes a file because another one moves it, and finds it moved
    settings 0 "{groups: [{id: \"a\", knobs: [{path: \"$knobs/one\", wanted: \"0\"}, {path: \"$knobs/bytes\", wanted: null}]}]}" &&
        echo moved >"$knobs/bytes" && settings 0 '{state: "restored"}' && why="not as it was: $(bytes)" &&
        [ "$before" = "$(bytes)" ]
}
check 'what is wanted as null is put back without having been set' sneaks

# --- settings that go wrong ----------------------------------------------------------------------------------------------------

filter=/proc/$sleeper/coredump_filter # takes any number and keeps nine bits of it
lies() { fresh; settings 1 "{groups: [$(group a one=0 "$filter=4095")]}" && complains "wrote 4095 to $filter, reads 000001ff"; }
if [ -w "$filter" ]; then
    check 'a knob that keeps another value than was written is an error' lies
    settings 0 '{state: "restored"}'
else
    skip 'a knob that keeps another value' "there is no $filter"
fi
swallows() { fresh; ln -s /dev/null "$knobs/null"; settings 1 "{groups: [$(group a null=0)]}" && complains 'reads nothing'; }
check 'a knob that swallows what is written is an error' swallows
fifo() { fresh; mkfifo "$knobs/fifo"; settings 1 "{groups: [$(group a fifo=0)]}" && complains "$knobs/fifo cannot be written"; }
check 'a FIFO does not hang it' fifo
missing() {
    fresh
    before=$(bytes)
    settings 1 "{groups: [$(group a one=0 none=1)]}" && complains "$knobs/none cannot be read: No such file" &&
        why='something was written' && [ "$before" = "$(bytes)" ] && gone "$knobs/none"
}
check 'a file that is not there is an error before anything is written' missing
[ "$(id -u)" != 0 ] || as=(setpriv --reuid=65534 --clear-groups) # root may write anything
unwritable() {
    fresh
    chmod 755 "$scratch"
    chmod 777 "$scratch/state" "$knobs"/*
    chmod 444 "$knobs/thp"
    settings 1 "{groups: [$all]}" && complains "1 of 3 settings did not take: $knobs/thp cannot be written: Permission denied" &&
        has one 0 && has bytes x && has thp 'always [madvise] never' && settings 0 '{state: "restored"}' &&
        why='not as it was' && [ "$before" = "$(bytes)" ]
}
check 'a file that cannot be written is named, the others are set, and all come back' unwritable
as=()
boolean() { fresh; settings 1 "{groups: [{id: \"a\", knobs: [{path: \"$knobs/one\", wanted: false}]}]}" && complains 'in quotes'; }
check 'a value that YAML took for a boolean is refused' boolean

damaged() { # text: neither state does anything, and the file stays
    local state now
    fresh
    printf '%s' "$1" >"$snapshot"
    now=$(bytes)
    for state in set restored; do
        settings 1 "{groups: [$all], state: \"$state\"}" && complains "$snapshot is damaged" && why='something was written' &&
            [ "$now" = "$(bytes)" ] || return
    done
}
check 'a snapshot that was cut off is refused, and stays' damaged '{"version": 1, "settings": [{"group": "a", "ki'
check 'a snapshot that is empty is refused' damaged ''
check 'a snapshot of another version is refused' damaged '{"version": 2, "settings": []}'
check 'a snapshot of something else is refused' damaged '{"version": 1, "settings": [{"kind": "knob", "group": "a", "name": "x"}]}'
full() {
    fresh
    as=(bash -c '(ulimit -f 0; exec "$@") | cat; exit "${PIPESTATUS[0]}"' -)
    settings 1 "{groups: [$(group c /proc/$sleeper/oom_score_adj=500)]}" &&
        complains "$snapshot cannot be written: File too large" &&
        has "/proc/$sleeper/oom_score_adj" 0 && why='something was left' && [ -z "$(ls -A "$scratch/state")" ]
}
check 'where the snapshot has no room nothing is changed' full
as=()
nowhere() {
    fresh; rmdir "$scratch/state"; settings 1 "{groups: [$all]}" && complains 'cannot be written: No such file' && has one 1
}
check 'where the folder of the snapshot is missing nothing is changed' nowhere
vanished() {
    fresh
    settings 0 "{groups: [$all]}" && mv "$knobs/thp" "$scratch/aside" && settings 1 '{state: "restored"}' &&
        complains "1 of 3 settings are not as they were, and the snapshot is kept: $knobs/thp cannot be read" && has one 1 &&
        mv "$scratch/aside" "$knobs/thp" && settings 0 '{state: "restored"}' && why='not as it was' && [ "$before" = "$(bytes)" ]
}
check 'a file that is gone keeps the snapshot, and comes back with the file' vanished
waits() { # while another one has the folder
    fresh
    as=(timeout 2)
    exec 9<"$scratch/state"
    flock 9
    settings 124 "{groups: [$all]}" && has one 1 && exec 9<&- && settings 0 "{groups: [$all]}" && has one 0
}
check 'two at once wait for each other' waits
as=()

# --- services and swap ---------------------------------------------------------------------------------------------------------

cat >"$scratch/bin/systemctl" <<END
#!/bin/sh
case \$1 in
is-active) if [ -e "$scratch/running-\$2" ]; then echo active; else echo inactive; exit 3; fi ;;
start) touch "$scratch/running-\$2" ;;
stop) rm "$scratch/running-\$2" ;;
esac
END
chmod +x "$scratch/bin/systemctl"
services() {
    fresh
    touch "$scratch/running-irqbalance"
    settings 0 '{stopped: ["irqbalance", "numad"]}' && changed true && gone "$scratch/running-irqbalance" &&
        why='numad did not run, and is noted' && jq -e '[.settings[].name] == ["irqbalance"]' "$snapshot" &&
        settings 0 '{stopped: ["irqbalance", "numad"]}' && changed false && settings 0 '{state: "restored"}' &&
        why='irqbalance does not run' && [ -e "$scratch/running-irqbalance" ] && gone "$scratch/running-numad"
}
check 'a service that ran is stopped and started again, another one is left alone' services

cat >"$scratch/bin/swapoff" <<'END'
#!/bin/sh
left=$(grep -vF "$(echo "$1" | sed 's/ /\\040/') " /proc/swaps)
printf '%s\n' "$left" >/proc/swaps
END
cat >"$scratch/bin/swapon" <<'END'
#!/bin/sh
priority=-2
[ "$1" != -p ] || { priority=$2; shift 2; }
printf '%s partition 1000 0 %s\n' "$(echo "$1" | sed 's/ /\\040/')" "$priority" >>/proc/swaps
END
chmod +x "$scratch/bin"/*
printf '%s\n' 'Filename Type Size Used Priority' '/dev/a partition 1000 0 5' '/swap\040file partition 1000 0 -2' >"$scratch/swaps"
cp "$scratch/swaps" "$scratch/swaps.was"
swap() {
    fresh
    as=("${unshared[@]}" sh -c 'mount --bind "$0" /proc/swaps && exec "$@"' "$scratch/swaps") # there it is a file of ours
    settings 0 '{swap: "off"}' && changed true && why="swap is on: $(cat "$scratch/swaps")" &&
        [ "$(wc -l <"$scratch/swaps")" = 1 ] &&
        settings 0 '{swap: "off"}' && changed false && settings 0 '{state: "restored"}' && why="swap is: $(cat "$scratch/swaps")" &&
        cmp "$scratch/swaps" "$scratch/swaps.was"
}
unshared=(unshare --mount)
"${unshared[@]}" true 2>/dev/null || unshared=(unshare --map-root-user --mount)
if "${unshared[@]}" mount --bind "$scratch/swaps" /proc/swaps 2>/dev/null; then
    check 'swap goes, and comes back with its priorities, blanks in names too' swap
else
    skip 'swap goes and comes back' 'no mount namespace can be made here'
fi
as=()

# --- once ----------------------------------------------------------------------------------------------------------------------

once_of() { module "$1" locus_once "{command: \"$2\", chdir: \"$scratch\", marker: \"build/mark\", key: \"$3\"} + (${4:-{\}})"; }
count() { why="it ran $(wc -l <"$scratch/ran") times" && [ "$(wc -l <"$scratch/ran")" = "$1" ]; }
append="sh -c 'echo x >>ran; echo 3 passed'"
: >"$scratch/ran"
runs_once() {
    once_of 0 "$append" A '{_ansible_check_mode: true}' && changed true && count 0 && once_of 0 "$append" A && changed true &&
        count 1 && once_of 0 "$append" A && changed false && count 1 && why='it forgot what was said' &&
        jq -e '.said == "3 passed"' "$out"
}
check 'a command is run once for a key, and not in check mode' runs_once
returns() { once_of 0 "$append" B && count 2 && once_of 0 "$append" A && changed true && count 3; }
check 'for A, B and A again it is run three times' returns
other() { once_of 0 "sh -c 'echo x >>ran; echo 4 passed'" A && changed true && count 4; }
check 'another command is another matter' other
fails() {
    once_of 1 "sh -c 'echo no; exit 3'" B && complains 'exit 3. Its last lines: no' && once_of 0 "$append" A && changed true
}
check 'one that fails has not run, and nothing has since' fails

# --- the kernel's arguments ----------------------------------------------------------------------------------------------------

boot=$scratch/boot arguments='isolcpus=managed_irq,domain,2-7 nohz_full=2-7'
mkdir "$boot"
cat >"$scratch/bin/update-grub" <<END # as GRUB's: drop-ins in order, then a line for each kernel
#!/bin/bash
[ ! -e "$boot/broken" ] || { echo 'no space left' >&2; exit 1; }
GRUB_CMDLINE_LINUX_DEFAULT=quiet
for file in "$boot"/*.cfg; do [ ! -e "\$file" ] || . "\$file"; done
printf '\tlinux /vmlinuz ro %s\n\tlinux /vmlinuz ro single\n' "\$GRUB_CMDLINE_LINUX_DEFAULT" >"$boot/grub.config"
END
chmod +x "$scratch/bin/update-grub"
kernel() {
    module "$1" locus_kernel_arguments "{arguments: \"$2\", drop_in: \"$boot/locus.cfg\", config: \"$boot/grub.config\",
        running: \"$boot/cmdline\"} + (${3:-{\}})"
}
due() { why="boot_due is not $1" && jq -e ".boot_due == $1" "$out"; }
offered() {
    why="GRUB offers: $(cat "$boot/grub.config")" && [ "$(head -n 1 "$boot/grub.config")" = "	linux /vmlinuz ro quiet$1" ]
}
update-grub
echo 'ro quiet' >"$boot/cmdline"
added() {
    kernel 0 "$arguments" '{_ansible_check_mode: true}' && changed true && gone "$boot/locus.cfg" && kernel 0 "$arguments" &&
        changed true && due true && offered " $arguments" && kernel 0 "$arguments" && changed false && due true &&
        echo "ro quiet $arguments" >"$boot/cmdline" && kernel 0 "$arguments" && changed false && due false
}
check 'arguments are added once, and a boot is due until it was' added
replaced() { kernel 0 isolcpus=3 && changed true && due true && offered ' isolcpus=3'; }
check 'other arguments take their place' replaced
broken() {
    touch "$boot/broken"
    kernel 1 '' && complains 'update-grub: no space left' && rm "$boot/broken" && kernel 0 '' && changed true && due true &&
        gone "$boot/locus.cfg" && offered '' && kernel 0 '' && changed false && due true
}
check 'they are taken away, also when update-grub failed at first' broken
overruled() {
    echo 'GRUB_CMDLINE_LINUX_DEFAULT=quiet' >"$boot/zz.cfg"
    kernel 1 "$arguments" && complains 'another file of /etc/default/grub.d sets the line' && gone "$boot/locus.cfg" &&
        rm "$boot/zz.cfg"
}
check 'a file that sets the line anew is noticed' overruled
foreign() {
    echo 'GRUB_CMDLINE_LINUX_DEFAULT="quiet isolcpus=1"' >"$boot/aa.cfg"
    update-grub
    kernel 1 "$arguments" && complains 'already has isolcpus=1' && gone "$boot/locus.cfg"
}
check "the operator's own arguments are not mixed with ours" foreign

# --- the inventory from a file -------------------------------------------------------------------------------------------------

inventory() { LOCUS_HOSTS=$scratch/hosts inventory/from_file.py --list >"$out" 2>"$err"; }
printf '%s\n' '# fleet' '* locus_smt=off' '' "bm1 10.0.0.1 a='x y' # one" 'bm2 host.example b='\''{"0": 512}'\' >"$scratch/hosts"
listed() {
    why='it failed' && inventory && why="it says: $(cat "$out")" &&
        jq -e '.runners == {hosts: ["bm1", "bm2"], vars: {locus_smt: "off"}} and
        ._meta.hostvars == {bm1: {ansible_host: "10.0.0.1", a: "x y"}, bm2: {ansible_host: "host.example", b: {"0": 512}}}' "$out"
}
check 'a file is an inventory' listed
refused() { # line, what is said
    printf '%s\n' 'bm1 10.0.0.1' "$1" >"$scratch/hosts"
    why="it was taken: $1" && ! inventory && why="it says: $(cat "$err")" && grep -q -- "^$scratch/hosts:2: .*$2" "$err"
}
check 'a name that is there twice is refused with file and line' refused 'bm1 10.0.0.2' 'bm1 is there twice'
check 'a host without address is refused' refused 'bm2 a=b' 'bm2 has no address'
check 'what is no variable is refused' refused 'bm2 10.0.0.2 words' '"words" is not key=value'
check 'a quote that does not end is refused' refused "bm2 10.0.0.2 a='x" 'No closing quotation'
check 'JSON that is none is refused' refused "bm2 10.0.0.2 a={x" 'Expecting'
check 'a password is refused' refused 'bm2 10.0.0.2 ansible_become_password=x' 'does not belong in a file'
check 'a name with a slash is refused' refused '../bm2 10.0.0.2' "is not a host's name"
taken() { # by Ansible; one host that goes missing would be missed by nobody
    printf '%s\n' 'bm1 10.0.0.1' 'bm2' >"$scratch/hosts"
    why='Ansible went on' && ! LOCUS_HOSTS=$scratch/hosts ansible-inventory -i inventory/from_file.py --list >"$out" 2>"$err" &&
        why="it says: $(cat "$err")" && grep -q 'hosts:2: bm2 has no address' "$err"
}
check 'Ansible goes no further with such a file' taken
no_hosts() { : >"$scratch/hosts"; ! inventory && grep -q 'names no host' "$err"; }
check 'a file without hosts is refused' no_hosts

done_testing
