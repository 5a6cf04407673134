#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all guest
#
# The installed program and its emulated machine, in a folder that is not a clone, with the checkout out of reach: boot.sh and the
# sample come from share/locus, QEMU from the user's cache, and nothing in the folder is copied. REPO names the checkout.
set -u
cd "${REPO:-$(dirname "$0")/../..}" || exit 2
. testbed/tests/cases.bash
needs_guest "the installed program's guest"

make install DESTDIR="$scratch/root" PREFIX=/usr >"$scratch/make" 2>&1 || { fail install "$(tail -n 1 "$scratch/make")"; exit 1; }
program=$scratch/root/usr/bin/locus elsewhere=$scratch/elsewhere parts=$scratch/cache/locus/guest
mkdir -p "$elsewhere" "$parts"
echo private >"$elsewhere/private"
cat >"$scratch/look.sh" <<'END'
#!/bin/sh
ls -A | sed 's/^/there /'
echo "working in $(pwd), commands: $(locus --help | grep -c '^  ')"
locus topo --json | sed 's/^/topo /'
locus advise --requests 40 -r 1 --quiet | sed 's/^/advise /'
locus postulate list 2>&1 | sed 's/^/list /'
exit 5
END
chmod +x "$scratch/look.sh"

hidden=
for how in 'unshare --mount' 'unshare --user --map-root-user --mount'; do
    if $how sh -c 'mount --bind "$1/build/guest" "$2" && mount -t tmpfs none "$1"' sh "$PWD" "$parts" 2>/dev/null; then
        hidden=$how
        break
    fi
done
if [ -z "$hidden" ]; then
    skip "the checkout is out of reach" "unshare is refused here, so it is only another folder"
    rmdir "$parts" && ln -s "$PWD/build/guest" "$parts"
fi
XDG_CACHE_HOME=$scratch/cache $hidden sh -c 'if [ -n "$1" ]; then
        mount --bind "$2/build/guest" "$3" && mount -t tmpfs none "$2" || exit
    fi
    cd "$4" && shift 4 && exec "$@"' sh "$hidden" "$PWD" "$parts" "$elsewhere" \
    "$program" guest --program "$scratch/look.sh" >"$out" 2>"$err" </dev/null
status=$?

why="exit $status: $(head -n 1 "$err")"
check "the command's status and silence come back" [ "$why" = 'exit 5: ' ]
why="it works in: $(grep '^working' "$out")"
check "the program is there, in a folder of its own" grep -qE '^working in /locus, commands: 2[0-9]$' "$out"
why="there lies: $(grep '^there' "$out" | tr '\n' ' ')"
check "nothing of the folder went along" eval '! grep -q "^there" "$out"'
sed -n 's/^topo //p' "$out" >"$scratch/topo.json"
says "topo has the machine's nodes" '.head.emulated == "n2" and [.nodes[].os_index] == [0, 1]' "$scratch/topo.json"
why="it says: $(grep '^advise' "$out" | head -n 3)"
check "advise counts on the sample that came along" grep -q '^advise .*home-steered' "$out"
check "which it names" grep -q '^advise .*sample.csv' "$out"
why="it says: $(grep '^list' "$out" | head -n 1)"
check "what needs a clone says so there, too" grep -q '^list locus: postulate list: no postulates/ here' "$out"
why="left here: $(ls "$elsewhere")"
check "nothing is left behind" [ "$(ls "$elsewhere")" = private ]

done_testing
