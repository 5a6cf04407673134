#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all free
#
# Fifty machines of hwloc's own tests (roots/fetch.sh): what `locus topo --root` says of their nodes, beside roots/expected.tsv; and
# that nothing else stumbles over them. It prints both as a table. LOCUS names the program.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
needs_guest roots ../tests/roots/fetch.sh
tab=$'\t' roots=build/roots table=testbed/tests/roots/expected.tsv

# The nodes that topo shows, as lines of the table; or that it refused the folder, and how.
said() { # MACHINE
    if locus 0 topo --root "$roots/$1" --json; then
        jq -r --arg machine "$1" '
            def ranges: reduce .[] as $id ([];
                    if length > 0 and .[-1][1] + 1 == $id then .[-1][1] = $id else . + [[$id, $id]] end) |
                map(if .[0] == .[1] then "\(.[0])" else "\(.[0])-\(.[1])" end) | join(",") | if . == "" then "-" else . end;
            .distances as $distances | .nodes | to_entries[] | [$machine, .value.os_index, .value.kind, (.value.cpus | ranges),
                .value.memory_total_bytes / 1024, ($distances[.key] | map(. // "-" | tostring) | join(" "))] | @tsv' "$out"
        [ ! -s "$err" ] || echo "stderr says: $(cat "$err")"
    elif [ "${why#exit 2,}" != "$why" ] && [ "$(grep -c "^locus: $roots/$1: " "$err")" = "$(wc -l <"$err")" ]; then
        printf '%s\t-\tno machine: %s\t-\t-\t-\n' "$1" "$(sed "s|^locus: $roots/$1: ||" "$err")"
    else
        echo "$why"
    fi
}
brief() { # lines of the table: the same for people
    awk -F '\t' '$2 == "-" { print $3; exit }
        { nodes++; if (!kinds[$3]++) order[++n] = $3; kib += $5; $4 == "-" ? 0 : lists = lists "," $4 }
        END {
            if (!nodes) exit
            split(substr(lists, 2), ranges, ",")
            for (r in ranges) { split(ranges[r] "-" ranges[r], ends, "-"); for (c = ends[1]; c <= ends[2] + 0; c++) cpus[c] }
            for (c in cpus) count++
            for (k = 1; k <= n; k++) said = said (k > 1 ? ", " : "") kinds[order[k]] " " order[k]
            printf "%s; %d CPUs, %d MiB\n", said, count, kib / 1024
        }'
}

holds 'the table is what the reader reads' 'python3 testbed/tests/roots/expected.py build/roots differs from it' \
    eval "python3 testbed/tests/roots/expected.py $roots | cmp - $table"
machines=$(cut -f 1 $table | uniq)
holds 'fifty machines' "$(wc -w <<<"$machines")" [ "$(wc -w <<<"$machines")" = 50 ]

printf '# %-34s %-48s %s\n' machine expected 'topo says'
for machine in $machines; do
    expected=$(grep "^$machine$tab" $table) told=$(said "$machine")
    printf '# %-34s %-48s %s\n' "$machine" "$(brief <<<"$expected")" "$(brief <<<"$told")"
    if [[ $expected == *"${tab}no machine: "* ]]; then
        holds "$machine" "$told" test "$(cut -f 1,2 <<<"$told")" = "$machine$tab-"
    else
        holds "$machine" "$(diff <(echo "$expected") <(echo "$told") | tail -n +2 | head -n 4)" test "$told" = "$expected"
    fi
done

# Whatever it is, it is planned for, or refused in a line that speaks of it and of no process.
for machine in $machines; do
    for command in 'matrix --plan' 'advise --plan'; do
        "$LOCUS" $command --root "$roots/$machine" >"$out" 2>"$err"
        status=$?
        holds "$command: $machine" "exit $status: $(head -n 1 "$err")" eval "[ $status = 0 -a ! -s '$err' ] ||
            { [ $status = 2 ] && grep -q '^locus: $roots/$machine: ' '$err' && ! grep -q process '$err'; }"
    done
    check "doctor: $machine" locus 0 doctor --root "$roots/$machine"
done
done_testing
