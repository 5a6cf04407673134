#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# layers.sh "ROOM..." PUBLIC-HEADER...: checks that no room includes a header of a room that it may not use.
#
# The rooms are listed from the bottom up. The line "Uses:" in a room's README.md names the rooms that it uses, which must be
# below it, so there is no circle. The public headers of placement/ are in one folder, placement/include/locus; every room above
# topo/ includes them as "locus/NAME.h", and no room above placement/ includes another header of it. Of topo/ others see only
# its public headers. All public headers are installed in one folder, so they may include only each other, by bare name. A room's
# tests may also include test headers of the rooms below.
set -eu
rooms=$1
shift
public=$*
status=0
complain() { echo "layers: $*"; status=1; }

uses() { sed -n 's/^Uses: *//p' "$1/README.md"; }

below=
for room in $rooms; do
    [ -f "$room/README.md" ] && grep -q '^Uses:' "$room/README.md" ||
        { complain "$room/README.md has no line \"Uses:\""; continue; }
    for used in $(uses "$room"); do
        case " $below " in
        *" $used "*) ;;
        *) complain "$room/README.md: $room cannot use $used, which is not below it (ROOMS in the Makefile)" ;;
        esac
    done
    below="$below $room"
done

includes=$(for room in $rooms placement/include; do
    find "$room" -name '*.[ch]' -exec grep -Hn '^ *# *include *"' {} + |
        sed -n "s|^\([^:]*\):\([0-9]*\): *# *include *\"\([^\"]*\)\".*|$room \1 \2 \3|p"
done)

# A bare name is a neighbour's; in a public header, a public one's.
found=$(echo "$includes" | awk -v rooms="$rooms" -v public="$public" -v uses="$(for room in $rooms; do
    for used in $(uses "$room"); do echo "$room>$used"; done
done)" '
    function room_of(path,   i, best) {
        for (i = 1; i <= rooms_count; i++)
            if (index(path, room[i] "/") == 1 && length(room[i]) > length(best)) best = room[i]
        return best
    }
    BEGIN {
        rooms_count = split(rooms, room, " ")
        for (i = 1; i <= rooms_count; i++) height[room[i]] = i
        for (i = split(public, header, " "); i > 0; i--) {
            is_public[header[i]] = 1
            name = header[i]; sub(".*/", "", name); flat[name] = header[i]
            sub("^placement/include/", "", header[i]); is_public[header[i]] = 1
        }
        for (i = split(uses, edge, "\n"); i > 0; i--) allowed[edge[i]] = 1
    }
    {
        path = $4; folder = $2; sub("/[^/]*$", "", folder)
        at = $2 ":" $3 ": "
        if ($2 in is_public) {
            if ($4 ~ "/" || !($4 in flat))
                print at "a public header includes only public ones, by bare name, because they are installed flat"
            next
        }
        if (path ~ "^locus/") {
            if (!(path in is_public)) print at "there is no public header \"" path "\""
            else if ($1 == "topo") print at "topo does not use placement, so it may not include \"" path "\""
            next
        }
        if (path !~ "/") path = folder "/" path
        to = room_of(path)
        in_tests = $2 ~ "/tests/"; of_tests = path ~ "/tests/"; library = $1 ~ "^(topo|placement)(/|$)"
        if (to == "") print at "\"" $4 "\" is in no room"
        else if (to != $1 && !(($1 ">" to) in allowed) && !(in_tests && of_tests && height[to] < height[$1]))
            print at $1 " does not use " to ", so it may not include \"" $4 "\" (" $1 "/README.md)"
        else if (of_tests && !in_tests) print at "\"" $4 "\" is a header of tests"
        else if (to ~ "^(topo|placement)(/|$)" && !library && !of_tests && !(path in is_public))
            print at "\"" $4 "\" is private to " to
    }')
[ -z "$found" ] || { echo "$found" | sed 's/^/layers: /'; status=1; }
exit $status
