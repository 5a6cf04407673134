#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# knobs.sh FOLDER: makes the knobs of a fake host in FOLDER/sys and FOLDER/proc: untuned bare metal with two nodes.
#
# CPUs are the real ones (a thread can be pinned to no other), the first half of them on node 0 and the rest on node 1, with their
# real topology and caches. Each node has half of the memory. hwloc and libnuma read two nodes of it; the kernel has but one, so
# what binds memory to node 1 is refused, and /proc/self/status allows node 0 only.
#
# A fake knob is a plain file: it takes any value, and where a kernel shows all choices with the chosen one in brackets, it holds
# the chosen one alone. So what was written is what is read, and a restored file is the old one to the byte.
set -eu
folder=$1

put() { # path, value
    mkdir -p "$folder${1%/*}"
    echo "$2" >"$folder$1"
}

# list FIRST LAST: as the kernel writes it; nothing where there is none.
list() {
    if [ "$1" -lt "$2" ]; then echo "$1-$2"; elif [ "$1" -eq "$2" ]; then echo "$1"; fi
}

cpu=/sys/devices/system/cpu
node=/sys/devices/system/node
mm=/sys/kernel/mm
last=$(($(getconf _NPROCESSORS_CONF) - 1))
half=$((last / 2))

# --- CPUs ----------------------------------------------------------------------------------------------------------------------

mkdir -p "$folder$cpu/vulnerabilities"
for name in online possible present offline kernel_max vulnerabilities/meltdown; do
    [ ! -r $cpu/$name ] || put $cpu/$name "$(cat $cpu/$name)"
done
put $cpu/isolated ''
put $cpu/nohz_full '(null)'
put $cpu/cpufreq/boost 1
put $cpu/smt/control on
put $cpu/smt/active 1
for n in $(seq 0 $last); do
    mkdir -p "$folder$cpu/cpu$n"
    for part in topology cache; do
        [ ! -d $cpu/cpu$n/$part ] || cp -r --no-preserve=all $cpu/cpu$n/$part "$folder$cpu/cpu$n/" 2>/dev/null || true
    done
    put $cpu/cpufreq/policy$n/scaling_governor powersave
    put $cpu/cpufreq/policy$n/scaling_available_governors 'performance powersave'
    put $cpu/cpufreq/policy$n/scaling_driver fake-cpufreq
    put $cpu/cpufreq/policy$n/affected_cpus $n
    ln -s ../cpufreq/policy$n "$folder$cpu/cpu$n/cpufreq"
    state=0
    for values in 'POLL 0 0' 'C1 2 0' 'C6 133 0'; do
        set -- $values
        put $cpu/cpu$n/cpuidle/state$state/name "$1"
        put $cpu/cpu$n/cpuidle/state$state/latency "$2"
        put $cpu/cpu$n/cpuidle/state$state/disable "$3"
        state=$((state + 1))
    done
done

# --- nodes ---------------------------------------------------------------------------------------------------------------------

for name in online possible has_memory has_normal_memory; do put $node/$name 0-1; done
put $node/has_cpu "$(list 0 $((last > 0)))"
total=$(($(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo) / 2))
free=$(($(sed -n 's/^MemFree: *\([0-9]*\).*/\1/p' /proc/meminfo) / 2))
for n in 0 1; do
    if [ $n -eq 0 ]; then first=0 end=$half distance='10 21'; else first=$((half + 1)) end=$last distance='21 10'; fi
    put $node/node$n/cpulist "$(list $first $end)"
    put $node/node$n/distance "$distance"
    put $node/node$n/meminfo "$(printf 'Node %d %s: %d kB\n' $n MemTotal $total $n MemFree $free $n MemUsed $((total - free)) \
        $n 'Active(file)' 0 $n 'Inactive(file)' 0 $n SReclaimable 0)"
    for size in 2048 1048576; do
        for name in nr_hugepages free_hugepages surplus_hugepages; do put $node/node$n/hugepages/hugepages-${size}kB/$name 0; done
    done
    words= # cpumap: one bit a CPU, 32 to a word, the last word first
    for word in $(seq 0 $((last / 32))); do
        bits=0
        for bit in $(seq 0 31); do
            number=$((32 * word + bit))
            [ $number -lt $first ] || [ $number -gt $end ] || bits=$((bits | 1 << bit))
        done
        words=$(printf %08x $bits)${words:+,$words}
    done
    put $node/node$n/cpumap "$words"
    for number in $(seq $first $end); do
        ln -s ../../cpu/cpu$number "$folder$node/node$n/cpu$number"
        ln -s ../../node/node$n "$folder$cpu/cpu$number/node$n"
    done
done

# --- memory and the kernel -----------------------------------------------------------------------------------------------------

put $mm/transparent_hugepage/enabled always
put $mm/transparent_hugepage/defrag always
put $mm/transparent_hugepage/shmem_enabled never
put $mm/transparent_hugepage/hpage_pmd_size 2097152
put $mm/transparent_hugepage/khugepaged/defrag 1
put $mm/ksm/run 1
put $mm/numa/demotion_enabled true
for size in 2048 1048576; do
    for name in nr_hugepages free_hugepages; do put $mm/hugepages/hugepages-${size}kB/$name 0; done
done

# Files of /proc/sys can be laid over those that this kernel has, and no others.
while read -r name value; do
    [ ! -e "/proc/sys/$name" ] || put "/proc/sys/$name" "$value"
done <<END
kernel/numa_balancing 1
kernel/nmi_watchdog 1
kernel/perf_event_paranoid 2
kernel/kptr_restrict 1
kernel/randomize_va_space 2
vm/zone_reclaim_mode 1
vm/swappiness 60
vm/nr_hugepages 0
vm/stat_interval 1
vm/compaction_proactiveness 20
END
put /proc/swaps "$(printf 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority')"
