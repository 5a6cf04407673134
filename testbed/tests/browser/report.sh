#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# report.sh [OUT [ROOT...]]: the report in a browser. LOCUS=path/to/locus. Without chromium and jq everything is skipped.
#
# Without ROOT it first makes a record in OUT/logs (OUT: build/test-report): two short trials, a smoke run and a truncated log; in
# OUT/nodes two made-up runs on two nodes, one of them emulated, by record_scenario from the build; and it adds the repository's
# own logs if there are any. The console must be silent, nothing may be loaded, each figure in the page is the log's, no page
# scrolls sideways at 360 pixels, folded or open, dots are within their strips, and a dark scheme is dark. Leaves screenshots in
# OUT for inspection.
set -u
: "${LOCUS:?LOCUS must name the program}"
folder=${1:-build/test-report}
[ $# -eq 0 ] || shift
here=$(cd "$(dirname "$0")" && pwd)
LOCUS=$(realpath "$LOCUS")
. "$here/../cases.bash"
out=$folder

# check NAME WHY COMMAND...: passes when the command succeeds
check() {
    local name=$1 why=$2
    shift 2
    if "$@" >/dev/null; then pass "$name"; else fail "$name" "$why"; fi
}

browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { echo "1..0 # SKIP chromium is missing (Debian: apt-get install chromium)"; exit; }
command -v jq >/dev/null || { echo "1..0 # SKIP jq is missing"; exit; }

# browse ARGUMENT...: a browser of its own each time, which leaves nothing behind but OUT
browse() {
    local profile status
    profile=$(mktemp -d)
    timeout 120 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$profile" \
        --allow-file-access-from-files --enable-logging=stderr --v=0 --virtual-time-budget=20000 "$@" 2>"$out/browser.log"
    status=$?
    rm -rf "$profile"
    return $status
}

make_record() {
    local log
    rm -rf "$out/logs"
    cp -r "$here/../../../postulates" "$out/"
    (
        cd "$out" || exit 1
        export LOCUS_HOST=bm1
        "$LOCUS" run 0002 -q -r 8 --logs logs && "$LOCUS" run 0003 -q -r 8 --logs logs && "$LOCUS" run 0001 -q --smoke --logs logs
    ) >"$out/run.log" 2>&1 || { tail -n 3 "$out/run.log" >&2; return 1; }
    log=$(ls "$out"/logs/bm1/0002-*/*.jsonl)
    sed -e '$d' "$log" | sed '$d' >"${log%.jsonl}-cut.jsonl"
}

make_nodes() {
    local scenario
    scenario=$(dirname "$LOCUS")/testbed/judge/tests/record_scenario
    rm -rf "$out/nodes"
    mkdir "$out/nodes" && cd "$out/nodes" || return 1
    "$scenario" official bm2 0002-20261121T101500Z-a1b2c3 1 '' no 9 1 glibc two-nodes &&
        "$scenario" official vm1 0002-20261121T101600Z-b1b2c3 1 '' no 9 1 glibc guest
}

# probe NAME PAGE WIDTH [FLAG...]: what the browser found, in OUT/NAME.json
probe() {
    local name=$1 page=$2 width=$3
    shift 3
    browse "$@" --window-size=1400,1000 --dump-dom "file://$out/probe.html?page=$page&width=$width" |
        sed -n 's|.*<pre id="found">\([^<]*\)</pre>.*|\1|p' | base64 -d >"$out/$name.json" && jq -e . "$out/$name.json" >/dev/null
}

# What the page ought to say, from the logs alone: whole logs' predictions and arms, every valid sample of each log that has a
# time (of a round that was repeated the last attempt's), and what share of blocks wandered: an arm without a valid round has a row
# without a figure. Of an emulated machine no time.
expected() {
    jq -n --slurpfile lines "$out/all.jsonl" '
        ($lines | group_by(.file) | map({hdr: map(select(.t == "hdr"))[0], sum: map(select(.t == "sum"))[0],
                                         counted: map(select(.t == "s" and .nodes)),
                                         s: map(select(.t == "s" and .valid))})) as $logs |
        def cells($hdr): $hdr.cells | map(.name // "\(.workload)/\(.touch)");
        def judged: IN("invalid", "none (smoke)") | not;
        def median: if . == [] then null else sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2 end;
        {predictions: [$logs[] | .hdr as $hdr | select(.sum) | .sum.predictions[] |
             ($hdr.emulated and (.metric | startswith("time_"))) as $moot |
             (if $moot and (.verdict | judged) then "unmeasurable-on-host" else .verdict end) as $verdict |
             def part: {cell, over: (.over // ""), estimate, low, high};
             {run: $hdr.run, id, verdict: $verdict} +
             if $moot or $verdict == "unmeasurable-on-host" then {estimate: null, low: null, high: null, parts: []}
             else {estimate, low, high, parts: (if .parts == [] then [part] else [.parts[] | part] end)} end],
         arms: [$logs[] | .hdr.run as $run | select(.sum and .hdr.emulated == null) | .sum.arms[] |
             {run: $run, cell, arm, median, low, high}],
         shares: [$logs[] | .hdr.run as $run | .counted | group_by([.cell, .arm])[] | . as $of |
             map(select(.valid) | .wandered_ratio) | {run: $run, arm: $of[0].arm, wandered_ratio: median, low: min, high: max}],
         samples: [$logs[] | select(.hdr.emulated == null) | .hdr.run as $run | cells(.hdr) as $cells |
             (.s | group_by([.cell, .round])[] | (map(.attempt // 0) | max) as $last | .[] |
                 select((.attempt // 0) == $last and .time_ns != null)) |
             {run: $run, cell: $cells[.cell], arm, time_ns}]}'
}

# same KIND: as sets, and there is something to compare
same() {
    jq -e -n --slurpfile page "$out/pages.json" --slurpfile logs "$out/expected.json" --arg kind "$1" '
        def sorted: .[0][$kind] | sort_by([.run, .cell, .arm, .time_ns, .wandered_ratio, .id]);
        ($logs | sorted | length) > 0 and ($page | sorted) == ($logs | sorted)'
}

says() { jq -e "$2" "$out/$1.json"; }

# picture NAME WIDTH HEIGHT PAGE [FLAG...]
picture() {
    local file=$out/$1.png
    rm -f "$file"
    browse "${@:5}" --window-size="$2,$3" --screenshot="$file" "file://$4" >/dev/null
    check "a picture, $1.png" "there is none" test -s "$file"
}

mkdir -p "$out" && out=$(cd "$out" && pwd) || exit 2
if [ $# -eq 0 ]; then
    make_record || exit 1
    (make_nodes) >"$out/nodes.log" 2>&1 || { tail -n 3 "$out/nodes.log" >&2; exit 1; }
    set -- "$out/logs" "$out/nodes/logs"
    own=$(cd "$here/../../.." && pwd)/logs
    ! compgen -G "$own/*/*/*.jsonl" >/dev/null || set -- "$@" "$own"
fi
roots=()
for root; do roots+=(--logs "$root"); done
rm -rf "$out/report" # runs of another time
check "the page is written" "locus report failed" "$LOCUS" report "${roots[@]}" -o "$out/report.html"
cp "$here/report_probe.html" "$out/probe.html"
sed 's/<details/<details open=""/g' "$out/report.html" >"$out/open.html"
find "$@" -name '*.jsonl' ! -name ledger.jsonl | while IFS= read -r log; do
    "$LOCUS" record show --samples "$log" | jq -c --arg file "$log" '. + {file: $file}'
done >"$out/all.jsonl"
expected >"$out/expected.json"

browse --dump-dom "file://$out/report.html" >/dev/null
check "no word on the console" "$(grep -m 1 CONSOLE "$out/browser.log")" bash -c '! grep CONSOLE "$1"' - "$out/browser.log"
check "the browser opens the page" "the probe found nothing" probe desk report.html 1280
check "and on a phone" "the probe found nothing" probe phone report.html 360
check "and in the dark" "the probe found nothing" probe dark report.html 1280 --blink-settings=preferredColorScheme=0

for run in "$out"/report/*-*.html; do
    probe run "report/${run##*/}" 1280 && cat "$out/run.json"
done | jq -s '{predictions: map(.predictions[]), arms: map(.arms[]), samples: map(.samples[]), shares: map(.shares[]),
    misplaced: map(.misplaced) | add, resources: map(.resources[]), widest: map(.open) | max}' >"$out/pages.json"
check "each prediction is the log's" "see $out/pages.json and expected.json" same predictions
check "each arm is the log's" "see $out/pages.json and expected.json" same arms
check "each sample is the log's" "see $out/pages.json and expected.json" same samples
check "each arm's share of wandered blocks is the log's" "see $out/pages.json and expected.json" same shares
check "arms that steer home are there" "no arm wanders never" says pages '[.shares[] | select(.wandered_ratio == 0)] | length > 0'
check "every log is a run on the page" "their numbers differ" \
    says desk "(.runs | length) >= $(jq -s 'map(select(.t == "hdr")) | length' "$out/all.jsonl")"
check "the page is at most 1 MB" "$(wc -c <"$out/report.html")" [ "$(wc -c <"$out/report.html")" -le 1000000 ]
check "and 5000 pixels high, folded" "$(jq .height "$out/desk.json")" says desk '.height <= 5000'
check "no run's page loads anything" "$(jq -c .resources "$out/pages.json")" says pages '.resources == []'
check "all drawings of the runs lie in their cells" "$(jq .misplaced "$out/pages.json") do not" says pages '.misplaced == 0'
check "1280 pixels suffice for each run" "$(jq .widest "$out/pages.json") are wanted" says pages '.widest <= 1280'
check "nothing is loaded" "$(jq -c .resources "$out/desk.json")" says desk '.resources == []'
check "all drawings lie in their cells" "$(jq .misplaced "$out/desk.json") do not" says desk '.misplaced == 0'
check "and on a phone, too" "$(jq .misplaced "$out/phone.json") do not" says phone '.misplaced == 0'
check "1280 pixels suffice" "$(jq .open "$out/desk.json") are wanted" says desk '.folded <= 1280 and .open <= 1280'
check "360 pixels suffice, folded" "$(jq .folded "$out/phone.json") are wanted" says phone '.folded <= 360'
check "360 pixels suffice, open" "$(jq .open "$out/phone.json") are wanted" says phone '.open <= 360'
check "light is light and dark is dark" "$(jq -c .background "$out/desk.json" "$out/dark.json")" \
    jq -e -n --slurpfile light "$out/desk.json" --slurpfile dark "$out/dark.json" \
    '$light[0].background == "rgb(255, 255, 255)" and ($dark[0].background | capture("rgb\\((?<r>[0-9]+)").r | tonumber) < 60'

picture report-1280 1280 1400 "$out/report.html"
picture report-1280-open 1280 6000 "$out/open.html"
picture report-1280-dark 1280 3000 "$out/open.html" --blink-settings=preferredColorScheme=0
picture report-360 360 1600 "$out/report.html"
picture report-360-open 360 6000 "$out/open.html"
[ ! -d "$out/nodes" ] || {
    "$LOCUS" report --logs "$out/nodes/logs" -o "$out/two.html" >/dev/null
    sed 's/<details/<details open=""/g' "$out"/two/*b1b2c3.html >"$out/nodes.html"
    picture nodes-1280 1280 4500 "$out/nodes.html"
    picture nodes-360 360 6000 "$out/nodes.html"
    picture nodes-360-dark 360 6000 "$out/nodes.html" --blink-settings=preferredColorScheme=0
}
done_testing
