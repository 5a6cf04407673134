# SPDX-License-Identifier: Apache-2.0
#
# machines.sh: the emulated machines, read by boot.sh. Each function machine_NAME describes one, with these words:
#
#   hardware CPUS SOCKETS MEMORY [BOARD]   sockets, because otherwise the kernel warns and hwloc merges the packages
#   node ID MEMORY|- CPUS|- [INITIATOR]    "-" is none. Nodes and their CPUs in order; nodes without CPUs come last
#   distance FROM TO THERE [BACK]          a node is 10 from itself; BACK if it differs
#   latency FROM TO NS GB_PER_S            HMAT, needs the board q35,hmat=on
#   plugged ID MEMORY                      node ID's memory is a module that can go offline during a run (/bin/offline-node)
#
# The result is in $qemu (QEMU's arguments), $append (the kernel's), $memory_bytes (without plugged modules), $files_of (the
# folder below build/ with QEMU and the kernel) and $sysroot (the folder with a program's libraries, "" for this machine's own).
# For the witness of reads and writes (plugin/accesses.c), $cpu_nodes and $node_bytes have a number for each CPU and each node,
# separated by colons.

machines='n1 n2 n4 cxl odd hot arm'

machine_n1() { # the control: one node
    hardware 2 1 512M
}

machine_n2() { # two sockets
    hardware 4 2 1G
    node 0 512M 0-1
    node 1 512M 2-3
    distance 0 1 21
}

machine_n4() { # four nodes, distances that differ by direction
    hardware 4 4 1536M
    for id in 0 1 2 3; do node $id 384M $id; done
    distance 0 1 12 14
    distance 0 2 21 25
    distance 0 3 31 33
    distance 1 2 22 23
    distance 1 3 30 29
    distance 2 3 12 15
}

machine_cxl() { # node 2 is memory behind node 0
    hardware 4 2 1G q35,hmat=on
    node 0 384M 0-1
    node 1 384M 2-3
    node 2 256M - 0
    distance 0 1 20
    distance 0 2 28
    distance 1 2 40
    latency 0 0 80 200
    latency 0 1 140 100
    latency 0 2 250 40
    latency 1 0 140 100
    latency 1 1 80 200
    latency 1 2 350 20
}

machine_odd() { # a tiny node, one without memory, one without CPUs
    hardware 4 4 768M
    node 0 512M 0
    node 1 64M 1
    node 2 - 2-3
    node 3 192M -
    distance 0 1 20
    distance 0 2 30
    distance 0 3 28
    distance 1 2 22
    distance 1 3 40
    distance 2 3 50
}

machine_hot() { # node 2 can go
    hardware 4 2 768M,slots=2,maxmem=2G
    node 0 384M 0-1
    node 1 384M 2-3
    node 2 - -
    plugged 2 256M
    distance 0 1 20
    distance 0 2 28
    distance 1 2 40
    append='memhp_default_state=online_movable'
}

machine_arm() { # n2 on aarch64: fetch-arm64.sh
    processor=cortex-a57 console=ttyAMA0 files_of=guest-arm64 sysroot=build/guest-arm64/sysroot
    hardware 4 2 1G virt
    node 0 512M 0-1
    node 1 512M 2-3
    distance 0 1 21
}

# --- the words -----------------------------------------------------------------------------------------------------------------

qemu= append= cpu_nodes= node_bytes= processor=max console=ttyS0 files_of=guest sysroot=

hardware() {
    qemu="-cpu $processor -smp $1,sockets=$2 -m $3 -M ${4:-q35}"
    memory_bytes=$(numfmt --from=iec "${3%%,*}")
}

memory() { qemu="$qemu -object memory-backend-ram,id=memory$1,size=$2"; }

node() {
    argument="node,nodeid=$1"
    bytes=0
    if [ "$2" != - ]; then
        memory "$1" "$2"
        argument="$argument,memdev=memory$1"
        bytes=$(numfmt --from=iec "$2")
    fi
    node_bytes=$node_bytes${node_bytes:+:}$bytes
    if [ "$3" != - ]; then
        argument="$argument,cpus=$3"
        for cpu in $(seq "${3%-*}" "${3#*-}"); do cpu_nodes=$cpu_nodes${cpu_nodes:+:}$1; done
    fi
    qemu="$qemu -numa $argument${4:+,initiator=$4}"
}

distance() { qemu="$qemu -numa dist,src=$1,dst=$2,val=$3 -numa dist,src=$2,dst=$1,val=${4:-$3}"; }

latency() {
    pair="hmat-lb,initiator=$1,target=$2,hierarchy=memory"
    qemu="$qemu -numa $pair,data-type=access-latency,latency=$3 -numa $pair,data-type=access-bandwidth,bandwidth=${4}G"
}

module_at=4294967296 # where QEMU would put the first one by itself

plugged() { # of the last node
    memory "$1" "$2"
    qemu="$qemu -device pc-dimm,id=module$1,memdev=memory$1,node=$1,addr=$module_at"
    [ "${node_bytes##*:}" = 0 ] && node_bytes=${node_bytes%:*}:$(numfmt --from=iec "$2")@$module_at
}
