# SPDX-License-Identifier: Apache-2.0
#
# fleet.bash: fake hosts on this machine for tests of playbooks; a test script sources it first of all, with its arguments:
#
#     . "$(dirname "$0")/fleet.bash"
#     fleet_open 2                        bm1 and bm2 are up
#     fleet_play tune.yml --check         ansible-playbook with their inventory
#
#   fleet_open N             brings up bm1 to bmN. $fleet/{inventory.yml,known_hosts,id_ed25519}: what reaches them
#   fleet_play PLAYBOOK ...  ansible-playbook in ansible/, with that inventory; fleet_ansible ARGUMENT...: ansible
#   fleet_on HOST COMMAND... by ssh, as root
#   fleet_knobs HOST         all knobs with owner, mode and every byte, to be compared
#   fleet_lie HOST KNOB      from now on a write to it succeeds but has no effect: reads return the present value
#   fleet_kill HOST          like a power failure: all its processes and its network are gone, files stay
#   fleet_start HOST         and up again
#   fleet_new_key HOST       another host key, as after a reinstallation or on another machine
#   fleet_close              removes everything. Called whenever the script ends
#   FLEET_LAYERS=DIR:DIR     set before fleet_open: folders in $fleet to lay over the hosts' root, the topmost first
#   FLEET_FETCH='build/x package ...'   set before sourcing: further packages to unpack and lay over it
#
# A host is a set of namespaces: a root of its own (an overlay: this machine's files below, a tmpfs on top), processes, name,
# network (a veth on a bridge), and in it a real sshd with a key of its own, which lets in root and the user locus, by key only.
# Over /sys and /proc/sys lie fake knobs of a machine with two nodes (fleet/knobs.sh), so playbooks run unmodified and the real ones
# stay as they are; fleet/host.sh says what a host cannot do. What is not there: a boot, systemd, a network outside.
#
# The script itself also runs again in namespaces: bridge, mounts and processes are invisible outside, so two fleets cannot meet,
# and the kernel ends and removes everything when the script ends, even by SIGKILL. $scratch and the case functions come from
# cases.bash.

FLEET_FETCH="build/fleet openssh-server"$'\n'"${FLEET_FETCH-}"
FLEET_REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)

# Says why no fleet is possible here, and the remedy. In continuous integration that is a failure, because nobody would notice a
# skip.
fleet_cannot() {
    case ${CI-} in
    '' | 0 | false)
        echo "1..0 # SKIP $1"
        exit 0
        ;;
    esac
    echo "not ok - $(basename "$0" .sh): CI is set, where a skip is a failure. $1"
    exit 1
}

