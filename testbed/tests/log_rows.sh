#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# What version 2 of the log saves, and what reading it costs: the sealed logs of version 1 are written again in both versions, and
# the samples of both must be equal. Sizes as text, and in git, as it would store them. BUILD=path/to/build/variant.
set -u
: "${BUILD:?BUILD must name the folder of the build}"
repository=$(realpath "$(dirname "$0")/../..")
scenario=$(realpath "$BUILD")/testbed/record/tests/log_rows_scenario
. "$(dirname "$0")/cases.bash"

# The largest: of a small log most is header and summary, which are the same in both.
mapfile -t logs < <(grep -l '^{"t":"hdr","v":1,' "$repository"/logs/*/*/*.jsonl | xargs ls -S | head -n "${LOGS:-2}")
mkdir "$scratch/logs"
scenario() { LD_PRELOAD=${scenario%/*}/record_nosync_inject.so LOCUS_JOURNAL=plain "$scenario" "$@"; } # thousands of rounds
check samples_are_equal_in_both_versions eval 'scenario rows "$scratch/logs" "${logs[@]}" >"$out" 2>"$err" &&
    grep -qx "samples [1-9][0-9]*" "$out"'

git init -q "$scratch/git"
# size VERSION: the files' bytes as text and in git
size() {
    local object id
    text=$(cat "$scratch"/logs/*."$1".jsonl | wc -c) stored=0
    while read -r id; do
        object=$(stat -c %s "$scratch/git/.git/objects/${id:0:2}/${id:2}")
        stored=$((stored + object))
    done < <(find "$scratch/logs" -name "*.$1.jsonl" | GIT_DIR=$scratch/git/.git git hash-object -w --stdin-paths)
}
size v1
old_text=$text old_stored=$stored
size v2
echo "# ${#logs[@]} logs: as text $old_text and $text bytes, in git $old_stored and $stored"
holds text_is_a_third_at_most "$old_text and $text bytes" [ $((3 * text)) -lt "$old_text" ]
holds in_git_it_is_half_at_most "$old_stored and $stored bytes" [ $((2 * stored)) -lt "$old_stored" ]

# What a reader waits is told, and no test fails by the clock of a shared machine: so long a limit shows only what grows with the
# square of the samples.
scenario long 10000000 "$scratch/long.jsonl" "$(ls -S "${logs[@]}" | head -n 1)" 2>"$err"
holds ten_megabytes_are_read "$(cat "$err" "$out")" eval '"$scenario" load 60 "$scratch/long.jsonl" >"$out"'
echo "# $(cat "$out")"
done_testing
