#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus pool from outside: a small storm, its page table, configurations, the file of metrics, and metrics over HTTP while the arena
# is at rest: all of them say the same. LOCUS=path/to/locus. A real Prometheus is pool_prometheus.sh.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1

refused() { refuses "$1" 2 "$2" pool "${@:3}"; } # name, word, argument...
small=(--pages 64 --threads 2 -q)

# --- the storm -----------------------------------------------------------------------------------------------------------------

check "a storm is shown on a page" page "$LOCUS" pool --storm --for 5s "${small[@]}"
holds "its last words are that the pool held" "$(tail -n 3 "$out")" \
    eval "tr -s ' \n' ' ' <'$out' | grep -q 'The pool held: .* no pin was lost'"
holds "the map shows pages" "no map" grep -qE '^ +[kasvKASV.,]{64}$' "$out"
holds "and the table why what left" "no reason" grep -qE '(room|watermark) +[0-9.]+ ' "$out"
check "the same for programs, with metrics in a file" \
    locus 0 pool --storm --for 90s "${small[@]}" --json --metrics "$scratch/pool.prom"
says "each page is in one row" '[.table.ranges[].pages] | add == 64'
says "free pages are those of the audit" '([.table.ranges[] | select(.state == "free") | .pages] | add // 0) == .audit.pages_free'
says "pinned ones as well" '([.table.ranges[] | select(.pins != null and .pins > 0) | .pages] | add // 0) == .audit.pages_pinned'
says "ranges have left, of every kind" '[.audit.kinds[].pages_evicted | .room + .watermark + .asked] | length == 4 and all(. > 0)'
says "what left has a score, a reason and an idle time" \
    '.table.left | length > 0 and all(.[]; (.score | type) == "number" and (.reason | test("room|watermark")) and .idle_ns >= 0)'
says "allocations are in the histogram" '.audit.latency[] | select(.of == "all") | .count == ([.histogram[]] | add)'
says "and all that were made" '(.audit.latency[] | select(.of == "all") | .count) == .audit.ranges_allocated'

# metric NAME: its value in $metrics; audit JQ-EXPRESSION: a value in the JSON.
metrics=$scratch/pool.prom
metric() { awk -v name="$1" '$1 == name { print $2 }' "$metrics"; }
equal() { # name of a metric, jq expression: both are the same number
    local here there
    here=$(metric "$1") there=$(jq -r "$2" "$json")
    why="$1 is '$here' in the metrics, and '$there' in the audit"
    [ -n "$here" ] && awk -v a="$here" -v b="$there" 'BEGIN { exit !(a == b || (a == "NaN" && b == "null")) }'
}
all_equal() {
    local kind reason
    equal locus_pool_pages .audit.pages && equal locus_pool_pages_free .audit.pages_free &&
        equal locus_pool_utilization_ratio .audit.utilization && equal locus_pool_fragmentation_ratio .audit.fragmentation &&
        equal locus_pool_ranges_allocated_total .audit.ranges_allocated && equal locus_pool_thrashed_total .audit.thrashed &&
        equal locus_pool_pins_total .audit.pins && equal locus_pool_pin_retries_total .audit.pin_retries &&
        equal locus_pool_pages_pinned .audit.pages_pinned && equal locus_pool_room_waits_total .audit.room_waits &&
        equal locus_pool_allocation_latency_seconds_count '.audit.latency[] | select(.of == "all") | .count' &&
        equal 'locus_pool_allocation_latency_seconds_bucket{le="1e-07"}' \
            '.audit.latency[] | select(.of == "all") | .histogram.to_100ns' || return
    for kind in kv adapter scratch activation; do
        for reason in room watermark asked; do
            equal "locus_pool_pages_evicted_total{kind=\"$kind\",reason=\"$reason\"}" \
                ".audit.kinds[] | select(.kind == \"$kind\") | .pages_evicted.$reason" || return
        done
        equal "locus_pool_lookups_total{kind=\"$kind\",outcome=\"hit\"}" \
            ".audit.kinds[] | select(.kind == \"$kind\") | .found" || return
    done
}
json=$scratch/first.json
cp "$out" "$json"
check "the file has the numbers of the audit" all_equal
holds "one thread and one seed give the same again" "they differ" eval "for i in 1 2; do
    '$LOCUS' pool --storm --for 5s --pages 64 --threads 1 -q --csv=$scratch/\$i.csv >/dev/null || exit; done
    cmp $scratch/1.csv $scratch/2.csv"

# --- over HTTP -----------------------------------------------------------------------------------------------------------------

