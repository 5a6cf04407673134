#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# tier.sh: a tier's file against fio, and a tier in memory against memcpy (`make bench-tier`). BENCH: the program tier_bench.
# FOLDER: where the file lies (/var/tmp). ROUNDS: 7. OBJECTS and OBJECT_BYTES: 512 of 1 MiB.
#
# In a round both do the same to the same file: the tier stores all objects and loads them, fio writes its units with an fdatasync
# after each write and reads them, both with O_DIRECT, registered buffers and the same depth. The order alternates by the round.
# A tier writes a header for each object as well, and computes checksums; fio does neither. Goals: bandwidth at least 0.95 of fio's,
# CPU time a byte at most fio's, as medians of the rounds' ratios. Exit status: 0 all goals are met, 1 one is not, 2 cannot measure.
set -u
: "${BENCH:?BENCH must name the program tier_bench}"
command -v fio >/dev/null || { echo "tier.sh: fio is missing (Debian's package fio)" >&2; exit 2; }
command -v jq >/dev/null || { echo "tier.sh: jq is missing (Debian's package jq)" >&2; exit 2; }
rounds=${ROUNDS:-7} objects=${OBJECTS:-512} bytes=${OBJECT_BYTES:-1048576}
scratch=$(mktemp -d -p "${FOLDER:-/var/tmp}") || exit 2
trap 'rm -rf "$scratch"' EXIT
file=$scratch/tier

tier() { # DEPTH
    "$BENCH" file "$file" "$objects" "$bytes" "$1" | sed 's/^/tier /'
}

fio_() { # DEPTH: the last bytes of the file, which are units
    local size=$((objects * bytes)) line name rw
    for name in store:write load:read; do
        rw=${name#*:} name=${name%:*}
        line=$(fio --name=x --filename="$file" --offset=$(($(stat -c %s "$file") - size)) --size=$size --bs="$bytes" --rw=$rw \
            --ioengine=io_uring --direct=1 --fixedbufs=1 --registerfiles=1 --iodepth="$1" --fallocate=none --thread \
            $([ $rw = read ] || echo --fdatasync=1) --output-format=json) || return
        echo "$line" | jq -r --arg name "$name" --arg rw "$rw" '.jobs[0] | "fio \($name) \(.[$rw].bw_bytes) " +
            "\((.usr_cpu + .sys_cpu) / 100 * .[$rw].runtime * 1e6 / .[$rw].io_bytes)"'
    done
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

grep -m 1 granted "$scratch/all" | cut -d ' ' -f 3-
awk '
    function median(list, n,   i, j, t) {
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && list[j - 1] > list[j]; j--) { t = list[j]; list[j] = list[j - 1]; list[j - 1] = t }
        return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
    }
    $4 == "store" || $4 == "load" { speed[$3, $4, $1, $2] = $5; cpu[$3, $4, $1, $2] = $6; if ($2 > rounds) rounds = $2 }
    END {
        split("4 16 64", depths); split("store load", ways)
        print "          depth   tier MB/s  fio MB/s  ratio   tier CPU ns/B  fio CPU ns/B  ratio"
        for (w = 1; w <= 2; w++) for (d = 1; d <= 3; d++) {
            for (r = 1; r <= rounds; r++) {
                key = ways[w] SUBSEP depths[d] SUBSEP r
                a[r] = speed["tier", key] / 1e6; b[r] = speed["fio", key] / 1e6; ratio[r] = a[r] / b[r]
                c[r] = cpu["tier", key]; e[r] = cpu["fio", key]; more[r] = e[r] > 0 ? c[r] / e[r] : 0
            }
            fast = median(ratio, rounds); busy = median(more, rounds)
            ok = fast >= 0.95 && busy <= 1
            missed += !ok
            printf "%-9s %5d %11.0f %9.0f %6.2f %15.3f %13.3f %6.2f  %s\n", ways[w], depths[d], median(a, rounds),
                median(b, rounds), fast, median(c, rounds), median(e, rounds), busy, ok ? "met" : "NOT met"
        }
        exit missed > 0
    }' "$scratch/all"
status=$?
"$BENCH" memory || status=1
exit $status
