#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# README.md at the top is a page for newcomers: its length, how many figures it has, and that its links, its make targets and what
# its commands print are so. Its program is install_test.sh's, its picture pages_addresses.sh's and pages_figures.sh's. LOCUS names
# the program.
set -u
: "${LOCUS:?LOCUS must name the program}"
LOCUS=$(realpath "$LOCUS")
cd "$(dirname "$0")/../.." || exit 1
. testbed/tests/cases.bash

lines=$(wc -l <README.md) numbers=$(grep -oE '[0-9]+(\.[0-9]+)?' README.md | wc -l)
holds it_is_short "$lines lines" [ "$lines" -le 90 ]
holds it_has_few_numbers "$numbers" [ "$numbers" -le 15 ]
holds numa_is_in_the_title_and_the_first_sentence "$(head -n 3 README.md)" eval \
    '[[ $(sed -n 1p README.md) == *NUMA* && $(sed -n 3p README.md | cut -d . -f 1) == *NUMA* ]]'
holds the_caveat_is_before_the_commands "it is not" eval \
    "sed '/^    \\$ /q' README.md | grep -q '\\*\\*Nobody has run it on two sockets yet'"

there() { # each file that it links to
    local file status=0
    for file in $(tr '\n' ' ' <README.md | grep -oE '\]\([^) ]+' | cut -c 3-); do
        [ -e "$file" ] || { echo "there is no $file"; status=1; }
    done
    return $status
}
check its_links_lead_somewhere there
targets() {
    local target status=0
    for target in $(grep -oE '`make [a-z-]+`|^    make [a-z]+$|sudo make [a-z]+' README.md | grep -oE '[a-z-]+`?$' | tr -d '`'); do
        grep -qE "^$target:" Makefile || { echo "there is no target $target"; status=1; }
    done
    return $status
}
check its_targets_are_there targets

# shown COMMAND: what the README shows of it. said COMMAND: what it says, for programs in PATH.
shown() {
    awk -v command="    \$ $1" '$0 == command { on = 1; next } on && !/^    / { exit } on { print substr($0, 5) }' README.md
}
mkdir "$scratch/bin" && ln -s "$LOCUS" "$scratch/bin/locus"
said() { PATH=$scratch/bin:$PATH LOCUS_LAP=$(dirname "$LOCUS")/locus-lap bash -c "$1; exit \$?" 2>"$err" >"$out"; }
paragraph() { awk 'BEGIN { RS = "" } { print; exit }' "$out"; } # the first one
last_paragraph() { awk 'BEGIN { RS = "" } { text = $0 } END { gsub(/\n +/, " ", text); print text }' "$out"; } # in one line

mapfile -t commands < <(sed -n 's/^    \$ //p' README.md)
holds it_shows_three_commands "${#commands[@]}" [ "${#commands[@]}" -eq 3 ]
for command in "${commands[@]}"; do
    why="exit status"
    check "'$command' works" said "$command"
    case $command in
    *doctor*) # what this machine is like now, or was then, in one of three forms
        names='[a-z, -]+' form="Fit to measure|Not known to be fit; [0-9]+ cannot be seen: $names"
        form="^($form|[0-9]+ things? can spoil a figure: $names(; [0-9]+ cannot be seen: $names)?)\\.\$"
        holds it_shows_one_of_its_answers "$(shown "$command")" grep -qE "$form" <(shown "$command")
        holds and_has_one_of_them "$(last_paragraph)" grep -qE "$form" <(last_paragraph) ;;
    *--pid*)
        if [ "$("$LOCUS" topo --json | jq '.nodes | length')" = 1 ]; then
            holds it_shows_what_it_says "$(paragraph)" diff <(paragraph | sed 's/([0-9]*)/(N)/') \
                <(shown "$command" | sed 's/([0-9]*)/(N)/')
        else
            skip it_shows_what_it_says "this machine has several nodes, and the page shows one with one"
        fi ;;
    *) answer=$(shown "$command")
        holds it_shows_its_answer "$(tail -n 4 "$out")" eval '[[ -n $answer && $(<"$out") == *"$answer"* ]]' ;;
    esac
done

done_testing
