#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# pages_figures.sh [FOLDER]: do the README.md with figures, and experiments/corrections.md, agree with the sealed logs? This is the
# second opinion on what `make figures` wrote: of the program it has the samples, and no arithmetic. Every figure in one of these
# forms is compared, digit by digit, with the log of the record beside it: with its samples, by independent arithmetic, or with its
# sealed verdicts. One line a case. LOCUS=path/to/locus.
#
#   | times as fast as `X` | record | WORKLOAD ...         X's time over that of the row's contender: Hodges-Lehmann over the pairs
#                                                         of all rounds, with its 95 % interval where one is printed
#   | blocks held at most, over the peak | record | WORKLOAD ...
#   | writes on the wrong node, of blocks of | record | least, % | most, %
#   | blocks found by | record | CELL ...                 the part of all, in each round the same
#   1.34 [1.29, 1.37] (0013/P3)                           a prediction, as the log was sealed
#   0.94 (0032/P3 azure-conv/serve/16t/65536t/load100)    one that is exact, as what is decided in virtual time, and sums, are
#   1.03 [0.97, 1.09] (0018.add1/P3 steady-decode/none)   the part of it in one of several cells
#   1.03 [0.99, 1.08] (0018.add1 steady-decode/none D/A)  the times of two arms in a cell, as in the first table
#
# 0018.add1 is experiments/0018-*.add1.md, which names the log. A row's contender and cell are its words: `dpdk-stack`, one byte,
# four workers on futexes. "-" is for what the record does not have. A row says the record's verdict as well.
set -u
: "${LOCUS:?LOCUS must name the program}"
repository=$(realpath "$(dirname "$0")/../..")
pages=$(realpath "${1:-$repository}")
. "$(dirname "$0")/cases.bash"
cd "$repository" || exit 1
command -v jq >/dev/null || { skip figures "needs jq"; exit 0; }

# --- what a log says -----------------------------------------------------------------------------------------------------------

