#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tier.sh: a tier's file against fio, and a tier in memory against memcpy (`make bench-tier`). BENCH: the program tier_bench.
# FOLDER: where the file lies (/var/tmp). ROUNDS: 7. OBJECTS and OBJECT_BYTES: 512 of 1 MiB.
#
# In a round both do the same to the same file: the tier stores all objects and loads them, fio writes its units with an fdatasync
# after each write and reads them, both with O_DIRECT, registered buffers and the same depth. The order alternates by the round.
# Both use huge pages, for which some are reserved while this runs; where that is forbidden, or with PAGES=4k, both use base pages.
# Of these a request can take only so many as are contiguous by chance, which is another number in each process.
# A tier writes a header for each object as well, and computes checksums; fio does neither, and does not read what it moves. So it
# loads once more, with checksums (crc32c, too) that it has stored: "load, checked", which is shown beside the goals. (Its stores
# with checksums make their contents anew as well: not equal work.) Goals: bandwidth at least 0.95 of fio's, CPU time a byte at
# most fio's, as medians of the rounds' ratios. Exit status: 0 all goals are met, 1 one is not, 2 cannot measure.
set -u -o pipefail
: "${BENCH:?BENCH must name the program tier_bench}"
command -v fio >/dev/null || { echo "tier.sh: fio is missing (Debian's package fio)" >&2; exit 2; }
command -v jq >/dev/null || { echo "tier.sh: jq is missing (Debian's package jq)" >&2; exit 2; }
rounds=${ROUNDS:-7} objects=${OBJECTS:-512} bytes=${OBJECT_BYTES:-1048576}
scratch=$(mktemp -d -p "${FOLDER:-/var/tmp}") || exit 2
trap 'rm -rf "$scratch"' EXIT
file=$scratch/tier pages=4k mem=malloc

reserved=/proc/sys/vm/nr_hugepages had=$(cat /proc/sys/vm/nr_hugepages 2>/dev/null)
wanted=$((3 * 80 * bytes / 2097152)) # of the greatest depth; the kernel takes a while to get those of a process back that has ended
if [ "${PAGES-}" != 4k ] && echo $((had + wanted)) 2>/dev/null >"$reserved"; then
    trap 'rm -rf "$scratch"; echo "$had" >"$reserved"' EXIT
    [ "$(cat "$reserved")" -lt $((had + wanted)) ] || pages=2m mem=shmhuge
fi

tier() { # DEPTH
    "$BENCH" file "$file" "$objects" "$bytes" "$1" ${pages#4k} | sed 's/^/tier /'
}

fio_() { # DEPTH: the last bytes of the file, which are units
    local size=$((objects * bytes)) line name rw how
    while read -r name rw how; do
        line=$(fio --name=x --filename="$file" --offset=$(($(stat -c %s "$file") - size)) --size=$size --bs="$bytes" --rw="$rw" \
            --ioengine=io_uring --direct=1 --fixedbufs=1 --registerfiles=1 --iodepth="$1" --fallocate=none --thread \
            --mem=$mem $how --output-format=json) || return
        [ "$name" != - ] || continue
        echo "$line" | jq -r --arg name "$name" --arg rw "$rw" '.jobs[0] | "fio \($name) \(.[$rw].bw_bytes) " +
            "\((.usr_cpu + .sys_cpu) / 100 * .[$rw].runtime * 1e6 / .[$rw].io_bytes)"'
    done <<<"store write --fdatasync=1
load read
- write --verify=crc32c --do_verify=0 --verify_pattern=0x5a --verify_state_save=0
checked read --verify=crc32c --verify_pattern=0x5a --verify_state_save=0"
}

for depth in 4 16 64; do
    rm -f "$file"
    tier "$depth" >/dev/null || exit 2 # the file is made, and all of it is written once
    for round in $(seq "$rounds"); do
        if [ $((round % 2)) = 0 ]; then fio_ "$depth" && tier "$depth"; else tier "$depth" && fio_ "$depth"; fi |
            sed "s/^/$depth $round /"
        [ "${PIPESTATUS[0]}" -eq 0 ] || exit 2
    done
done >"$scratch/all"

echo "$(grep -m 1 granted "$scratch/all" | cut -d ' ' -f 3-), pages of $pages"
awk '
    function median(list, n,   i, j, t) {
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    function line(title, ours, theirs, d, goal,   r, fast, busy, ok) {
        for (r = 1; r <= rounds; r++) {
            a[r] = speed["tier", ours, d, r] / 1e6; b[r] = speed["fio", theirs, d, r] / 1e6; ratio[r] = a[r] / b[r]
            c[r] = cpu["tier", ours, d, r]; e[r] = cpu["fio", theirs, d, r]; more[r] = e[r] > 0 ? c[r] / e[r] : 0
        }
        fast = median(ratio, rounds); busy = median(more, rounds)
        ok = fast >= 0.95 && busy <= 1
        missed += goal && !ok
        printf "%-13s %5d %11.0f %9.0f %6.2f %15.3f %13.3f %6.2f  %s\n", title, d, median(a, rounds), median(b, rounds), fast,
            median(c, rounds), median(e, rounds), busy, goal ? ok ? "met" : "NOT met" : ""
    }
    $4 ~ /^(store|load|checked)$/ { speed[$3, $4, $1, $2] = $5; cpu[$3, $4, $1, $2] = $6; if ($2 > rounds) rounds = $2 }
    END {
        split("4 16 64", depths)
        print "              depth   tier MB/s  fio MB/s  ratio   tier CPU ns/B  fio CPU ns/B  ratio"
        for (d = 1; d <= 3; d++) line("store", "store", "store", depths[d], 1)
        for (d = 1; d <= 3; d++) line("load", "load", "load", depths[d], 1)
        for (d = 1; d <= 3; d++) line("load, checked", "load", "checked", depths[d], 0)
        exit missed > 0
    }' "$scratch/all"
status=$?
"$BENCH" memory || status=1
exit $status