if [ "${FLEET_INSIDE-}" != yes ]; then
    [ "$(id -u)" -eq 0 ] || fleet_cannot 'fake hosts need namespaces and mounts: run it as root'
    for tool in unshare setpriv ip ssh ssh-keygen ansible-playbook; do
        command -v $tool >/dev/null || fleet_cannot "there is no $tool here: make deps-test"
    done
    why=$(unshare --mount --net --uts --ipc --pid --fork --kill-child --mount-proc sh -ec '
        ip link add fleet0 type bridge && ip link add fleet1 type veth peer name fleet2
        folder=$(mktemp -d) && trap "umount $folder; rmdir $folder" EXIT && mount -t tmpfs tmpfs $folder
        mkdir $folder/upper $folder/work $folder/root
        mount -t overlay overlay -o lowerdir=/,upperdir=$folder/upper,workdir=$folder/work $folder/root
        umount $folder/root' 2>&1 | tail -n 1)
    [ -z "$why" ] || fleet_cannot "namespaces, bridges or overlays are not allowed here ($why): take a host, not a container"
    while read -r folder packages; do
        [ -n "$folder" ] || continue
        # shellcheck disable=SC2086 # a list
        why=$(cd "$FLEET_REPO" && sh ansible/tests/fleet/fetch.sh "$folder" $packages 2>&1) ||
            fleet_cannot "${why##*locus: fleet: }"
    done <<<"$FLEET_FETCH"
    exec env FLEET_INSIDE=yes unshare --mount --net --uts --pid --fork --kill-child --mount-proc bash "$0" "$@"
fi
unset FLEET_INSIDE

. "$FLEET_REPO/testbed/tests/cases.bash"
fleet=$(mktemp -d) && mount -t tmpfs fleet "$fleet" || exit 1
trap 'fleet_close; rm -rf "$scratch"' EXIT
trap 'exit 130' INT # the first process of a pid namespace ignores what it has no trap for
trap 'exit 143' TERM HUP
declare -A fleet_pids=()

fleet_close() {
    local host
    for host in "${!fleet_pids[@]}"; do fleet_kill "$host"; done
    cd / && umount -l "$fleet" 2>/dev/null && rmdir "$fleet"
}

# --- one host ------------------------------------------------------------------------------------------------------------------

fleet_accounts() { # folder: root and locus can log in, sshd has its user
    local etc=$1/upper/etc file
    mkdir -p "$etc/ssh"
    for file in passwd shadow group; do grep -vE '^(locus|sshd):' /etc/$file >"$etc/$file"; done
    printf '%s\n' 'sshd:x:61001:65534::/run/sshd:/usr/sbin/nologin' 'locus:x:61000:61000::/home/locus:/bin/bash' >>"$etc/passwd"
    sed -i 's/^root:[^:]*:/root:*:/' "$etc/shadow" # sshd lets nobody in whose account is locked (!)
    printf '%s\n' 'sshd:*:20000::::::' 'locus:*:20000:0:99999:7:::' >>"$etc/shadow"
    echo 'locus:x:61000:' >>"$etc/group"
    chmod 640 "$etc/shadow"
    install -d -m 700 "$1/home/root" "$1/home/root/.ssh"
    install -d -m 700 -o 61000 -g 61000 "$1/home/locus" "$1/home/locus/.ssh"
    install -m 600 "$fleet/id_ed25519.pub" "$1/home/root/.ssh/authorized_keys"
    install -m 600 -o 61000 -g 61000 "$fleet/id_ed25519.pub" "$1/home/locus/.ssh/authorized_keys"
}

fleet_make() { # number
    local host=bm$1 folder=$fleet/bm$1
    mkdir -p "$folder"/{upper/etc,work,root,knobs,home}
    install -d -m 1777 "$folder/tmp"
    echo "$host" | tee "$folder/name" >"$folder/upper/etc/hostname"
    echo "10.77.0.$1" >"$folder/address"
    printf '%s\n' '127.0.0.1 localhost' "10.77.0.$1 $host" >"$folder/upper/etc/hosts"
    fleet_accounts "$folder"
    printf '%s\n' 'PasswordAuthentication no' 'KbdInteractiveAuthentication no' 'PermitRootLogin prohibit-password' \
        'UsePAM no' 'HostKey /etc/ssh/host_key' 'Subsystem sftp /usr/lib/openssh/sftp-server' >"$folder/upper/etc/ssh/sshd_config"
    sh "$FLEET_REPO/ansible/tests/fleet/knobs.sh" "$folder/knobs"
    fleet_new_key "$host"
    echo "10.77.0.$1 $(cut -d ' ' -f 1,2 "$folder/upper/etc/ssh/host_key.pub")" >>"$fleet/known_hosts"
}

fleet_new_key() { # host
    local key=/etc/ssh/host_key folder=$fleet/$1
    if [ -n "${fleet_pids[$1]-}" ]; then
        fleet_on "$1" "rm $key $key.pub && ssh-keygen -q -t ed25519 -N '' -f $key" && rm -rf "$fleet/cp" # open connections
    else
        ssh-keygen -q -t ed25519 -N '' -C "$1" -f "$folder/upper$key"
    fi
}

fleet_boot() { # host
    local host=$1 folder=$fleet/$1 outside
    unshare --mount --uts --ipc --net --pid --fork --kill-child sh "$FLEET_REPO/ansible/tests/fleet/host.sh" "$folder" \
        "${FLEET_LAYERS:+$FLEET_LAYERS:}$fleet/packages" >"$folder/log" 2>&1 &
    fleet_pids[$host]=$!
    outside=$(readlink /proc/self/ns/net)
    while [ "$(readlink "/proc/${fleet_pids[$host]}/ns/net")" = "$outside" ]; do sleep 0.02; done
    # the same address of the card at every boot: the bridge's side remembers it
    ip link add "${host/bm/veth}" type veth peer name eth0 address "02:00:00:00:00:$(printf %02x "${host#bm}")" \
        netns "${fleet_pids[$host]}" && ip link set "${host/bm/veth}" master fleet0 up
}

fleet_wait() { # host
    until grep -q '^Server listening' "$fleet/$1/log"; do
        kill -0 "${fleet_pids[$1]}" 2>/dev/null ||
            { fail fleet "$1 does not come up: $(head -n 3 "$fleet/$1/log" | paste -sd ' ')"; exit 1; }
        sleep 0.02
    done
}

fleet_start() { # host
    fleet_boot "$1" && fleet_wait "$1"
}

fleet_kill() { # host
    [ -n "${fleet_pids[$1]-}" ] || return 0
    kill -9 "${fleet_pids[$1]}" 2>/dev/null
    wait "${fleet_pids[$1]}" 2>/dev/null
    ip link del "${1/bm/veth}" 2>/dev/null
    ip neigh flush dev fleet0 # so that nobody waits for an answer to what is sent to it
    unset "fleet_pids[$1]"
}

# --- all hosts -----------------------------------------------------------------------------------------------------------------

fleet_open() { # how many
    local n folder packages
    mkdir "$fleet/packages" # an overlay refuses layers that lie within one another, as all of this machine's do in /
    while read -r folder packages; do
        [ -z "$folder" ] || cp -a "$FLEET_REPO/$folder/root/." "$fleet/packages/"
    done <<<"$FLEET_FETCH"
    ip link set lo up
    ip link add fleet0 type bridge
    ip addr add 10.77.0.254/24 dev fleet0
    ip link set fleet0 up
    ssh-keygen -q -t ed25519 -N '' -C fleet -f "$fleet/id_ed25519"
    {
        printf '%s\n' 'runners:' '  vars:' '    ansible_user: root' '    ansible_become_method: su' \
            '    ansible_python_interpreter: /usr/bin/python3' \
            "    ansible_ssh_private_key_file: $fleet/id_ed25519" "    ansible_ssh_common_args: $(fleet_ssh_options)" '  hosts:'
        for n in $(seq "$1"); do echo "    bm$n: {ansible_host: 10.77.0.$n}"; done
    } >"$fleet/inventory.yml"
    for n in $(seq "$1"); do fleet_make "$n" && fleet_boot "bm$n"; done
    for n in $(seq "$1"); do fleet_wait "bm$n"; done
    # a connection that another fleet left open to the same address must not be taken for one of this
    # (and one to a host that died is noticed within seconds)
    export ANSIBLE_HOME=$fleet/ansible ANSIBLE_SSH_CONTROL_PATH_DIR=$fleet/cp \
        ANSIBLE_SSH_ARGS='-o ControlMaster=auto -o ControlPersist=60s -o ServerAliveInterval=1 -o ServerAliveCountMax=4' \
        ANSIBLE_NOCOLOR=1 ANSIBLE_RETRY_FILES_ENABLED=0
}

fleet_ssh_options() {
    echo "-F /dev/null -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes -o UserKnownHostsFile=$fleet/known_hosts" \
        "-o GlobalKnownHostsFile=/dev/null -o ConnectTimeout=20"
}

fleet_on() { # host, command
    local address
    address=$(cat "$fleet/$1/address")
    shift
    # shellcheck disable=SC2046 # words
    ssh -n $(fleet_ssh_options) -i "$fleet/id_ed25519" "root@$address" "$@"
}

fleet_ansible() { (cd "$FLEET_REPO/ansible" && ansible -i "$fleet/inventory.yml" "$@") </dev/null; }
fleet_play() { (cd "$FLEET_REPO/ansible" && ansible-playbook -i "$fleet/inventory.yml" "$@") </dev/null; }

fleet_knobs() { # host
    (cd "$fleet/$1/knobs" && export LC_ALL=C && find . -printf '%m %u %p %l\n' | sort -k 3 && find . -type f -print0 | sort -z |
        xargs -0 tail -n +1)
}

fleet_lie() { # host, knob
    local said
    exec {said}< <(exec python3 "$FLEET_REPO/ansible/tests/fleet/lie.py" "$fleet/$1/knobs$2" 2>&1)
    read -r -u "$said" REPLY && [ "$REPLY" = lying ] || { fail fleet_lie "$REPLY"; exit 1; }
}
