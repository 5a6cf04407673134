#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# The record of runs on many nodes and on emulated guests, as far as one node and a pretended guest can show it: the plan, needs
# that a host does not meet, the log's contents, and that every command says "emulated" where times could be believed. LOCUS names
# the program, BUILD its folder, REPO the project.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
REPO=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
LOCUS=$(realpath "$LOCUS")
scenario=$(realpath "$BUILD/testbed/cli/tests/record_nodes_scenario")
. "$(dirname "$0")/cases.bash"
export LOCUS_HOST=test-host LOCUS_TRACES=$scratch/traces GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
export LOCUS_LAP=${LOCUS%/*}/locus-lap # for the scenario, which lies elsewhere
unset LOCUS_GUEST

mkdir -p "$scratch/tree/postulates" "$scratch/tree/testbed/workload" "$scratch/traces" && cd "$scratch/tree" || exit 1
cp "$REPO"/postulates/000[23]-*.md postulates/ && cp "$REPO/testbed/workload/sample.csv" testbed/workload/ || exit 1

# --- plans ---------------------------------------------------------------------------------------------------------------------

plan() { # name, pattern, arguments of the scenario
    local name=$1 pattern=$2
    shift 2
    prints "$name" 0 "$pattern" "$scenario" "$@"
}
header() { sed -n 's/^met //p' "$scratch/out" | jq -e "$1"; }
plan many_nodes_plan '^met ' many home-steered sample/line 'cpu_nodes >= 1'
holds header_has_the_design "$(header .design)" header '.design.many_nodes and .emulated == null and .arms[0].cross_percent == 0'
sha256=$(sha256sum <testbed/workload/sample.csv | cut -d ' ' -f 1)
holds header_has_the_trace "$(header .cells)" header \
    '.cells | length == 2 and all(.[]; .workload == "sample" and .trace_sha256 == "'"$sha256"'" and .touch == "line")'
holds counted_laps_and_one_to_warm_up "$(header .cells)" header \
    '.cells[0] | .laps_counted == 5 and .laps == 8 and .laps_warmup == 1 and .pool_blocks == 8192'
plan smoke_plan '^met ' many home-steered sample/line 'cpu_nodes >= 1' smoke
holds smoke_counts_one_lap "$(header .cells)" header '.cells[0] | .laps_counted == 1 and .laps == 2'
plan one_node_plan '^met ' one locus sample/full 'cpus >= 1'
holds one_node_counts_no_lap "$(header .cells)" header '(.cells[0].laps_counted == 0) and (.design.many_nodes | not)'
plan suite_plan '^met ' many home-steered steady-decode/line 'cpu_nodes >= 1'
holds suite_has_no_trace "$(header .cells)" header '.cells[0] | .trace_sha256 == null and .laps_warmup == 5'
plan an_arm_for_one_node '^refused arm A: locus runs on one node only, and experiment 9101 is of many$' \
    many locus sample/line 'cpus >= 1'
plan an_arm_for_many_nodes '^refused arm A: home-steered runs on many nodes only, and experiment 9101 is of one$' \
    one home-steered sample/full 'cpus >= 1'
plan a_share_on_one_node '^refused arm A: what glibc%50 asks for takes several nodes, and experiment 9101 is of one$' \
    one glibc%50 sample/full 'cpus >= 1'
plan a_share_of_nothing '^met ' one glibc%0 sample/full 'cpus >= 1'
plan a_share_on_many_nodes '^met ' many home-steered%50 sample/line 'cpus >= 1'
holds header_has_the_share "$(header .arms)" header '.arms[0] | .name == "home-steered%50" and .cross_percent == 50'
for touch in none byte; do
    plan "many_nodes_touch_no_$touch" "^refused cell 'sample/$touch': runs of many nodes touch 'line', 'full' or 'decode'$" \
        many home-steered sample/$touch 'cpus >= 1'
done
plan many_nodes_touch_full '^met ' many home-steered sample/full 'cpus >= 1'
plan one_node_touches_no_line "^refused cell 'sample/line': only runs of many nodes touch 'line'$" one locus sample/line 'cpus >= 1'
plan no_such_workload "^refused cell 'nothing/full': there is no such workload$" one locus nothing/full 'cpus >= 1'

# --- what a host does not meet -------------------------------------------------------------------------------------------------

log() { sed -n 's/^log //p' "$scratch/out"; }
lines() { "$LOCUS" record show --samples "$(log)" | jq -es "$1"; }
plan a_trace_is_missed \
    "^unmet unmeasurable-on-host: needs traces, and there is no azure-conv: set LOCUS_TRACES to the folder that has Azure" \
    many home-steered azure-conv/line traces
holds a_missing_trace_is_a_sealed_log "$(log)" lines \
    'map(.t) == ["hdr", "after", "sum", "seal"] and .[0].cells[0].workload == "azure-conv" and .[0].cells[0].blocks_peak == null
     and .[0].cells[0].trace_sha256 == null and (.[0].unmet | startswith("needs traces, and there is no azure-conv"))'
missing=$(log)
prints its_log_can_be_shown 0 'needs traces, and there is no azure-conv: set LOCUS' "$LOCUS" record show "$missing"
prints its_log_can_be_compared 0 'Nothing else differs' "$LOCUS" report compare "$missing" "$missing"
prints its_log_can_be_reported 0 'Of 2 predictions in 1 run, .* 2 could not be measured here' \
    "$LOCUS" report --logs build/logs -o missing.html
prints its_log_can_be_verified 0 'all is well' "$LOCUS" verify --logs build/logs
plan a_trace_that_nobody_said_is_needed '^refused there is no azure-conv: set LOCUS_TRACES' \
    many home-steered azure-conv/line mbind_ok
printf 'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.0000000,40,20\n' \
    >"$LOCUS_TRACES/AzureLLMInferenceTrace_conv.csv"
plan a_trace_is_found '^met ' many home-steered azure-conv/line traces
echo nonsense >"$LOCUS_TRACES/AzureLLMInferenceTrace_conv.csv"
plan a_broken_trace_is_refused '^refused .*_conv.csv:1: ' many home-steered azure-conv/line traces
plan too_few_nodes '^unmet unmeasurable-on-host: needs numa_nodes >= 1000, and here .* node' \
    many home-steered sample/line 'numa_nodes >= 1000'
plan hardware_is_met '^met ' many home-steered sample/line hardware
prints hardware_is_not_met 0 '^unmet unmeasurable-on-host: needs hardware, and this is an emulated guest (n2)$' \
    env LOCUS_GUEST=n2 "$scenario" many home-steered sample/line hardware
# On one node nothing can be remote, and all of it is counted.
if [ "$("$LOCUS" topo --json | jq '[.nodes[] | select(.memory_total_bytes != 0)] | length')" = 1 ]; then
    plan a_run_of_many_nodes '^ran survived: $' many home-steered%50 sample/line 'cpu_nodes >= 1' run
    holds its_samples_count_nodes "$(log)" lines \
        '[.[] | select(.t == "s")] | length == 2 and all(.[]; .valid and .remote_touch_ratio == 0 and .wandered_ratio == 0 and
         .nodes.touches.local > 0 and (.nodes.os | length) >= 1 and (.nodes.homes | all(.[]; .allocated == .freed)) and
         (.nodes.drift | length) > 0 and (.nodes.before | length) >= 1 and .nodes.before[0].requested == "bind")'
    plan a_run_of_a_malloc '^ran survived: $' many glibc sample/line 'cpu_nodes >= 1' run
    holds a_malloc_places_nothing "$(log)" lines \
        '[.[] | select(.t == "s")] | all(.[]; .nodes.before == [] and .abroad_free_ratio == null and .nodes.frees.abroad == null)'
else
    skip a_run_of_many_nodes "this machine has several; record_nodes_guest.sh has the case"
fi
plan first_touch_is_everywhere '^met ' many first-touch sample/line policies

# --- a run of one node, and the same in a guest --------------------------------------------------------------------------------

trial() { # name, pattern, command...: a trial's output stays in $scratch/NAME, its log is in $log
    local name=$1
    prints "$@"
    cp "$scratch/out" "$scratch/$name"
    log=$(sed -n 's/^log //p' "$scratch/out")
}
entries() { "$LOCUS" record show --samples "$log" | jq -es "$1"; }
trial trial_on_hardware 0 '^verdict ' "$LOCUS" run 0002 --rounds 6
hardware=$log
holds hardware_is_not_called_a_guest "$(grep -i guest "$scratch/trial_on_hardware")" \
    eval "! grep -qi guest '$scratch/trial_on_hardware'"
holds the_log_has_all_members_and_no_nodes "$(head -c 300 "$log")" entries \
    '.[0].emulated == null and .[0].env.guest == "none" and .[0].design.many_nodes == false and
     ([.[] | select(.t == "s")] | length > 0 and all(.[]; has("nodes") and .nodes == null and has("remote_touch_ratio") and
      .remote_touch_ratio == null and has("wandered_ratio") and has("abroad_free_ratio")))'
closed() { tail -n 1 build/logs/test-host/ledger.jsonl | jq -e "$1"; }
holds the_ledger_says_hardware "$(closed .)" closed 'has("emulated") and .emulated == null'
prints list_says_nothing_of_hardware 0 '^0002 ' "$LOCUS" postulate list --logs build/logs
holds nor_does_it_say_guest "$(cat "$scratch/out")" eval "! grep -q guest '$scratch/out'"

trial trial_in_a_guest 0 '^guest   made in an emulated guest (n2): counts, no times$' \
    env LOCUS_GUEST=n2 "$LOCUS" run 0002 --rounds 6
clock='the clock of an emulated machine (n2) says nothing about hardware'
holds its_time_is_unmeasurable "$(grep '^P1' "$scratch/out")" \
    eval "grep '^P1 ' '$scratch/out' | grep -qF 'unmeasurable-on-host: $clock' && ! grep -q '^P1.*observed' '$scratch/out'"
holds its_verdict_names_it "$(grep '^verdict' "$scratch/out")" \
    eval "grep -q '^verdict unmeasurable-on-host: P1.*$clock' '$scratch/out'"
holds its_noise_gates_are_not_asked "" entries \
    '.[-2].gates | map(select(.kind == "noise")) | length > 0 and all(.[]; .passed and (.reason | startswith("not asked")))'
holds its_blocks_are_two "" entries '.[-2].blocks == 2 and .[-2].rounds == 6'
holds its_log_says_so "$(head -c 300 "$log")" entries '.[0].emulated == "n2" and .[0].env.guest == "n2"'
holds its_ledger_says_so "$(closed .)" closed '.emulated == "n2"'
holds its_samples_keep_their_times "" entries '[.[] | select(.t == "s")] | all(.[]; .time_ns > 0)'
prints list_names_the_guest 0 '^ *The verdict of 0002 is of an emulated guest (n2): counts, no times.$' \
    "$LOCUS" postulate list --logs build/logs
prints list_names_it_to_programs 0 '"emulated": "n2"' "$LOCUS" postulate list --logs build/logs --json
prints verify_takes_it 0 'all is well' "$LOCUS" verify --logs build/logs
prints it_is_shown 0 '^## Gates' "$LOCUS" record show "$log"
holds and_says_so_at_its_top "$(head -n 8 "$scratch/out")" \
    eval "head -n 8 '$scratch/out' | grep -qF 'Made in an emulated machine (n2)'"
prints compare_has_no_ratio 0 'made in an emulated guest (n2): counts, no times' "$LOCUS" report compare "$hardware" "$log"
holds none_at_all "$(grep glibc "$scratch/out")" eval "grep -q 'glibc .* no times$' '$scratch/out'"
prints reproducing_it_is_refused 2 'locus guest -m n2 -- run 0002 --seed' sh "$REPO/testbed/run/reproduce.sh" "$log"
prints report_counts_them 0 '2 of 7 runs were made in an emulated machine' \
    "$LOCUS" report --logs build/logs -o report.html

trial counts_in_a_guest 0 '^verdict ' env LOCUS_GUEST=n2 "$LOCUS" run 0003 --rounds 6
holds counts_are_judged_as_ever "$(grep '^P' "$scratch/out")" \
    eval "! grep -E '^P[123] |^verdict' '$scratch/out' | grep -q unmeasurable && grep -q '^P3 .*observed' '$scratch/out'"

# --- the logs of this project ---------------------------------------------------------------------------------------------------

cd "$REPO" || exit 1
# What was judged, with its verdict, in a filed record and in what is shown now. The records of the first runs have each prediction
# in a table; in later ones, which leave the tables to the log, there is the run alone.
filed() {
    if grep -q '^## Prediction and observation' "$1"; then
        sed -n 's/^| \(P[0-9]*\) | `.* | \*\*\(.*\)\*\* |$/\1 \2/p' "$1"
    else
        sed -n 's/^\*\*Verdict: \(.*\)\*\*.*/the run \1/p' "$1"
    fi
}
shown() { # RECORD
    if grep -q '^## Prediction and observation' "$1"; then
        sed -n 's/^| \(P[0-9]*\) | .* | \([^|]*\) | [0-9-]* | [0-9.-]* |$/\1 \2/p' "$scratch/out"
    else
        sed -n 's/^- verdict: /the run /p' "$scratch/out"
    fi
}
for old in logs/*/*/*.jsonl; do
    [ -e "$old" ] || continue
    name="old_log_$(basename "$(dirname "$old")" | cut -c 1-4)_$(basename "$old" .jsonl)"
    record=experiments/$(basename "$(dirname "$old")").md
    if ! grep -q '^{"t":"seal"' "$old"; then # its run was cut off, which the ledger tells from one that lost its end
        prints "$name: show" 0 '\*\*crashed: its log has no seal\*\*' "$LOCUS" record show "$old"
        prints "$name: compare" 2 'has no seal, so the run did not come to its end' "$LOCUS" report compare "$old" "$old"
        continue
    fi
    prints "$name: show" 0 '^## Predictions' "$LOCUS" record show "$old"
    # An experiment has one record, of the log that it names.
    if grep -qF "$old" "$record"; then
        holds "$name: what is shown is what was filed" "$(diff <(filed "$record") <(shown "$record") | head -n 2)" \
            eval '[ -n "$(filed "$record")" ] && cmp <(filed "$record") <(shown "$record")'
    fi
    prints "$name: compare" 0 'Nothing else differs' "$LOCUS" report compare "$old" "$old"
done
for record in experiments/0*.md; do
    holds "$(basename "$record" .md) is the record of a log that is here" "$record" \
        eval "grep -o 'logs/[^ \`)]*\.jsonl' '$record' | xargs -r ls -- | grep -q ."
done
prints old_logs_verify 0 '^logs/guest-n2/ledger.jsonl:21: remark: its time, 2026-11-21T14:17:36Z, is 744 s before' "$LOCUS" verify
if [ "$(git rev-parse --is-shallow-repository 2>&1)" = false ]; then
    prints old_logs_have_the_order_that_history_proves 0 'history proves the order for .*, not for emr-vm (0 of 25 runs)' \
        "$LOCUS" verify --git
else
    skip old_logs_have_the_order_that_history_proves "no whole history here"
fi
prints old_logs_make_a_report 0 'predictions in' "$LOCUS" report --logs logs -o "$scratch/report.html"
done_testing
