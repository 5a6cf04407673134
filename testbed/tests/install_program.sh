#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The installed program: in an empty root, called in a folder that is not a clone, with the checkout out of reach
# (install_guest.sh has the emulated machine). REPO names the checkout.
set -u
cd "${REPO:-$(dirname "$0")/../..}" || exit 2
. testbed/tests/cases.bash
make install DESTDIR="$scratch/root" PREFIX=/usr >"$scratch/make" 2>&1 || { fail install "$(tail -n 1 "$scratch/make")"; exit 1; }
installed=$scratch/root/usr/bin/locus share=$scratch/root/usr/share/locus elsewhere=$scratch/elsewhere hidden=
mkdir "$elsewhere"
for how in 'unshare --mount' 'unshare --user --map-root-user --mount'; do
    if $how sh -c 'mount -t tmpfs none "$1"' sh "$PWD" 2>/dev/null; then
        hidden=$how
        break
    fi
done
[ -n "$hidden" ] || skip "the checkout is out of reach" "unshare is refused here, so it is only another folder"

# away STATUS COMMAND...: in a folder that is nobody's, where the checkout is an empty one.
away() {
    local wanted=$1 status
    shift
    $hidden sh -c '[ -z "$1" ] || mount -t tmpfs none "$1" || exit; cd "$2" && shift 2 && exec "$@"' sh "${hidden:+$PWD}" \
        "$elsewhere" "$@" >"$out" 2>"$err" </dev/null
    status=$?
    why="exit $status, not $wanted: $(head -n 1 "$err")"
    [ $status -eq "$wanted" ]
}

share_files() { # all of the guest's scripts and of the examples, the sample, the template
    local file
    for file in workload/sample.csv postulate/TEMPLATE.md pool/alerts.yml pool/dashboard.json LICENSE \
        $(cd testbed && find guest -type f) $(cd placement && find examples -type f); do
        why="$file is missing"
        [ -s "$share/$file" ] || return
    done
}
check share/locus-has-all-that-it-should share_files

beside_bin() { # nobody's command
    why="in bin: $(ls "$scratch/root/usr/bin")" && [ -x "$scratch/root/usr/libexec/locus/locus-lap" ] &&
        [ "$(ls "$scratch/root/usr/bin")" = locus ]
}
check what-is-measured-lies-in-libexec beside_bin

# --- what the parsers' tables become -------------------------------------------------------------------------------------------

manual() { # each command has a page, which is in the first one, and options that only its own table has
    local pages=$scratch/root/usr/share/man/man1 command
    while read -r command; do
        why="no page of $command" && [ -s "$pages/locus-$command.1" ] && why="no $command in locus(1)" &&
            grep -qx "\.BR locus.-${command//-/.-} (1)" "$pages/locus.1" || return
    done < <("$LOCUS" --help | sed -nE 's/^  ([a-z]+( [a-z]+)?)  .*/\1/p' | tr ' ' -)
    why='an option is missing' && grep -q 'hwloc\\-xml=FILE' "$pages/locus-matrix.1" && grep -q 'speedup=X' "$pages/locus-replay.1"
}
check the-manual-has-every-command manual

completes() { # expected, words of the line so far...
    why=$(bash -c '. "$1" && shift 2 && COMP_WORDS=(locus "$@") COMP_CWORD=$# && _locus && echo "${COMPREPLY[*]}"' bash \
        "$scratch/root/usr/share/bash-completion/completions/locus" "$@")
    [ "$why" = "$1" ]
}
check bash-completes-a-command completes matrix mat
check bash-completes-a-second-word completes compare report com
check bash-completes-an-option-after-two-words completes --cell report standings --ce
check bash-completes-an-option completes --speedup replay --spe
check bash-completes-no-file-as-an-option completes '' eval trace

# --- beyond what walk.sh tries ----------------------------------------------------------------------------------------------------

answers() { # pattern of a line, argument...
    away 0 "$installed" "${@:2}" && why="no line matches $1: $(head -n 2 "$out")" && grep -qE "$1" "$out"
}
check replay-of-the-sample answers 'sample.csv .*400 requests' replay sample -c locus,null -r 1 -d inline --laps 1 -q

without_an_emulator() { # the command that fetches it is whole: its script is there
    XDG_CACHE_HOME=$scratch/none away 77 "$installed" guest topo || return
    why="it says: $(cat "$err")"
    [ "$(sed -n "s/.*run 'sh \([^ ]*\) .*/\1/p" "$err")" = "$share/guest/fetch.sh" ] && [ -r "$share/guest/fetch.sh" ]
}
check guest-names-the-script-that-fetches-the-emulator without_an_emulator

moved() { # it finds the sample by where it is itself
    mv "$scratch/root/usr" "$scratch/moved" && away 0 "$scratch/moved/bin/locus" advise --requests 40 -r 1 -q
    local status=$?
    mv "$scratch/moved" "$scratch/root/usr"
    return $status
}
check it-can-be-moved moved

why="left there: $(ls "$elsewhere")"
check nothing-is-left-where-it-is-called [ -z "$(ls -A "$elsewhere")" ]

uninstalled() {
    make uninstall DESTDIR="$scratch/root" PREFIX=/usr >"$scratch/make" 2>&1
    why="left: $(find "$scratch/root" ! -type d)"
    [ "$why" = 'left: ' ] && [ ! -e "$scratch/root/usr/libexec/locus" ]
}
check make-uninstall-leaves-nothing uninstalled

done_testing
