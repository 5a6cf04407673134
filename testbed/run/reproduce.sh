#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# Repeats a run from its log alone: sh testbed/run/reproduce.sh RUN [ROUNDS], at the top of a clone of the project.
#
# RUN is a run's id, its last six digits, or its log. The script builds the commit that the log names in a clone below $TMPDIR,
# and runs the same experiment with the same seed and rounds (or ROUNDS), as a trial. The clone shares this repository's objects
# and writes nothing into it. `locus report compare` then shows both runs and says which predicted figures were reproduced: those
# whose intervals overlap. KEEP=1 keeps the clone with the program and the new log.
#
# Exit status: 0 reproduced; 1 not reproduced, or the run failed; 2 bad input, or not possible here.
set -u
: "${LOCUS:=build/gcc/locus}"

refuse() { echo "reproduce: $*" >&2; exit 2; }
give_up() { echo "reproduce: $*" >&2; exit 1; }
header() { head -n 1 "$log" | jq -r "$1 // empty"; }

[ $# -eq 1 ] || [ $# -eq 2 ] || refuse 'which run? (sh testbed/run/reproduce.sh a1b2c3, or with another number of rounds: a1b2c3 6)'
command -v jq >/dev/null || refuse 'jq is not installed (apt-get install jq)'
log=$("$LOCUS" report compare --json "$1" "$1") || exit 2
log=$(printf '%s\n' "$log" | jq -r '.runs[0].path')
id=$(header .experiment.id) seed=$(header '.design.seed | tostring') rounds=${2:-$(header .design.rounds)}
commit=$(header .env.build.commit) dirty=$(header .env.build.dirty) guest=$(header .emulated) flags=$(header .env.build.flags)

# A log is foreign data: whatever reaches git and make is checked first.
case $commit in '' | *[!0-9a-f]*) refuse "$log: the log names no commit, so what it measured is not known" ;; esac
case $id$seed in *[!0-9]*) refuse "$log: it names no experiment and seed" ;; esac
case $rounds in '' | *[!0-9]*) refuse "'$rounds' is no number of rounds" ;; esac
if [ "$guest" ] && [ "$guest" != "${LOCUS_GUEST-}" ]; then
    refuse "$log: it was made in an emulated guest ($guest). In its commit, built:" \
        "locus guest -m $guest -- run $id --seed $seed --rounds $rounds"
fi
[ "$dirty" = no ] || refuse "$log: it was built with changes that are in no commit, so what it measured is gone"
git rev-parse --git-dir >/dev/null 2>&1 || refuse "this folder is in no git repository: run it in the project's"
git rev-parse --verify --quiet "$commit^{commit}" >/dev/null ||
    refuse "$log: commit $commit is not in this repository. Fetch it (git fetch --all), then try again"

folder=$(mktemp -d "${TMPDIR:-/tmp}/locus-XXXXXX") || exit 1
if [ "${KEEP-}" ]; then echo "kept    $folder"; else trap 'rm -rf "$folder"' EXIT; fi
trap 'exit 1' INT TERM HUP
tree=$folder/tree compiler=gcc
case $flags in clang\ *) compiler=clang ;; esac
echo "again   commit $commit, seed $seed, $rounds rounds"
{ git clone --quiet --shared --no-checkout -- "$(git rev-parse --show-toplevel)" "$tree" &&
    git -C "$tree" checkout --quiet --detach "$commit"; } || give_up "commit $commit could not be checked out into $tree"
make -C "$tree" CC=$compiler >"$folder/make.txt" 2>&1 ||
    give_up "make failed (KEEP=1 keeps its output): $(tail -n 1 "$folder/make.txt")"
(cd "$tree" && "$(echo build/*/locus)" run "$id" --seed "$seed" --rounds "$rounds") >"$folder/run.txt" ||
    give_up "the run failed: $(tail -n 1 "$folder/run.txt")"
again=$tree/$(sed -n 's/^log //p' "$folder/run.txt")
"$LOCUS" report compare "$log" "$again" && "$LOCUS" report compare --json "$log" "$again" | jq -e .reproduced >/dev/null
