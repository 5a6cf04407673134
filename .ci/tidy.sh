#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# tidy.sh PUBLIC-HEADER...: checks the limits that keep the code readable, so that reviewers need not.
#
#   functions <= 70 lines (from the line of the name to the closing brace), tests too     .c files <= 700 lines
#   public headers <= 250 lines                                                           lines <= 132 columns
#   a folder has at most 20 source files, except for lists: public headers, contenders, strategies, commands, tests; testbed
#   has at most 25 entries
#   no trailing blanks, no tabs except in Makefiles, a final newline, SPDX in the first two lines
#   an opening comment that begins with a file's name begins with its own
#   the top level has the parts of the design and nothing else
set -eu
export LC_ALL=C.UTF-8
status=0

complain() {
    found=$(cat)
    [ -z "$found" ] || { printf '%s\n' "$found" | sed 's/^/tidy: /'; status=1; }
}
check() { # runs "$@" and complains about each line it prints; in this shell, to keep the status
    complain <<END
$("$@")
END
}

sources=$(find topo placement testbed -name '*.[ch]' | sort)
scripts=$(find topo placement testbed -name '*.*sh' | sort; find .ci -type f | sort; echo Makefile)

long_functions() {
    ctags --fields=+ne --c-kinds=f --languages=C -f - $sources 2>/dev/null |
        awk -F '\t' '{ line = end = 0
            for (i = 4; i <= NF; i++) { if ($i ~ /^line:/) line = substr($i, 6); if ($i ~ /^end:/) end = substr($i, 5) }
            if (end - line + 1 > 70) printf "%s:%d: function %s has %d lines, limit 70\n", $2, line, $1, end - line + 1 }'
}

long_files() { # limit, what, files
    limit=$1 what=$2
    shift 2
    for file; do
        lines=$(wc -l <"$file")
        [ "$lines" -le "$limit" ] || echo "$file: $lines lines, limit for a $what is $limit"
    done
}

large_folders() {
    lists='placement/include/locus|testbed/(contenders|strategies|cli)|.*/tests'
    echo "$sources" | sed 's,/[^/]*$,,' | grep -vE "^($lists)$" | sort | uniq -c |
        awk '$1 > 20 { print $2 ": " $1 " source files, limit 20" }'
    ls testbed | awk 'END { if (NR > 25) print "testbed: " NR " entries, limit 25" }'
}

lines() {
    # grep counts characters, mawk counts bytes
    grep -HnoE '^.{133,}' $sources $scripts | sed -E 's/^([^:]*:[0-9]+):.*/\1: more than 132 columns/'
    awk '/[ \t]$/ { printf "%s:%d: blank at the end of the line\n", FILENAME, FNR }
         /\t/ && FILENAME !~ /Makefile$/ { printf "%s:%d: tab\n", FILENAME, FNR }' $sources $scripts
    for file in $sources $scripts; do
        [ -z "$(tail -c 1 "$file")" ] || echo "$file: no newline at the end"
        head -n 2 "$file" | grep -q 'SPDX-License-Identifier: Apache-2.0' || echo "$file:1: no SPDX line"
    done
}

openings() { # "words: what it is for" may open words.c and words_more.c, but no other file
    awk 'FNR == 3 && match($0, /^\/\/ [a-z_0-9]+: /) { name = FILENAME; sub(/.*\//, "", name); word = substr($0, 4, RLENGTH - 5)
        if (index(name, word) != 1) printf "%s:3: the opening comment names another file, %s\n", FILENAME, word }' $sources
}

top_level() {
    for name in topo placement testbed experiments postulates logs ansible Makefile README.md LICENSE; do
        [ -e "$name" ] || echo "$name: missing at the top level"
    done
    for name in *; do
        case $name in
        topo | placement | testbed | experiments | postulates | logs | ansible | Makefile | README.md | LICENSE | build) ;;
        *) echo "$name: does not belong at the top level" ;;
        esac
    done
}

command -v ctags >/dev/null || { echo "tidy: ctags is missing (make deps-test)"; exit 1; }
check long_functions
check long_files 700 '.c file' $(echo "$sources" | grep '\.c$')
check long_files 250 'public header' "$@"
check large_folders
check lines
check openings
check top_level
exit $status
