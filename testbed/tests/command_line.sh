#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The command line that all commands share: help, misspelt words, lists of nothing. What each command has, walk.sh tries. LOCUS
# names the program, LOCUS_ASAN the one with AddressSanitizer.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1 # where the record is

# --- help and version ----------------------------------------------------------------------------------------------------------

check a-bare-locus-lists-the-commands-on-stderr eval "locus 2 && [ ! -s '$out' ] && grep -q '^  eval  .*scoreboard' '$err'"
check and-says-what-its-status-is grep -q '^Exit status: .*2 .*no command' "$err"
for word in -h --help '-?' help; do
    check "locus-$word-lists-the-commands" eval "locus 0 '$word' && [ ! -s '$err' ] && grep -q '^  eval  .*scoreboard' '$out'"
done
check help-with-a-command-is-its-help eval "locus 0 help eval && grep -q '^Usage: locus eval' '$out'"
check the-version-of-a-command-is-the-program-s eval "locus 0 topo --version && cp '$out' '$scratch/version' &&
    locus 0 --version && cmp -s '$out' '$scratch/version'"
check help-behind-two-dashes-is-the-command-s-own eval "locus 2 replay -- --help && grep -q 'cannot be read' '$err'"

# argp takes its margins from the environment, and prints blanks for ever if none fits. The pipe ends it; it is not timed.
for format in rmargin=-1 rmargin=0 rmargin=1 short-opt-col=-5,rmargin=3 nonsense=1; do
    ARGP_HELP_FMT=$format "$LOCUS" topo --help 2>"$err" | head -c 100000 >"$out"
    why="$(wc -c <"$out") bytes, stderr: $(head -n 1 "$err")"
    check "help-where-ARGP_HELP_FMT-is-$format" eval "[ ! -s '$err' ] && grep -q '^Usage: locus topo' '$out' &&
        [ \$(wc -c <'$out') -lt 100000 ]"
done

# --- words that are nearly right -------------------------------------------------------------------------------------------------

refuses a-command-with-a-letter-too-many 2 "'evall', did you mean 'eval'?" evall
refuses a-command-with-two-letters-swapped 2 "'vreify', did you mean 'verify'?" vreify
refuses the-beginning-of-a-command 2 "did you mean 'report standings'?" standings
refuses an-option-with-a-letter-missing 2 "'--rouds', did you mean '--rounds'?" eval --rouds 3
refuses an-option-with-its-value 2 "did you mean '--json'?" eval --jsom=x
refuses a-workload-with-two-letters-swapped 2 "did you mean 'burst-storm'?" eval -W burst-strom
refuses a-workload-of-advise 2 "did you mean 'churn-touch'?" advise --workload churn-tuch
refuses a-contender-with-a-letter-missing 2 "did you mean 'mimalloc'?" eval -c mimaloc
check a-word-that-is-near-to-nothing eval "locus 2 xyzzy && ! grep -q 'did you mean' '$err'"

# --- values --------------------------------------------------------------------------------------------------------------------

refuses empty-short-option 2 "--workload: the value is empty" eval -W ''
refuses empty-abbreviated-option 2 "--workload: the value is empty" eval --workl ''
refuses empty-command 2 "''" ''
refuses empty-trace 2 "''" replay ''
refuses empty-experiment 2 "''" run ''
refuses list-of-no-workload 2 "--workload: ','" eval -W ,
refuses list-of-no-contender 2 '--contenders' eval -c ,
refuses list-of-too-many-workloads 2 '--workload: the list is too long' eval -W "$(printf 'churn-touch,%.0s' {1..100})"

done_testing
