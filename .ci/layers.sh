#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# layers.sh BUILD PUBLIC-HEADER...: topo <- placement <- testbed <- experiments, includes only downwards.
#
# The compiler has already written the include graph down, in the .d files beside the objects of BUILD; this only reads it. Public
# headers are installed flat into one folder, so besides they may include only each other, by bare name.
set -eu
build=$1
shift
status=0

upwards() { # $1: a layer, the rest: the layers above it
    layer=$1
    shift
    for upper; do
        [ ! -d "$build/$layer" ] || find "$build/$layer" -name '*.d' -exec cat {} + |
            awk -v upper="$upper" '/:/ { object = $1 } { for (i = 1; i <= NF; i++)
                if ($i ~ "(^|/)" upper "/[^ ]*[.]h$") print object, "includes", $i }' | sort -u
    done
}

for rule in 'topo placement testbed experiments' 'placement testbed experiments' 'testbed experiments'; do
    bad=$(upwards $rule)
    [ -z "$bad" ] || { echo "layers: an include goes upwards from ${rule%% *}/"; echo "$bad" | sed 's/^/    /'; status=1; }
done

names=$(for header; do basename "$header"; done)
for header; do
    for included in $(sed -n 's/^ *# *include *"\(.*\)".*/\1/p' "$header"); do
        case $included in
        */*) echo "layers: $header includes \"$included\"; installed headers lie flat, so a bare name is needed"; status=1 ;;
        *) echo "$names" | grep -qxF "$included" ||
            { echo "layers: $header includes \"$included\", which is not a public header"; status=1; } ;;
        esac
    done
done
exit $status
