#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Is every step of the LOCUS paper's design thread re-run here, and does the table in experiments/README.md agree with the
# records? One line a case. It needs no program: it compares the table with postulates, records and logs.
set -u
repository=$(realpath "$(dirname "$0")/../..")
. "$(dirname "$0")/cases.bash"
cd "$repository" || exit 1

# The row of a number of the paper, and the cells of it.
row() { grep -E "^\| $1 \|" experiments/README.md; }
cell() { row "$1" | cut -d '|' -f "$2" | sed 's/^ *//; s/ *$//'; }

for paper in 0351 0352 0353 0354 0355 0356 0357 0358 0359 0360; do
    holds "${paper}_has_one_row" "there is not just one row '| $paper |'" [ "$(row $paper | wc -l)" -eq 1 ]
    ours=$(cell $paper 4)
    postulate=$(ls postulates/"$ours"-*.md 2>/dev/null | head -n 1)
    record=$(ls experiments/"$ours"-*.md 2>/dev/null | grep -v '\.add[0-9]*\.md$' | head -n 1)
    holds "${paper}_has_a_postulate" "no postulate '$ours' reproduces it" \
        grep -q "^reproduces: \"$paper\"" "${postulate:-/dev/null}"
    verdict=$(sed -n 's/^\*\*Verdict: \([^*]*\)\*\*.*/\1/p' "${record:-/dev/null}" | head -n 1)
    holds "${paper}_says_the_verdict" "the record of $ours has '$verdict', the table '$(cell $paper 6)'" \
        [ -n "$verdict" -a "$verdict" = "$(cell $paper 6)" ]
    log=$(grep -o 'logs/[^`]*\.jsonl' "${record:-/dev/null}" | head -n 1)
    holds "${paper}_has_a_sealed_log" "the log '$log' has no seal" grep -q '"t":"seal"' "${log:-/dev/null}"
    holds "${paper}_has_a_reason" 'the last cell is empty' [ -n "$(cell $paper 7)" ]
done

done_testing
