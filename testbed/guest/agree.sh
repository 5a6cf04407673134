#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# agree.sh LOG FILE: do both witnesses of a run of many nodes and touch decode count the same? LOG has the program's books: bytes of
# K and V that were read and written, by pairs of nodes, of each process. FILE has what the emulator's plugin counted during that
# run (`locus guest --accesses FILE -- run ...`), and nothing but that run. LOCUS names the program (locus).
#
# Both are summed over all processes of an arm in a cell: tb_rounds_window() says which windows these have. A line for each arm and
# cell says what the plugin counted; below it is what differs. Contenders that place nothing have no windows, and are left out.
#
# Exit status: 0 they agree; 1 they differ, or a process has no books; 2 there is nothing to compare.
set -u
refuse() {
    echo "locus: agree: $1" >&2
    exit 2
}
[ $# -eq 2 ] || refuse 'which log, and which file of accesses? sh testbed/guest/agree.sh LOG FILE'
command -v jq >/dev/null || refuse 'jq is not installed (apt-get install jq)'
[ -r "$2" ] || refuse "no file $2, or it is not readable: is the run's status 0? (locus guest --accesses FILE -- run ...)"
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
"${LOCUS:-locus}" record show --samples "$1" >"$work/log" || exit 2

# "case NUMBER NAME CELL", "lost NUMBER", "NUMBER read|written FROM TO BYTES": number is that of the arm's first window over 16.
jq -rs '.[0] as $header | ($header.arms | map(.key)) as $keys | .[] | select(.t == "s") |
    (.cell * ($keys | length) + (.arm as $arm | $keys | index($arm)) + 1) as $number |
    select(.valid and .nodes.before == [] | not) |
    "case \($number) \($header.arms[($number - 1) % ($keys | length)].name) \($header.cells[.cell].name)",
    if .valid and .decode.read then
        (.decode.read.pairs[] | "\($number) read \(.[0]) \(.[1]) \(.[2])"),
        (.decode.written.pairs[] | "\($number) written \(.[0]) \(.[1]) \(.[2])")
    elif .valid then empty else "lost \($number)" end' "$work/log" >"$work/lines" || refuse "$1 is no log of touch decode"
awk '$2 == "read" || $2 == "written"' "$work/lines" >"$work/books"
[ -s "$work/books" ] || [ "$(grep -c ^lost "$work/lines")" -gt 0 ] || refuse "$1 has no bytes by node: is it of many nodes?"

awk 'file == "books" { books[$1 " " $2 " " $3 " " $4] += $5; next }
     file == "lines" { if ($1 == "case") name[$2] = $3 ", " $4; if ($1 == "lost") lost[$2]++; next }
     { number = int($1 / 16); plugin[number " read " $2 " " $3] += $5; plugin[number " written " $2 " " $3] += $7 }
     END {
         for (key in plugin) books[key] += 0
         for (key in books) {
             split(key, part, " ")
             number = part[1]
             what = part[2] (part[3] == part[4] ? " local" : " remote")
             sum[number, what] += plugin[key]
             if (books[key] != plugin[key] + 0)
                 differs[number] = differs[number] sprintf("\n    %s from node %s to %s: books %.0f, plugin %.0f", part[2], part[3],
                                                           part[4], books[key], plugin[key])
         }
         for (number in differs) if (!(number in name)) name[number] = "no arm of this log"
         for (number in name) last = number + 0 > last ? number + 0 : last
         for (number = 0; number <= last; number++) if (number in name) {
             printf "%s: read %.0f local, %.0f remote; written %.0f local, %.0f remote%s%s\n", name[number],
                 sum[number, "read local"], sum[number, "read remote"], sum[number, "written local"],
                 sum[number, "written remote"], lost[number] ? "\n    a process is invalid, and has no books" : "", differs[number]
             bad += lost[number] > 0 || differs[number] != ""
         }
         exit bad > 0
     }' file=lines "$work/lines" file=books "$work/books" file=plugin "$2"
