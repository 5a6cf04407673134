#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# Where results go, beyond what walk.sh tries of every command: a full or closed standard output of answers that an option of its
# own asks for, several outputs, of which one cannot be written, and what is replaced as a whole. LOCUS names the program.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1 # where the record is

few=(-c locus,null -r 1 -d inline --laps 1 -q)
# --- standard output -----------------------------------------------------------------------------------------------------------

once() { # to where, word of the reason, command...
    local to=$1 word=$2 got
    shift 2
    if [ "$to" = closed ]; then
        "$LOCUS" "$@" >&- 2>"$err" </dev/null
    else
        "$LOCUS" "$@" >"$to" 2>"$err" </dev/null
    fi
    got=$?
    why="exit $got, stderr: $(tr '\n' ';' <"$err" | cut -c 1-300)"
    [ $got -eq 1 ] && [ "$(wc -l <"$err")" -eq 1 ] && grep -q "^locus: standard output: .*$word" "$err"
}
for words in --help --version 'doctor --all' 'doctor --change' 'doctor --restore' 'matrix --plan' 'advise --workload churn-touch' \
    'record show --samples 4cfbfd'; do
    read -r -a arguments <<<"$words"
    if [ -c /dev/full ]; then # a regular file of that name would only fill up
        check "full-${words// /-}" once /dev/full '\(No space left\|disk full\)' "${arguments[@]}"
    else
        skip "full-${words// /-}" "needs the device /dev/full"
    fi
    check "closed-${words// /-}" once closed '\(Bad file descriptor\|disk full\)' "${arguments[@]}"
done

# --- files ---------------------------------------------------------------------------------------------------------------------

# refused_first NAME WORD FILE COMMAND...: one line names the file; nothing is printed and no other file is written, so nothing
# was measured. COMMAND has an output called $other. $path, if set, is its PATH.
other=$scratch/other
refused_first() {
    local name=$1 word=$2 file=$3 got
    shift 3
    rm -f "$other"
    PATH=${path:-$PATH} "$LOCUS" "$@" >"$out" 2>"$err" </dev/null
    got=$?
    if [ $got -ne 1 ] || [ "$(wc -l <"$err")" -ne 1 ] || ! grep -q "^locus: $file: $word" "$err"; then
        fail "$name" "exit $got, stderr: $(head -n 2 "$err")"
    elif [ -s "$out" ] || [ -e "$other" ]; then
        fail "$name" "refused only when all was done"
    else
        pass "$name"
    fi
}
nowhere=/nonexistent/x
for option in --csv --plot --summary; do
    refused_first "eval$option-in-no-folder" 'there is no such folder' $nowhere \
        eval -W cycle-256 "${few[@]}" "--json=$other" "$option=$nowhere"
done
for command in "eval -W cycle-256 ${few[*]}" "replay testbed/tests/fixtures/small.csv ${few[*]}" 'bench -c locus -r 1 -q' \
    'matrix -k push -r 1 -q' 'report standings --host milan-vm'; do
    read -r -a words <<<"$command"
    refused_first "${words[0]}--json-in-no-folder" 'there is no such folder' $nowhere "${words[@]}" --json=$nowhere "--csv=$other"
    refused_first "${words[0]}--csv-that-is-a-folder" 'Is a directory' "$scratch" "${words[@]}" "--json=$other" "--csv=$scratch"
    refused_first "${words[0]}-two-outputs-in-one-file" 'two outputs' "$other" "${words[@]}" "--json=$other" "--csv=$other"
done
for option in --plot --hwloc-xml; do
    refused_first "matrix$option-in-no-folder" 'there is no such folder' $nowhere matrix -k push -r 1 -q "--json=$other" \
        $option $nowhere
done
for option in --plot --markdown; do
    refused_first "scoreboard$option-in-no-folder" 'there is no such folder' $nowhere report standings --host milan-vm \
        "--json=$other" $option=$nowhere
done
touch "$scratch/kept.jsonl"
refused_first eval--log-that-is-there "there is such a file already" "$scratch/kept.jsonl" \
    eval -W cycle-256 "${few[@]}" "--json=$other" --log "$scratch/kept.jsonl"
if [ "$(id -u)" -ne 0 ]; then
    mkdir -m 555 "$scratch/shut"
    refused_first eval--json-in-a-folder-that-is-shut 'Permission denied' "$scratch/shut/x" eval -W cycle-256 "${few[@]}" \
        --json="$scratch/shut/x" --csv="$other"
else
    skip eval--json-in-a-folder-that-is-shut "root may write everywhere"
fi

# An existing file is replaced only by a complete result.
kept() {
    echo before >"$scratch/kept.json"
    (ulimit -f 1 && exec "$LOCUS" report standings --json="$scratch/kept.json") >"$out" 2>"$err" </dev/null
    why="exit $?, and the file begins with $(head -c 20 "$scratch/kept.json")"
    [ "$(cat "$scratch/kept.json")" = before ]
}
check a-file-is-replaced-as-a-whole kept

# --- what is replaced, and what is not -----------------------------------------------------------------------------------------

# A shell redirection keeps its file, so what is printed after the CSV is also in it.
"$LOCUS" eval -W cycle-256 "${few[@]}" --csv=/dev/stdout >"$scratch/both" 2>"$err"
holds a-file-that-is-printed-to-keeps-both "$(head -c 200 "$scratch/both")" \
    eval "grep -q '^workload,\|,round,' '$scratch/both' && grep -q 'Full touch:' '$scratch/both'"
: >"$scratch/mine.json" && chmod 600 "$scratch/mine.json"
"$LOCUS" eval -W cycle-256 "${few[@]}" --json="$scratch/mine.json" >"$out" 2>"$err"
holds a-replaced-file-keeps-its-rights "$(stat -c %a "$scratch/mine.json")" \
    eval "[ -s '$scratch/mine.json' ] && [ \$(stat -c %a '$scratch/mine.json') = 600 ]"

done_testing
