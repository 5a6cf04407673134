#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The manual pages (placement/include/manual.pl, testbed/cli/manual.pl): every public function and every command has one, with the
# sections that a reader looks for; man(1) and mandoc(1) find nothing wrong with them; and their examples, which are those of
# placement/examples, build and run. BUILD names the build's folder.
set -u
cd "${REPO:-$(dirname "$0")/../..}" || exit 2
. testbed/tests/cases.bash
build=${BUILD:-build/gcc}
pages=$scratch/man
public=$(make -s public) || { fail the-public-headers "make public says nothing"; done_testing; exit; }

made() {
    why= && perl placement/include/manual.pl "$pages" $public && perl testbed/cli/manual.pl "$pages" "${LOCUS:-$build/locus}"
}
check the-pages-are-made made
files=$(find "$pages" -type f)

complete() { # but for a function whose header's namesake has a page of its own
    local name file
    while read -r name; do
        file=$pages/man3/$name.3 why="no page of $name" && [ -s "$file" ] || return
        [ -L "$file" ] || [ -e "placement/include/locus/${name#locus_}.h" ] || [ -e "topo/${name#locus_}.h" ] || return
        why="$name is not in its page" && { [ ! -L "$file" ] || grep -q "^\.B .*\b$name(" "$file"; } || return
    done < <(nm -D --defined-only "$build/liblocus.so" | awk '$2 == "T" || $2 == "W" { sub("@.*", "", $3); print $3 }')
}
check each-function-has-a-page complete
compiler="${CC:-gcc} -std=c11 -Wall -Wextra -Werror -Iplacement/include -iquote topo -Itopo"
declared() { # a second declaration must be the same
    local program=$scratch/prototypes.c
    echo '#include <locus/locus.h>' >"$program"
    sed -n '/^\.SH SYNOPSIS/,/^\.fi/s/^\.B "\(.*\)"/\1/p' "$pages"/man3/*.3 | sed 's/\\-/-/g' >>"$program"
    why="$(wc -l <"$program") lines" && [ "${why% *}" -gt 300 ] && why= && $compiler -fsyntax-only "$program"
}
check its-prototypes-are-the-headers declared
sections() {
    local page section
    for page in owner table route pool region domain; do
        for section in NAME LIBRARY SYNOPSIS DESCRIPTION FUNCTIONS ERRORS 'SEE ALSO'; do
            why="no $section in $page" && grep -qx "\.SH $section" "$pages/man3/locus_$page.3" || return
        done
    done
    for page in owner table pool region domain; do
        why="no example or no threads in $page" && grep -qx '\.SH EXAMPLE' "$pages/man3/locus_$page.3" &&
            grep -qx '\.SH THREADS' "$pages/man3/locus_$page.3" || return
    done
}
check the-central-pages-have-their-sections sections
whole() { # each member of each struct of the pages' headers, and each constant
    local name
    for name in granted.policy_errno 'verified.on\[LOCUS_PLACEMENT_NODES_MAX\].weight' verified.numa_maps_agrees; do
        why="no $name" && grep -q "^\.B .*$name" "$pages/man3/locus_region.3" || return
    done
    why='no LOCUS_FREE_MISROUTED' && grep -q LOCUS_FREE_MISROUTED "$pages/man3/locus_pool.3"
}
check members-of-nested-structs-have-whole-names whole

if command -v groff >/dev/null && command -v man >/dev/null; then
    clean() {
        local page
        for page in $files; do
            why="$page: $(LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null | head -n 1)"
            [ "$why" = "$page: " ] || return
        done
    }
    check man-warns-of-nothing clean
    narrow_enough() { # of the central pages and the first ones
        local page
        for page in man3/locus_{owner,table,pool,domain,region,route}.3 man7/liblocus.7 man1/locus.1 man1/locus-topo.1; do
            LC_ALL=C.UTF-8 MANWIDTH=80 man -l "$pages/$page" 2>/dev/null | col -bx >"$out"
            why="$page is wider than 80 columns" && [ -s "$out" ] && narrow "$out" || return
        done
    }
    check the-first-pages-fit-into-80-columns narrow_enough
else
    skip man-warns-of-nothing 'there is no groff or no man'
fi
if command -v mandoc >/dev/null; then
    linted() { # the pages have no date, as what they say is as of their version
        why=$(mandoc -T lint -W warning $files | grep -v 'missing date' | head -n 2)
        [ -z "$why" ]
    }
    check mandoc-warns-of-nothing linted
else
    skip mandoc-warns-of-nothing 'there is no mandoc'
fi

squeezed() { tr -d ' \n' | sed 's/#include/\n&/; s/.*#include<locus/#include<locus/'; }
readme_same() { why= && diff <(sed -n '/^    #include <locus\/locus.h>$/,/^    }$/p' README.md | squeezed) \
    <(grep -v SPDX placement/examples/first.c | squeezed); }
check the-first-program-of-the-README-is-first.c readme_same
shown() { # the program in a page, as a reader copies it
    sed -n '/^\.SH EXAMPLE/,/^\.SH/p' "$1" | sed -n '/^\.nf/,/^\.fi/{/^\.[a-z]/!p}' | sed 's/^\\&//; s/\\-/-/g; s/\\e/\\/g'
}
copied() { # each as it stands in its file, no line broken
    local page name source
    for page in "$pages"/man7/liblocus.7 "$pages"/man3/locus_{owner,table,pool,domain,region}.3; do
        name=${page##*/} source=${name#locus_} source=${source%.3} source=placement/examples/${source/liblocus.7/first}.c
        shown "$page" >"$scratch/$name.c" && why="$name is not $source" &&
            sed '1,/^#include/{/^#include/!d}' "$source" | cmp - "$scratch/$name.c" && why="$name: it does not build" &&
            $compiler "$scratch/$name.c" -o "$scratch/$name" -L"$build" -llocus && why="$name: it fails" &&
            LD_LIBRARY_PATH=$build "$scratch/$name" >"$out" || return
        [[ $name != liblocus.7 ]] || { why="$name: $(<"$out")" && [ "$(<"$out")" = '8 blocks came home' ]; } || return
    done
}
check the-examples-of-the-pages-build-and-run copied

commands() { # locus(1) names each page, and each has a description and an example
    local page name
    for page in "$pages"/man1/locus-*.1; do
        name=${page##*/} name=${name%.1}
        for what in '^\.SH SYNOPSIS' '^\.SH DESCRIPTION' '^\.SH OPTIONS' '^\.SH EXAMPLES' '^\.SH "\?EXIT STATUS'; do
            why="$name: no $what" && grep -q "$what" "$page" || return
        done
        why="$name is not in locus(1)" && grep -qx "\.BR ${name//-/\\\\-} (1)" "$pages/man1/locus.1" || return
    done
}
check each-command-has-a-whole-page commands

done_testing
