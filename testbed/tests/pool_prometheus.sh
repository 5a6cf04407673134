#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# A real Prometheus on loopback scrapes a running `locus pool`. Its tool checks the metrics and the rules; an alert fires in a storm
# and clears when the arena is at rest; and then every number that Prometheus has is the audit's. LOCUS=path/to/locus. The package
# is fetched and unpacked to build/prometheus, and not installed.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1

said=$(sh ansible/tests/fleet/fetch.sh build/prometheus prometheus 2>&1)
case $?/${CI-} in
0/*) ;;
77/ | 77/0 | 77/false)
    skip "a real Prometheus" "${said##*locus: fleet: }"
    done_testing
    exit
    ;;
*)
    fail "a real Prometheus" "${said##*locus: fleet: }"
    done_testing
    exit
    ;;
esac
PATH=$PWD/build/prometheus/root/usr/bin:$PATH
pids=()
ends() { kill -KILL "${pids[@]}" 2>/dev/null; rm -rf "$scratch"; }
trap ends EXIT
trap 'exit 130' INT TERM

within() { # SECONDS COMMAND...: it succeeds within that time
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return
        sleep 0.3
    done
}
get() { curl -sf --max-time 10 --noproxy '*' "$@"; }

# --- the pool and Prometheus ---------------------------------------------------------------------------------------------------

json=$scratch/audit.json
"$LOCUS" pool --storm --for ever --pages 64 --threads 1 --listen 0 --stay --json="$json" --metrics "$scratch/pool.prom" \
    >"$out" 2>"$err" &
pool=$!
pids+=("$pool")
address() { at=$(sed -n 's,^locus: metrics at http://\(.*\)/metrics$,\1,p' "$err") && [ -n "$at" ]; }
check "the pool listens on loopback" within 120 address

holds "promtool check metrics: the file" "$(promtool check metrics <"$scratch/pool.prom" 2>&1 | head -n 1)" \
    within 120 eval "[ -s '$scratch/pool.prom' ] && promtool check metrics <'$scratch/pool.prom'"
check "promtool check metrics: over HTTP" eval "get 'http://$at/metrics' | promtool check metrics"
lints() { ! { sed 's/^# HELP .*//' "$scratch/pool.prom"; echo 'locus_pool_x 1'; } | promtool check metrics; } # it does look
check "promtool finds a metric without help" lints
check "promtool check rules" promtool check rules testbed/pool/alerts.yml
sed "s,RULES,$PWD/testbed/pool/alerts.yml," testbed/tests/fixtures/pool_alerts_test.yml >"$scratch/alerts_test.yml"
check "promtool test rules: each alert fires and clears" promtool test rules "$scratch/alerts_test.yml"

# The same rules and queries, but in seconds for minutes.
sed -E 's/\[5m\]/[10s]/; s/for: [0-9]+m/for: 2s/' testbed/pool/alerts.yml >"$scratch/alerts.yml"
cat >"$scratch/prometheus.yml" <<END
global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [$scratch/alerts.yml]
scrape_configs:
  - {job_name: pool, static_configs: [{targets: ["$at"]}]}
END
check "promtool check config" promtool check config "$scratch/prometheus.yml"
starts() { # on a port that is free; it would end if it were not
    port=$((20000 + RANDOM % 10000)) api=http://127.0.0.1:$port
    prometheus --config.file="$scratch/prometheus.yml" --storage.tsdb.path="$scratch/tsdb" --web.listen-address="127.0.0.1:$port" \
        >"$scratch/prometheus.log" 2>&1 &
    prometheus=$!
    pids+=("$prometheus")
    ready() { get "$api/-/ready" >/dev/null || ! kill -0 "$prometheus" 2>/dev/null; }
    within 30 ready && kill -0 "$prometheus" 2>/dev/null
}
check "Prometheus starts" eval "starts || starts || starts"
query() {
    get -G "$api/api/v1/query" --data-urlencode "query=$1" >"$scratch/answer" &&
        jq -e '.status == "success"' "$scratch/answer" >/dev/null
}
finds() { query "$1" && jq -e '.data.result | length > 0' "$scratch/answer" >/dev/null; }
misses() { query "$1" && jq -e '.data.result | length == 0' "$scratch/answer" >/dev/null; }
check "it scrapes the pool" within 30 finds 'up{job="pool"} == 1'

# --- a storm -------------------------------------------------------------------------------------------------------------------

