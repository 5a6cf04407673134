#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# pages_addresses.sh: has every figure in a README.md its address, and is it the one that the sealed log has there?
#
# A figure is a number with a unit of time, of a rate, with % or "times", and any number with decimals. In every README.md one is
# allowed only
#
#   - with its address behind it, 1.34 [1.29, 1.37] (0013/P3), or in a table between <!-- figures --> and <!-- end of figures -->:
#     `make figures` writes both, and a case below holds them to the logs (pages_figures.sh does so once more, by arithmetic of its
#     own);
#   - in a column "claim" or "its result" of a table, which says what others found;
#   - in `code`: settings, commands, names;
#   - as a version, behind the name of a program;
#   - in a piece of text on the list below, for the reason given there. All of these are definitions, settings, limits or the time
#     that a command takes. A result of a measurement does not belong on it.
set -u
: "${LOCUS:?LOCUS must name the program}"
LOCUS=$(realpath "$LOCUS")
export LOCUS
cd "$(dirname "$0")/../.." || exit 1
. testbed/tests/cases.bash

# PAGE | TEXT | REASON. The text is a regular expression of Perl in which a space is any white space.
cat >"$scratch/allowed" <<'END'
README.md | \(three minutes\) | what a command takes
README.md | takes 3\.20 times as many steps | what a command prints, which readme.sh compares
ansible/README.md | 90 seconds|\(five minutes\)|ten minutes | what a command takes
testbed/cli/README.md | two minutes of timing | what a command takes
experiments/README.md | 95 % intervals | the confidence of what is in the table
logs/README.md | by 744 s at line 21 | `locus verify` says it, of that line
placement/README.md | locus \d+\.\d+ REQUIRED | a version
testbed/guest/README.md | more than 10 s plus a tenth | a limit
testbed/matrix/README.md | five seconds to a minute | what a command takes
testbed/record/README.md | version: "1\.0" | a format
testbed/report/README.md | exact 95 % interval|more than 20 % from their median | definitions
testbed/serving/README.md | at 0\.9 of what | a setting
testbed/tests/README.md | \| 90 s \||\| 10 minutes \| | what a command takes
testbed/tests/README.md | (^ +\d+\.\d (check|test|all) +(build|free|alone|guest|last) +\S+\n)+ | what items take
testbed/workload/README.md | jq before 1\.7 | a version
testbed/workload/README.md | with a chance of 70 % | a definition
testbed/workload/README.md | is synthetic: 400 requests in 122 seconds .*? and 6 % are long prompts | how a generator made the trace
testbed/workload/README.md | is synthetic as well: 200 requests in 631 seconds, .*? \(mu 3\.4, sigma 0\.8 | the same
END

# unaddressed PAGE...: one line for each figure without an address, and for what on the list is nowhere to be found
cat >"$scratch/unaddressed.pl" <<'END'
use strict;
use warnings;
my ($list, @pages) = @ARGV;
my $word = qr/(?:two|three|four|five|six|seven|eight|nine|ten|twenty)/;
my $unit = qr/(?:%|percent|ns|us|ms|s|seconds?|minutes?|hours?|times|[KMG]B\/s|x)(?!\w)/;
my $number = qr/\d+(?:\.\d+)?/;
my $figure = qr/(?<![\w.,])(?:\d[\d,]*(?:\.\d+)?\s*$unit|\d+\.\d+(?![.\d])|twice\s+as|$word\s+(?:times|percent|seconds|minutes)\b)/;
my $cell = qr{[A-Za-z0-9.-]+(?:/[A-Za-z0-9.-]+)+};
my $address = qr{\d{4}(?:\.add\d+)?(?:/[PS]\d+(?:\s+$cell)?|\s+$cell\s+[A-Z]/[A-Z])};
my $program = qr/(?:Debian|Ubuntu|Linux|kernel|QEMU|hwloc|glibc|GLIBC_|jemalloc|tcmalloc|mimalloc|CODE|Apache-)/;
my %allowed;
open(my $in, '<', $list) or die "$list: $!";
while (<$in>) {
    my ($page, $text) = /^(\S+) \| (.*) \| / or die "$list:$.: PAGE | TEXT | REASON";
    push @{$allowed{$page}}, $text;
}
sub columns { # rows without what others found, and with the first column alone in a table of figures
    my ($others, $figures, @lines) = (0, 0);
    for (split /\n/, shift) {
        $figures = 1 if /^<!-- figures -->/;
        $figures = 0 if /^<!-- end of figures -->/;
        $others = 0 unless /^\|/;
        my @cells = split /\|/;
        for my $i (1 .. $#cells) { $others = $i if $cells[$i] =~ /^ (?:claim|its result) $/; }
        splice(@cells, 2) if $figures && /^\|/ && @cells > 2;
        $cells[$others] = ' ' if $others && @cells > $others;
        push @lines, /^\|/ ? join('|', @cells) : $_;
    }
    return join "\n", @lines;
}
for my $page (@pages) {
    open(my $read, '<', $page) or die "$page: $!";
    my $text = do { local $/; <$read> };
    for my $known (@{$allowed{$page} // []}) {
        my $pattern = $known =~ s/ (?![+*?])/\\s+/gr;
        print "$page: '$known' is on the list, and not on the page\n" unless $text =~ s/$pattern/ /gms;
    }
    $text = columns($text);
    $text =~ s/`[^`]*`/CODE/g;
    $text =~ s/\]\([^)]*\)/]/g;
    $text =~ s/$number(?:\s+\[$number,\s+$number\])?\s+\($address\)/ADDRESSED/g;
    $text =~ s/$program\s*\d+(?:\.\d+)+(?:(?:,|\s+and)\s+\d+(?:\.\d+)+)*/VERSION/g;
    while ($text =~ /$figure/g) {
        my ($from, $to) = ($-[0], $+[0]);
        my $around = substr($text, $from > 30 ? $from - 30 : 0, $to - $from + 50);
        print "$page: '", substr($text, $from, $to - $from), "' in: ", join(' ', split(' ', $around)), "\n";
    }
}
END
unaddressed() { perl "$scratch/unaddressed.pl" "$scratch/allowed" "$@"; }

# --- the pages -----------------------------------------------------------------------------------------------------------------

mapfile -t pages < <(git ls-files README.md '*/README.md')
holds there_are_pages "only ${#pages[@]}" [ "${#pages[@]}" -ge 30 ]
for page in "${pages[@]}"; do
    left=$(unaddressed "$page" 2>&1)
    holds "${page}_has_an_address_for_each_figure" "$left" [ -z "$left" ]
done

perl testbed/report/figures.pl --check >"$scratch/said" 2>&1
status=$?
holds figures_are_those_of_the_logs "$(cat "$scratch/said")" [ $status -eq 0 ]
addresses=$(sed -n 's/^figures: \([0-9]*\) addresses.*/\1/p' "$scratch/said")
holds there_are_addresses "only ${addresses:-none}" [ "${addresses:-0}" -ge 300 ]

# --- and would it be noticed? --------------------------------------------------------------------------------------------------

# Each line has one figure without an address, or what is on the list for another page.
cat >"$scratch/unaddressed.md" <<'END'
It is 1.66 times as fast.
It takes 80 ns.
It takes 12 %
of a lap, or twice as long.
So 0.93 [0.87, 0.99] of it, see 0026/P4.
0.93 (0026/P4 steady-decode/full/128KiB D/A)
five times
| claim | observed |
| its 5 % | ours 6 % |
    in a listing: 14.2 GB/s
<!-- figures -->
| times as fast as `mimalloc` | record | churn-touch |
| `locus`, of 3.5 us | 0023 | 1.93 |
<!-- end of figures -->
Version 2.0.9, mimalloc 3.0 and `code 1.5` are none, nor 8 blocks, nor 0.93 [0.87, 0.99] (0026/P4 steady-decode/full/128KiB).
END
found=$(unaddressed "$scratch/unaddressed.md" | grep -c "^$scratch/unaddressed.md: ")
holds unaddressed_figures_are_noticed "$found of 12" [ "$found" -eq 12 ]
sed 's/three minutes/minutes/' README.md >"$scratch/README.md"
holds a_stale_list_is_noticed "it is not" grep -q 'on the list, and not on the page' <(
    cd "$scratch" && perl unaddressed.pl allowed README.md)

# changed NAME SED: a page changed by hand differs from the logs in that one line.
changed() {
    sed "$2" "${3:-experiments/README.md}" >"$scratch/by_hand.md"
    perl testbed/report/figures.pl --check "$scratch/by_hand.md" >"$scratch/said" 2>&1
    status=$?
    holds "$1" "status $status, $(grep -c '^  written' "$scratch/said") lines" \
        [ "$status $(grep -c '^  written' "$scratch/said")" = '1 1' ]
}
changed a_changed_figure_in_a_table_is_noticed 's/ 1\.66 \[1\.63, 1\.70/ 1.67 [1.63, 1.70/'
changed a_changed_end_of_an_interval_is_noticed 's/\[1\.46, 1\.53\]/[1.46, 1.54]/'
changed a_changed_verdict_is_noticed 's/0031 falsified | 1\.49 \[/0031 survived | 1.49 [/'
changed a_changed_figure_in_the_text_is_noticed 's/ 0\.93 \[0\.87, 0\.99\] (0026/ 0.92 [0.87, 0.99] (0026/'
changed a_figure_of_an_exact_count_is_noticed 's/0\.0005/0.0006/' testbed/measure/nodes/README.md

# refused NAME SED WORD: an address that leads nowhere
refused() {
    sed "$2" experiments/README.md >"$scratch/by_hand.md"
    perl testbed/report/figures.pl --check "$scratch/by_hand.md" >"$scratch/said" 2>&1
    status=$?
    holds "$1" "status $status: $(cat "$scratch/said")" [ "$status $(grep -c "$3" "$scratch/said")" = '1 1' ]
}
refused a_record_that_is_not_there_is_noticed 's,(0026/P4,(9926/P4,' 'there is no record 9926'
refused a_contender_that_is_not_there_is_noticed 's/`locus`, full touch, `zen5-vm`/`lotus`, full touch/' 'no arm lotus'
refused an_estimate_without_its_interval_is_noticed 's/ 0\.93 \[0\.87, 0\.99\] (0026/ 0.93 (0026/' 'write its interval'

# And what a person leaves open is filled in.
sed 's/ 1\.66 \[1\.63, 1\.70\] / 0.00 [0.00, 0.00] /; s/0023 inconclusive/0023/' experiments/README.md >"$scratch/by_hand.md"
perl testbed/report/figures.pl "$scratch/by_hand.md" >/dev/null
check a_new_row_is_filled_in cmp experiments/README.md "$scratch/by_hand.md"

# A picture is compared as a whole, drawn anew, and one that leads nowhere is refused.
mkdir "$scratch/experiments" && cp README.md "$scratch/picture.md" && sed 's/ 1\.2</ 1.3</; s/>1\.18 \[/>1.19 [/' \
    experiments/best-malloc.svg >"$scratch/experiments/best-malloc.svg"
perl testbed/report/figures.pl --check "$scratch/picture.md" >"$scratch/said" 2>&1
status=$?
holds a_changed_picture_is_noticed "status $status: $(cat "$scratch/said")" \
    [ "$status $(grep -c 'best-malloc.svg is not what the logs draw' "$scratch/said")" = '1 1' ]
perl testbed/report/figures.pl "$scratch/picture.md" >/dev/null
check and_drawn_anew cmp experiments/best-malloc.svg "$scratch/experiments/best-malloc.svg"
sed -i 's,0093 \*/full,0093 */fool,' "$scratch/picture.md"
perl testbed/report/figures.pl --check "$scratch/picture.md" >"$scratch/said" 2>&1
status=$?
holds a_picture_of_no_cell_is_noticed "status $status: $(cat "$scratch/said")" \
    [ "$status $(grep -c "it has no cell '\*/fool" "$scratch/said")" = '1 1' ]

done_testing
