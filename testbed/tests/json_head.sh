#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Every JSON of the program begins with the same head (testbed/host/head.h), and the table in testbed/report/README.md names each
# schema. The commands' help says which of them have --json, so that a new one is noticed. LOCUS names the program.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1 # where the record is

"$LOCUS" run 0002 --smoke -q --host here --logs "$scratch/logs" >"$out" 2>"$err"
log=$(sed -n 's/^log //p' "$out")
[ -n "$log" ] || { fail a-run-for-what-follows "$(head -n 1 "$err")"; exit 1; }
"$LOCUS" verify --logs "$scratch/logs" 2>"$err" | tail -n 1 >"$scratch/checkpoint"
few='-c locus,null -r 1 -d inline --laps 1 -q'
begun=$(date +%s)
# shellcheck disable=SC2086 # separate flags
LOCUS_HOST=some-host "$LOCUS" eval -W cycle-256 $few --log "$scratch/eval.jsonl" >"$out" 2>"$err"

# By command: the schemas that it writes and how; and a key that each had before there were heads.
said='topo topo nodes topo --json
topo topo nodes topo --json --topology topo/tests/fixtures/two_sockets.xml
matrix matrix cells matrix --plan --json
doctor doctor findings doctor --json
counters counters counters counters --json
eval eval cells eval -W cycle-256 '$few' --json
replay replay cells replay testbed/tests/fixtures/small.csv '$few' --json
pool pool table pool --pages 8 --json
bench bench cells bench -c locus -r 1 -q --json
serve serve cells serve sample --strategies paged -q --json
engine engine arms engine -c stock-plain -r 1 --steps 2 -q --json
advise advise machine advise --workload churn-touch --json
advise advise regions advise --pid '$$' --json
list list experiments postulate list --json
verify verify findings verify --logs '$scratch/logs' --json
record rejudge predictions record rejudge 4cfbfd --json
record run predictions record show '$log' --json
witness witness findings witness check '$scratch/checkpoint' --logs '$scratch/logs' --json
scoreboard scoreboard tables report standings --host milan-vm --json
compare compare postulates report compare --json 0005
report figure figures report figure --json 0013/P3
report eval cells report --json '$scratch/eval.jsonl'
compare compare-runs cells report compare --json '$log' '$log

# A head is whole, and says what the machine's own files and tools say.
commit=$(git rev-parse HEAD 2>/dev/null) kernel=$(uname -r)
cat >"$scratch/head.jq" <<'END'
keys_unsorted[0] == "head" and has($key) and (.head |
    keys_unsorted == ["schema", "locus", "commit", "host", "cpu", "kernel", "emulated", "time", "doctor"] and
    .schema == "locus-" + $what + "/1" and "locus " + .locus == $version and .host == "some-host" and .kernel == $kernel and
    (.commit | test("^([0-9a-f]{40}(-dirty)?|unknown)$")) and .emulated == null and
    (.time | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}Z$") and (fromdate >= $before and fromdate <= now)) and
    (.cpu | . == null or length > 0) and
    (.doctor | keys_unsorted == ["fit", "unfit", "unknown"] and (.fit | type) == "boolean" and
        (.fit == (.unfit + .unknown == [])) and all(.unfit + .unknown | .[]; $findings[0][.])))
END
"$LOCUS" doctor --json | jq '[.findings[] | select(.decides) | {(.id): true}] | add' >"$scratch/findings.json"
headed() { # what, key, command...
    local what=$1 key=$2 before
    shift 2
    before=$(date +%s)
    [ "$1" != report ] || before=$begun # of the measurement that it shows
    LOCUS_HOST=some-host "$LOCUS" "$@" >"$out" 2>"$err" </dev/null
    why="exit $?: $(head -n 1 "$err")"
    [ "${why%%:*}" = 'exit 0' ] || return
    why="its head is $(jq -c .head "$out" 2>&1 | cut -c 1-300)"
    jq -e --arg what "$what" --arg key "$key" --arg version "$("$LOCUS" --version)" --arg kernel "$(uname -r)" \
        --argjson before "$before" --slurpfile findings "$scratch/findings.json" -f "$scratch/head.jq" "$out"
}
while read -r command what key words; do
    read -r -a arguments <<<"$words"
    if [ "$command" = engine ] && [ ! -x "${LOCUS%/*}/locus-llama" ]; then
        skip 'head-of-engine' 'make engine'
        continue
    fi
    name=$(sed "s|$scratch/||; s|logs/[^ ]*jsonl|RUN|g; s/ $few//; s/ $$ / N /" <<<"$words")
    check "head-of-$(tr ' ' - <<<"$name")" headed "$what" "$key" "${arguments[@]}"
    holds "schema-of-$what-is-in-README" "testbed/report/README.md lacks it" grep -q "^| \`locus-$what/1\`" testbed/report/README.md
done <<<"$said"
for command in $("$LOCUS" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    "$LOCUS" "$command" --help | grep -qE '^ +(-., *)?--json' || continue
    holds "every-json-of-$command-is-tested" "$command offers --json, and no case here asks for it" grep -q "^$command " <<<"$said"
done

# What is written into a file is the same, and the head is of the time before the measurement.
check head-in-a-file eval "locus 0 eval -W cycle-256 $few --json='$scratch/eval.json' &&
    [ \"\$(jq -r .head.schema '$scratch/eval.json')\" = locus-eval/1 ]"
unnamed() {
    LOCUS_HOST=... "$LOCUS" topo --json >"$out" 2>"$err"
    why="exit $?, host: $(jq -c .head.host "$out")"
    jq -e '.head.host == null' "$out"
}
check a-host-without-a-usable-name-has-none unnamed
emulated() { LOCUS_GUEST=n2 "$LOCUS" topo --json >"$out" 2>"$err"; jq -e '.head.emulated == "n2"' "$out"; }
check an-emulated-machine-is-called-so emulated
check a-build-names-its-commit eval "[ -z '$commit' ] || [ \"\$(jq -r .head.commit '$out' | cut -c 1-40)\" = '$commit' ]"

done_testing
