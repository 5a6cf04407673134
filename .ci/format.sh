#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# format.sh [--check] FILE...: clang-format, but trailing comments keep their columns.
#
# clang-format 14 aligns trailing comments only its own way, which moves every comment of a struct when its longest member
# changes. So lines are compared with the blanks before such comments squeezed: if only these differ, the old line is kept.
set -euo pipefail
check=
[ "$1" != --check ] || { check=yes; shift; }
new=$(mktemp) merged=$(mktemp)
trap 'rm -f "$new" "$merged"' EXIT
squeeze() { sed -E 's|([^ ]) +// |\1 // |' "$1"; }

status=0
for file; do
    clang-format "$file" >"$new"
    # "0 N" keeps line N of the old file, "1 N" takes line N of the new one
    diff --unchanged-line-format='0 %dn
' --old-line-format='' --new-line-format='1 %dn
' <(squeeze "$file") <(squeeze "$new") | awk -v old="$file" -v new="$new" '
        BEGIN { while ((getline line <old) > 0) from[0, ++a] = line; while ((getline line <new) > 0) from[1, ++b] = line }
        { print from[$1, $2] }' >"$merged" || true
    cmp -s "$file" "$merged" && continue
    if [ -n "$check" ]; then
        diff -u "$file" "$merged" || true
        status=1
    else
        cat "$merged" >"$file"
        echo "formatted $file"
    fi
done
exit $status