json=$scratch/audit.json metrics=$scratch/scraped
served() { # starts one that says its address on stderr; $pool, $port
    "$LOCUS" pool --storm --for "$1" --pages 64 --threads 2 --listen 0 --stay --json="$json" "${@:2}" >"$out" 2>"$err" &
    pool=$!
    port=
    for _ in $(seq 600); do
        port=$(sed -n 's,^locus: metrics at http://127.0.0.1:\([0-9]*\)/metrics$,\1,p' "$err")
        [ -n "$port" ] && return
        sleep 0.1
    done
    return 1
}
rests() { # until the audit is written, which is when the arena is at rest
    for _ in $(seq 1200); do
        [ ! -s "$json" ] || ! jq -e .storm.held "$json" >/dev/null 2>&1 || return 0
        sleep 0.1
    done
    return 1
}
scrape() { # HEADER: to $metrics, its head to $scratch/head
    exec 3<>"/dev/tcp/127.0.0.1/$port" || return
    printf 'GET /metrics HTTP/1.1\r\nHost: x\r\n%sConnection: close\r\n\r\n' "$1" >&3
    sed 's/\r$//' <&3 >"$scratch/all"
    exec 3<&-
    sed '/^$/q' "$scratch/all" >"$scratch/head"
    sed '1,/^$/d' "$scratch/all" >"$metrics"
    grep -q '^HTTP/1.1 200' "$scratch/head"
}
rm -f "$json"
check "it says where it listens, on loopback" served 5s
check "it comes to rest" rests
check "and is scraped" scrape $'Accept: application/openmetrics-text; version=1.0.0\r\n'
holds "as OpenMetrics" "$(grep -i '^content-type' "$scratch/head")" \
    eval "grep -qi '^content-type: application/openmetrics-text; version=1.0.0' '$scratch/head' &&
        [ \"\$(tail -n 1 '$metrics')\" = '# EOF' ]"
check "with the numbers of the audit" all_equal
check "an old scraper is served, too" scrape ''
holds "in the older format" "$(grep -i '^content-type' "$scratch/head")" \
    grep -qi '^content-type: text/plain; version=0.0.4' "$scratch/head"
check "with the same numbers" all_equal
holds "at rest nothing is pinned" "$(metric locus_pool_pages_pinned)" [ "$(metric locus_pool_pages_pinned)" = 0 ]
refuses "a port that is taken is refused" 1 \
    "cannot listen on $port: Address already in use (take another port" pool --storm --listen "$port"
kill -INT "$pool"
wait "$pool"
holds "an interrupt ends it" "exit $?" [ $? -eq 0 ]
rm -f "$json"
check "a storm without an end" served ever
kill -INT "$pool"
check "comes to rest by an interrupt" rests
kill -TERM "$pool"
wait "$pool"
holds "and ends by the next" "exit $?" [ $? -eq 0 ]

# --- rules and dashboard -------------------------------------------------------------------------------------------------------

names() { grep -oE 'locus_pool_[a-z_]+' "$1" | sort -u; }
known() { # each metric that the file names is one that the program writes
    local name
    for name in $(names "$1"); do
        why="$1 names $name, which there is not"
        grep -q "^$name[{ ]" "$scratch/pool.prom" || return
    done
    why="$1 names none"
    [ -n "$(names "$1")" ]
}
check "the rules name metrics that there are" known testbed/pool/alerts.yml
check "so does the dashboard" known testbed/pool/dashboard.json
says "which is JSON with a query in each panel" \
    '.panels | length >= 8 and all(.[]; .targets | length > 0 and all(.[]; .expr != ""))' testbed/pool/dashboard.json

# --- bad input -----------------------------------------------------------------------------------------------------------------

cat >"$scratch/pool.yaml" <<END
memory_pool:
  page_size: "512KB"
  total_pages: 40
  eviction: {policy: lru, high_watermark: 0.9, low_watermark: 0.5}
END
locus 0 pool --config "$scratch/pool.yaml" --json
says "a configuration is shown" '.config.score == "lru" and .config.low_watermark == 0.5 and .audit.pages == 40 and
    .audit.page_bytes == 524288 and .storm == null'
locus 0 pool --config "$scratch/pool.yaml" --pages 8 --json
says "and --pages comes before it" '.audit.pages == 8'
sed -i 's/40/many/' "$scratch/pool.yaml"
refused "a bad value is refused with file and line" "$scratch/pool.yaml:3: total_pages many is not a whole number" \
    --config "$scratch/pool.yaml"
refused "a file that is not there" "/nowhere: No such file" --config /nowhere
refused "no pages" "--pages: '0' is not a number from 1 to" --pages 0
refused "no duration" "--for: '5' is not a duration: write a number and its unit" --storm --for 5
refused "a time of no storm" "--for: it is the storm's time: add --storm" --for 5s
refused "too many threads" "--threads: '65' is not a number from 1 to 64" --threads 65
refused "an address by name" "--listen: 'localhost' is not an address: write numbers" --storm --listen localhost:9400
refused "nobody to stay for" "--stay: nobody could look at the arena: add --listen PORT" --storm --stay
refused "nothing to listen for" "--listen: the arena would be gone at once: add --storm, or --stay" --listen 9400
refused "no port" "--listen: '70000' is not a port" --storm --listen 70000
refused "an argument" "unexpected argument 'pool.yaml': a configuration is --config pool.yaml" pool.yaml
check "a full disk under the metrics is told at the end" eval "locus 1 pool --storm --for 1s -q --pages 16 --metrics /dev/full &&
    grep -q '^locus: /dev/full: No space left' '$err' && grep -q 'Page table' '$out'"
refuses "metrics nowhere, before the storm" 1 "/nowhere/pool.prom: " pool --storm --metrics /nowhere/pool.prom
check "the help fits 80 columns" page "$LOCUS" pool --help
holds "and has the keys" "no max_pin_duration" grep -q 'max_pin_duration: "30s"' "$out"
done_testing