thrash='ALERTS{alertname="LocusPoolThrash",alertstate="firing"}'
check "in the storm the alert of thrash fires" within 60 finds "$thrash"
answers() { # each query of the dashboard has an answer
    local expression
    while IFS= read -r expression; do
        why="no answer to $expression"
        expression=${expression//\$__rate_interval/10s} expression=${expression//\$instance/.*}
        finds "$expression" || return
    done < <(jq -r '.panels[].targets[].expr' testbed/pool/dashboard.json)
}
check "each query of the dashboard has an answer" answers
unit() { get -G "$api/api/v1/targets/metadata" --data-urlencode 'metric=locus_pool_allocation_latency_seconds' |
    jq -e '.data[0] | .type == "histogram" and .unit == "seconds"' >/dev/null; } # only OpenMetrics has units
holds "it was answered in OpenMetrics" "the histogram has no unit" unit

kill -INT "$pool"
at_rest() { [ -s "$json" ] && jq -e .storm.held "$json" >/dev/null 2>&1; }
check "the pool comes to rest" within 60 at_rest
check "then the alert clears" within 60 misses "$thrash"
check "and no other says that it is full, pinned or without room" \
    misses 'ALERTS{alertname=~"LocusPool(Full|NoRoom|PinOverdue|HolderDied)",alertstate="firing"}'

# --- the numbers ---------------------------------------------------------------------------------------------------------------

# series: "name{label=value,...} number", sorted, as both sides are written.
cat >"$scratch/series.jq" <<'END'
.data.result[]
    | (.metric | del(.__name__, .job, .instance) | to_entries | sort_by(.key) | map("\(.key)=\(.value)") | join(",")) as $labels
    | "\(.metric.__name__){\($labels)} \(.value[1] | if . == "NaN" or . == "+Inf" then . else tonumber end)"
END
from_prometheus() { query '{__name__=~"locus_pool_.*",job="pool"}' && jq -r -f "$scratch/series.jq" "$scratch/answer" | sort; }
from_file() { # of each line name, labels and number; jq writes the number as it does above
    sed -nE 's/^(locus_pool_[a-z_]+)(\{([^}]*)\})? (.*)$/\1\t\3\t\4/p' "$scratch/pool.prom" | tr -d '"' |
        jq -rR 'split("\t") |
            "\(.[0]){\(.[1] | split(",") | sort | join(","))} \(.[2] | if . == "NaN" then . else tonumber end)"' | sort
}
series_equal() {
    from_prometheus >"$scratch/theirs" && from_file >"$scratch/ours" || return
    why="$(diff "$scratch/ours" "$scratch/theirs" | head -n 4 | tr '\n' ' ')"
    [ "$(wc -l <"$scratch/ours")" -gt 60 ] && cmp -s "$scratch/ours" "$scratch/theirs"
}
check "Prometheus has every number of the pool, and no other" within 60 series_equal
number() { # EXPRESSION JQ-EXPRESSION: the same in Prometheus and in the audit
    local theirs ours
    query "$1" && theirs=$(jq -r '.data.result[0].value[1]' "$scratch/answer") && ours=$(jq -r "$2" "$json")
    why="$1 is '$theirs', in the audit '$ours'"
    awk -v a="$theirs" -v b="$ours" 'BEGIN { d = a - b; if (d < 0) d = -d; exit !(a != "" && b != "null" && d <= 1e-12 * (b + 1)) }'
}
check "utilisation is the audit's" number locus_pool_utilization_ratio .audit.utilization
check "so is fragmentation" number locus_pool_fragmentation_ratio .audit.fragmentation
check "thrash" number locus_pool_thrashed_total .audit.thrashed
check "what was evicted" number 'sum(locus_pool_pages_evicted_total)' \
    '[.audit.kinds[].pages_evicted | .room + .watermark + .asked] | add'
check "the hit rate of KV" number 'locus_pool_lookups_total{kind="kv",outcome="hit"} /
    ignoring(outcome) sum without (outcome) (locus_pool_lookups_total{kind="kv"})' '.audit.kinds[0].hit_rate'
check "pins that were asked for again" number locus_pool_pin_retries_total .audit.pin_retries
check "and the allocations within a microsecond" number 'locus_pool_allocation_latency_seconds_bucket{le="1e-06"}' \
    '.audit.latency[] | select(.of == "all") | .histogram | .to_100ns + .to_1us'

kill -TERM "$pool"
wait "$pool"
holds "the pool held" "exit $?" [ $? -eq 0 ]
kill -TERM "$prometheus"
wait "$prometheus"
done_testing