arithmetic='
def counts($n): # of the signed-rank statistic: how many of the 2^n signs give 0, 1, 2 ...
    reduce range(1; $n + 1) as $i ([1]; . as $c
        | [range(length + $i) as $k | ($c[$k] // 0) + (if $k < $i then 0 else $c[$k - $i] end)]);
def outside($n): # how many of the ordered averages lie beyond either end of the interval
    counts($n) as $c | {k: 0, sum: 0} | until((.sum + $c[.k]) / pow(2; $n) > 0.025; .sum += $c[.k] | .k += 1) | .k;
def hodges_lehmann: # of logarithms: [estimate, low, high]
    . as $x | length as $n | ([outside($n), 1] | max) as $k
    | [range($n) as $i | range($i; $n) as $j | ($x[$i] + $x[$j]) / 2] | sort | length as $m
    | [(.[($m - 1) / 2 | floor] + .[$m / 2 | floor]) / 2, .[$k - 1], .[$m - $k]] | map(exp);
def ratio($cell; $over; $under): # of times, over the rounds that have both
    [.samples[] | select(.cell == $cell and .time > 0)] as $s
    | [$s[] | select(.arm == $over)] as $o
    | INDEX($s[] | select(.arm == $under); .round) as $u
    | [$o[] | ($u[.round] // empty) as $b | (.time | log) - ($b.time | log)] | hodges_lehmann;
def arms($name): [.arms[] | select(.name | split("%")[0] == $name) | .key];
def cell($workload; $touch; $dispatch; $workers): # its number, or null
    .cells | map(.workload == $workload and .touch == $touch and .block_bytes == 4096 and .dispatch == $dispatch
        and ($dispatch == "inline" or .workers == $workers)) | index(true);
'

# digest RECORD: what is wanted of its log, in $scratch/RECORD.json, and the record's verdict; where a round was repeated in a cell,
# the last attempt. Status 1 if there is no such record.
digest() {
    local out=$scratch/$1.json record log verdict
    [ ! -e "$out" ] || return 0
    case $1 in
    *.add*) record=$(compgen -G "experiments/${1%%.*}-*.${1#*.}.md") ;;
    *) record=$(compgen -G "experiments/$1-*.md" | grep -v '\.add[0-9]*\.md$') ;;
    esac
    log=$(grep -m 1 -o 'logs/[^`]*\.jsonl' "${record:-/dev/null}") || return
    verdict=$(sed -n 's/^\*\*Verdict: \([a-z-]*\).*/\1/p' "$record" | head -n 1)
    "$LOCUS" record show --samples "$log" | jq -cn --arg verdict "$verdict" '
        reduce inputs as $l ({samples: []};
            if $l.t == "hdr" then .arms = $l.arms | $l.design as $d | .cells = [$l.cells[]
                | {name: (.name // .workload + "/" + .touch), workload, touch, blocks_peak, dispatch: (.dispatch // $d.dispatch),
                   workers: (.workers // $d.workers), block_bytes: (.block_bytes // $d.block_bytes)}]
            elif $l.t == "s" then .samples += [$l | select(.valid)
                | {round: "\(.block)/\(.round)", cell, arm, time: .time_ns, held: .outstanding_high, remote: .remote_touch_ratio,
                   found: .serving.hit_ratio, attempt: (.attempt // 0)}]
            elif $l.t == "sum" then .predictions = $l.predictions
            else . end) | .verdict = $verdict
        | .samples |= [group_by([.cell, .round])[] | (map(.attempt) | max) as $last | .[] | select(.attempt == $last)]' >"$out"
}

asks() { # RECORD FILTER ARGUMENT...: the filter's lines
    local record=$1 filter=$2
    shift 2
    jq -r "$arithmetic $filter" "$@" <"$scratch/$record.json"
}

# same PRINTED VALUE: is that how it is printed? With as many decimals, rounded once; but "0" is none at all.
same() {
    local decimals=${1#*.}
    [ "$1" != "$2" ] || return 0
    [[ $1$2 != *[!0-9.e-]* && $1 != [-0] && $2 != - ]] || return
    [ "$decimals" != "$1" ] || decimals=
    [ "$(LC_ALL=C printf '%.*f' ${#decimals} "$2")" = "$1" ]
}

# agrees "E [L, H]" or "E", "ESTIMATE LOW HIGH": digit by digit
agrees() {
    local printed values at
    read -ra printed <<<"${1//[][,]/ }"
    read -ra values <<<"$2"
    [ ${#printed[@]} -gt 0 ] || return
    for at in "${!printed[@]}"; do same "${printed[at]}" "${values[at]:-nan}" || return; done
}

# --- tables --------------------------------------------------------------------------------------------------------------------

# Each prints one line for each column of a row: the figures, or "-".
fast() { # RECORD CONTENDER "TOUCH DISPATCH WORKERS" REFERENCE WORKLOAD...
    local touch dispatch workers
    read -r touch dispatch workers <<<"$3"
    asks "$1" '. as $log | $ARGS.positional[] | . as $w | $log | cell($w; $touch; $dispatch; $workers | tonumber) as $c
        | if $c == null then "-" else ratio($c; arms($over)[0]; arms($under)[0]) | join(" ") end' \
        --arg under "$2" --arg over "$4" --arg touch "$touch" --arg dispatch "$dispatch" --arg workers "$workers" --args "${@:5}"
}

held() { # RECORD CONTENDER CELL WORKLOAD...: the most blocks that any arm of that name held
    local touch dispatch workers
    read -r touch dispatch workers <<<"$3"
    asks "$1" '. as $log | arms($name) as $arms | $ARGS.positional[] | . as $w | $log
        | cell($w; $touch; $dispatch; $workers | tonumber) as $c | if $c == null then "-" else
            ([.samples[] | select(.cell == $c and (.arm | IN($arms[]))).held] | max) / .cells[$c].blocks_peak end' \
        --arg name "$2" --arg touch "$touch" --arg dispatch "$dispatch" --arg workers "$workers" --args "${@:4}"
}

wrong_node() { # RECORD CONTENDER...: least and most, in percent, of all of them
    asks "$1" '. as $log | [$ARGS.positional[] | . as $name | $log | arms($name)[]] as $arms
        | [.samples[] | select(.arm | IN($arms[])).remote * 100] | min, max' --args "${@:2}"
}

found() { # RECORD POLICY CELL...: what it found in every round, once; several lines if the rounds differ
    asks "$1" '. as $log | arms($name) as $arms | $ARGS.positional[] | . as $c | $log | (.cells | map(.name) | index($c)) as $cell
        | [.samples[] | select(.cell == $cell and (.arm | IN($arms[]))).found] | unique | if . == [] then "-" else .[] end' \
        --arg name "$2" --args "${@:3}"
}

words() { # of a row: touch, dispatch, workers
    case $1 in *'full touch'*) echo -n 'full ' ;; *'one byte'*) echo -n 'byte ' ;; *untouched*) echo -n 'none ' ;; esac
    case $1 in *'four workers on futexes'*) echo futex 4 ;; *'no second thread'*) echo inline 1 ;; *) echo spin 1 ;; esac
}

# row PAGE KIND REFERENCE CELLS...: checks one, against the columns' names in $columns
row() {
    local page=$1 kind=$2 reference=$3 what=$4 record verdict names value at=0 bad=()
    read -r record verdict <<<"$5"
    shift 5
    mapfile -t names < <(grep -o '`[^`]*`' <<<"$what" | tr -d '`')
    [[ $what != 'the floor'* ]] || names=(oracle)
    digest "$record" || { fail "$page: $what" "there is no record '$record', or it names no log"; return; }
    [ "$verdict" = "$(asks "$record" .verdict)" ] || bad+=("the verdict of $record is $(asks "$record" .verdict)")
    while read -r value; do
        agrees "${1-}" "$value" || bad+=("${columns[at]}: printed ${1-}, and $record has $value")
        at=$((at + 1))
        [ $# -eq 0 ] || shift
    done < <(case $kind in
        fast) fast "$record" "${names[0]}" "$(words "$what")" "$reference" "${columns[@]}" ;;
        held) held "$record" "${names[0]}" "$(words "$what")" "${columns[@]}" ;;
        wrong_node) wrong_node "$record" "${names[@]}" ;;
        found) found "$record" "${names[0]}" "${columns[@]}" ;;
        esac)
    [ $at -eq ${#columns[@]} ] || bad+=("$at of ${#columns[@]} columns could be computed")
    what="$page: ${what//\`/} ($record, $kind${reference:+ over $reference})"
    if [ ${#bad[@]} -eq 0 ]; then pass "$what"; else fail "$what" "$(printf '%s; ' "${bad[@]}")"; fi
}

tables() { # PAGE: all rows of those with figures; how many there were is in $rows
    local line kind= reference= cells
    rows=0
    while IFS= read -r line; do
        [[ $line == '|'* ]] || { kind=; continue; }
        IFS='|' read -ra cells < <(sed -E 's/^\| *//; s/ *\| */|/g' <<<"$line")
        case $line in
        '| times as fast as '*'| record |'*) kind=fast reference=$(cut -d '`' -f 2 <<<"${cells[0]}") columns=("${cells[@]:2}") ;;
        '| blocks held at most, over the peak | record |'*) kind=held reference= columns=("${cells[@]:2}") ;;
        '| writes on the wrong node, of blocks of | record |'*) kind=wrong_node reference= columns=("${cells[@]:2}") ;;
        '| blocks found by | record |'*) kind=found reference= columns=("${cells[@]:2}") ;;
        '|---'*) ;;
        *) [ -z "$kind" ] || { row "$1" $kind "$reference" "${cells[@]}"; rows=$((rows + 1)); } ;;
        esac
    done <"$pages/$1"
}

# --- figures in a text ---------------------------------------------------------------------------------------------------------

number='[0-9]+(\.[0-9]+)?'
cell='[a-z0-9-]+(/[A-Za-z0-9.-]+)+'
source="([0-9]{4}(\\.add[0-9]+)?)(/([PS][0-9]+)( ($cell))?| ($cell) ([A-Z])/([A-Z]))"
form="($number( \\[$number, $number\\])?) \\($source\\)"

figure() { # PAGE TEXT
    local values= value printed record match interval
    [[ $2 =~ ^$form$ ]] || return
    [[ $2 == *\[* ]] && interval=true || interval=false
    match=("${BASH_REMATCH[@]}") printed=${BASH_REMATCH[1]} record=${BASH_REMATCH[6]}
    digest "$record" || { fail "$1: $2" "there is no record '$record', or it names no log"; return; }
    if [ -n "${match[9]}" ]; then # of a prediction with parts in several cells only with the cell
        values=$(asks "$record" '.predictions[] | select(.id == $id) | if $cell != "" then .parts[]? | select(.cell == $cell)
            elif [.parts[]?.cell] | unique | length > 1 then empty else . end
            | select($interval or (.low != null and .low == .high)) | [.estimate, .low, .high] | join(" ")' \
            --argjson interval "$interval" --arg id "${match[9]}" --arg cell "${match[11]}")
    elif $interval; then
        values=$(asks "$record" '(.cells | map(.name) | index($cell)) as $c | select($c != null)
            | ratio($c; $over; $under) | join(" ")' --arg cell "${match[13]}" --arg over "${match[15]}" --arg under "${match[16]}")
    fi
    while read -r value; do
        ! agrees "$printed" "$value" || { pass "$1: $2"; return; }
    done <<<"${values:-nothing}"
    fail "$1: $2" "the log has ${values//$'\n'/, or }"
}

texts() { # PAGE: each figure once; how many is in $found
    local text
    found=0
    while IFS= read -r text; do
        figure "$1" "$text"
        found=$((found + 1))
    done < <(tr '\n' ' ' <"$pages/$1" | tr -s ' ' | grep -oE "$form" | sort -u)
}

# --- pictures ------------------------------------------------------------------------------------------------------------------

# Each row: "WORKLOAD, MALLOC" and the least of the times of the cell's mallocs, over that of locus.
picture() { # PAGE SVG RECORD PATTERN
    local label printed value
    digest "$3" || { fail "$1: $2" "there is no record '$3', or it names no log"; return; }
    while IFS='|' read -r label printed; do
        value=$(asks "$3" '.cells as $cells | [range($cells | length) | select($cells[.].name | startswith($workload + "/")
                and test("^" + ($pattern | gsub("[*]"; ".*")) + "$"))][0] as $c | arms("locus")[0] as $ours
            | . as $log | [.arms[] | select(.role == "malloc") | .key as $key | [.name] + ($log | ratio($c; $key; $ours))]
            | min_by(.[1]) | join(" ")' --arg workload "${label%%,*}" --arg pattern "$4" | sed 's/%[^ ]*//')
        if [ "${value%% *}" = "${label#*, }" ] && agrees "$printed" "${value#* }"; then pass "$1: $label: $printed"
        else fail "$1: $label: $printed" "the log has ${value:-nothing}"; fi
        found=$((found + 1))
    done < <(sed -nE 's/<\/text>$//; /class="">/{s/.*>//; h}; /class="end">/{s/.*>//; H; x; s/\n/|/; p}' "$pages/$2")
}

pictures() { # PAGE: how many rows is in $found
    local file record pattern
    found=0
    while read -r file record pattern; do
        picture "$1" "$(dirname "$1")/$file" "$record" "$pattern"
    done < <(sed -nE 's/.*!\[[^]]*\]\(([^ )]+\.svg) "([0-9a-z.]+) ([^"]+)"\).*/\1 \2 \3/p' "$pages/$1")
}

# --- the pages -----------------------------------------------------------------------------------------------------------------

while read -r page rows_least found_least <&3; do
    tables "$page"
    [ "$rows_least" = - ] || holds "${page}_has_rows_of_figures" "only $rows" [ "$rows" -ge "$rows_least" ]
    texts "$page"
    [ "$found_least" = - ] || holds "${page}_has_figures_in_its_text" "only $found" [ "$found" -ge "$found_least" ]
done 3<<'END'
testbed/measure/nodes/README.md 9 -
placement/evict/README.md 7 -
experiments/README.md 30 10
experiments/corrections.md - 10
END

pictures README.md
holds README.md_has_a_picture "only $found rows" [ "$found" -eq 4 ]

# What was observed in a step of the design thread is said by figures of this form alone, and of the step's own records.
while IFS='|' read -r _ paper _ ours observed _; do
    paper=${paper// /} ours=${ours// /}
    left=$(sed -E "s#$form##g" <<<"$observed" | grep -oE '[0-9]+\.[0-9]+|[0-9]+ %' | head -n 1)
    holds "${paper}_says_where_figures_are_from" "'$left' in its row does not" [ -z "$left" ]
    sources=$(grep -oE "$form" <<<"$observed" | grep -oE '\([0-9]{4}' | sort -u)
    holds "${paper}_has_figures_of_$ours" "they are of '$sources" [ "$sources" = "($ours" ]
done < <(grep -E '^\| 03[0-9]{2} \|' "$pages/experiments/README.md")

# And would a wrong one be noticed? Nothing of this is so.
pages=$scratch kept=$failures counting=$cases_file cases_file=/dev/null
cat >"$pages/wrong.md" <<'END'
| times as fast as `mimalloc` 2.0.9 | record | steady-decode | burst-storm |
|---|---|---|---|
| `locus`, full touch | 0023 inconclusive | 1.66 | 1.65 |
| `locus`, full touch | 0023 inconclusive | 1.66 | - |
| `locus`, full touch | 0023 survived | 1.66 | 1.66 |
| `locus`, full touch | 9999 inconclusive | 1.66 | 1.66 |
| `no-such`, full touch | 0023 inconclusive | 1.66 | 1.66 |
| `locus`, full touch | 0023 inconclusive | 1.66 |
| the floor, one byte | 0023 inconclusive | 10.0 | 9.2 |

| times as fast as `locus` | record | churn-touch | burst-storm |
|---|---|---|---|
| `dpdk-stack`, one byte | 0023 inconclusive | 1.60 [1.54, 1.68] | 1.05 [1.02, 1.09] |

| blocks held at most, over the peak | record | burst-storm |
|---|---|---|
| `locus`, full touch | 0023 inconclusive | 1.02 |

| writes on the wrong node, of blocks of | record | least, % | most, % |
|---|---|---|---|
| `jemalloc` | 0007 survived | 1 | 11 |
| `mimalloc` | 0006 survived | 0 | 0 |

| blocks found by | record | mooncake/keep/2000b | mooncake/keep/70000b |
|---|---|---|---|
| `lru` | 0034.add1 falsified | 0.055 | 0.360 |
| `lru` | 0034.add1 falsified | 0.054 | - |

1.34 [1.29, 1.38] (0013/P3); 0.96 [0.95, 0.97] (0018/P1); 1.05 [1.02, 1.09] (0018/P3 steady-decode/none);
0.72 [0.70, 0.75] (0023 churn-touch/byte D/A); 1.00 [1.00, 1.00] (0023 no-such/cell D/A); 1.34 (0013/P3); 0.72 (0023
churn-touch/byte D/A)
END
tables wrong.md >"$scratch/said" 2>&1
texts wrong.md >>"$scratch/said"
wrong_figures="$rows $found $(grep -c ^not "$scratch/said")"
printf '![two rows of four](wrong.svg "0093 */full/futex/4w")\n' >"$scratch/picture.md"
sed 's/>1\.18 \[/>1.19 [/; s/, tcmalloc-tuned/, mimalloc/' "$repository/experiments/best-malloc.svg" >"$scratch/wrong.svg"
pictures picture.md >"$scratch/said_of_picture"
failures=$kept cases_file=$counting
holds wrong_figures_are_noticed "$(grep -m 1 ^ok "$scratch/said")" [ "$wrong_figures" = '13 7 20' ]
holds wrong_pictures_are_noticed "$(cat "$scratch/said_of_picture")" [ "$found $(grep -c ^not "$scratch/said_of_picture")" = '4 2' ]

done_testing
