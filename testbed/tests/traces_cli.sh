#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a user's trace may do to the commands that read one: any format, packed or from a pipe, spoiled by whatever it went through,
# ids of any size and sign, requests that are left out, and traces so short, so sparse or so much at once that figures have nothing
# to be made of. Each command then gives figures that are finite, or one line that says why not. The traces are made here.
# LOCUS=path/to/locus.
set -u
: "${LOCUS:?LOCUS must name the program}"
. "$(dirname "$0")/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
export LOCUS_TRACES=$scratch
root=$PWD

csv() { # NAME AWK: a CSV trace of the lines "seconds prompt output" that the program prints
    { echo TIMESTAMP,ContextTokens,GeneratedTokens
      awk "BEGIN { $2 }" | while read -r seconds prompt output; do
          printf '%(%Y-%m-%d %H:%M:%S)T.%03d,%d,%d\n' "${seconds%.*}" "$((10#${seconds#*.}))" "$prompt" "$output"
      done; } >"$scratch/$1.csv"
}
ids() { # NAME AWK: a JSON Lines trace of "ms prompt output id,id,..."
    awk "BEGIN { $2 }" | while read -r ms prompt output ids; do
        printf '{"timestamp": %s, "input_length": %d, "output_length": %d, "hash_ids": [%s]}\n' "$ms" "$prompt" "$output" "$ids"
    done >"$scratch/$1.jsonl"
}
TZ=UTC
export TZ
at='function at(s, prompt, output) { printf "%.3f %d %d\n", 1700000000 + s, prompt, output } BEGIN {'
many() { csv "$1" "} $at for (i = 0; i < $2; i++) at(i * $3, $4, $5)"; }

# --- formats ---------------------------------------------------------------------------------------------------------------------

readme=$root/testbed/workload/README.md
serve() { # STATUS FILE OPTION...: standard input is the function's
    local wanted=$1 status
    shift
    "$LOCUS" serve "$@" -c paged --load all -q --json="$scratch/json" >"$out" 2>"$err"
    status=$?
    why="exit $status, not $wanted: $(head -n 1 "$err")"
    [ $status -eq "$wanted" ]
}
about() { says "$1: $2" ".about == \"$2.\"" "$scratch/json"; } # name, words
format() { # name, words, options; the trace on standard input
    cat >"$scratch/format"
    check "$1 is read" serve 0 "$scratch/format" "${@:3}"
    about "$1" "$2"
}
format 'Azure of 2024' 'Azure 2024 CSV, 2 requests, 1.5 s' <<'END'
TIMESTAMP,ContextTokens,GeneratedTokens
2024-05-10 00:00:00+00:00,374,44
2024-05-10 00:00:01.500000+00:00,109,10
END
format 'Azure multimodal' 'Azure multimodal 2024 CSV, 2 requests, 1.5 s' <<'END'
TIMESTAMP,NumImages,ContextTokens,GeneratedTokens
2024-10-15T12:00:00Z,1,374,44
2024-10-15T12:00:01.5Z,0,109,10
END
format BurstGPT 'BurstGPT CSV, 2 requests, 40 s; 1 request is left out: 0 without a prompt, 1 without an output' <<'END'
Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
5,-,1.5,ChatGPT,472,18,490,Conversation log
45,-,0.1,ChatGPT,1087,0,1087,API log
END
format vidur 'vidur CSV, 2 requests, 4.3 s' <<'END'
arrived_at,num_prefill_tokens,num_decode_tokens
0.0,374,44
4.3145790000000002,396,109
END
format Bailian 'Bailian JSON Lines, 2 requests, 0.9 s' <<'END'
{"chat_id":159,"parent_chat_id":-1,"timestamp":61.114,"input_length":17,"output_length":13,"type":"text","turn":1,"hash_ids":[1,2]}
{"chat_id":160,"parent_chat_id":159,"timestamp":62,"input_length":33,"output_length":12,"type":"a","turn":2,"hash_ids":[1,3,4]}
END
says "an id of Bailian's stands for 16 tokens" '.cells[0].serving.id_tokens == 16' "$scratch/json"
format 'a format by hand' 'mapped 2026 CSV, 2 requests, 1 s' --map time=when,prompt=in,output=out <<'END'
id,out,when,in
a,44,2026-01-05T10:00:00Z,374
b,10,2026-01-05T10:00:01Z,109
END
format 'with a unit' 'mapped JSON Lines, 2 requests, 1.5 s' --map time=t:us,prompt=in,output=out,ids=blocks <<'END'
{"t": 500000, "in": 17, "out": 13, "blocks": [1, 2]}
{"t": 2000000, "in": 33, "out": 12, "blocks": [1, 3, 4]}
END
says "and ids" '.cells[0].serving.id_tokens == 16' "$scratch/json"
check "replay has the map as well" locus 0 replay "$scratch/format" --map time=t:us,prompt=in,output=out -q -r 1 -c locus -d inline
holds "and says what it read" "$(cat "$out")" grep -q 'format (mapped JSON Lines): 2 requests' "$out"
refuses "a map lacks a column" 2 '--map: it takes all of' serve sample --map time=TIMESTAMP,prompt=a
refuses "a made scenario has no columns" 2 'beam: is made, not recorded' serve beam --map time=a,prompt=b,output=c

# What cannot be read as it is has a line in the README.
printf '%s\n' '{"session_id": "a", "timestamp": 500, "input_length": 300, "output_length": 40}' \
    '{"session_id": "a", "delay": 2000, "input_length": 150, "output_length": 20}' \
    '{"session_id": "b", "timestamp": 1000.5, "text_input": "twelve chars", "output_length": 5}' >"$scratch/aiperf.jsonl"
refuses "a delay is no time" 2 'aiperf.jsonl:2: timestamp is missing, and delay is none: testbed/workload/README.md' \
    serve "$scratch/aiperf.jsonl"
converted() { # name, file, words: by the line of the README that names the file
    local line
    line=$(grep -E "^    (jq|awk) .* $2\$" "$readme")
    holds "$1 has a line" "no line for $2" [ -n "$line" ]
    (cd "$scratch" && eval "$line") >"$scratch/format" 2>"$err"
    check "$1 is read" serve 0 "$scratch/format"
    about "$1" "$3"
}
converted "aiperf's delay" aiperf.jsonl 'aiperf JSON Lines, 3 requests, 2 s'
says "a text has a length" '.cells[0].strategies[0].served | .prompt_tokens == 453 and .tokens == 65' "$scratch/json"
holds "and turns a time" "$(cat "$scratch/format")" [ "$(jq -c '[.timestamp, .input_length]' "$scratch/format" | tr -d '\n')" = \
    '[500,300][1000.5,3][2500,150]' ]
printf '%s\n' '{"timestamp": 5, "input_length": 3, "output_length": 4}' '{"timestamp": 1, "input_length": 1, "output_length": 2}' \
    >"$scratch/unsorted.jsonl"
converted 'JSON that is not sorted' unsorted.jsonl 'Mooncake JSON Lines, 2 requests, 0 s'
jq -s 'sort_by(.timestamp)' "$scratch/unsorted.jsonl" >"$scratch/array.json"
converted 'an array' array.json 'Mooncake JSON Lines, 2 requests, 0 s'
head='TIMESTAMP,ContextTokens,GeneratedTokens'
printf '%s\n' "$head" '2023-11-16 18:15:47,3,4' '2023-11-16 18:15:46,1,2' >"$scratch/unsorted.csv"
converted 'CSV that is not sorted' unsorted.csv 'Azure 2023 CSV, 2 requests, 1 s'
sort "$scratch/unsorted.csv" -r | tr ',' ';' | sed '2!b' | { read -r line; echo "$line"; sort; } >"$scratch/semicolons.csv"
converted 'CSV of semicolons' semicolons.csv 'Azure 2023 CSV, 2 requests, 1 s'

# --- from a pipe, and packed ---------------------------------------------------------------------------------------------------

many piped 60 0.5 300 9
many 'with blanks' 60 0.5 300 9
check "standard input is read" serve 0 - <"$scratch/piped.csv"
about "it is understood" 'Azure 2023 CSV, 60 requests, 29.5 s'
says "and is a name for its cell" '.cells[0].name | startswith("stdin/serve/")' "$scratch/json"
piped() {
    "$LOCUS" replay - -q -r 1 -c locus -d inline -t none -t decode/128t --requests 10 --pool-blocks 400 --json="$scratch/json"
}
check "a pipe is read once, for every touch" piped <"$scratch/piped.csv"
says "and each touch has its requests" '[.cells[].requests_per_lap] == [10, 10]' "$scratch/json"
prints "an error names it" 2 'locus: standard input:2: ContextTokens "x" is not a number' \
    eval "printf '%s\n' '$head' '2023-11-16 18:15:46,x,1' | '$LOCUS' serve -"
gzip -c "$scratch/piped.csv" >"$scratch/packed.csv.gz"
zstd -q -c "$scratch/piped.csv" >"$scratch/packed.csv.zst"
{ head -n 20 "$scratch/piped.csv" | gzip -c; tail -n +21 "$scratch/piped.csv" | gzip -9 -c; } >"$scratch/members.csv.gz"
for packed in packed.csv.gz packed.csv.zst members.csv.gz; do
    check "$packed is unpacked" serve 0 "$scratch/$packed"
    about "$packed" 'Azure 2023 CSV, 60 requests, 29.5 s'
done
check "also from a pipe" serve 0 - < <(cat "$scratch/packed.csv.zst")
head -c 100 "$scratch/packed.csv.gz" >"$scratch/cut.csv.gz"
head -c 100 "$scratch/packed.csv.zst" >"$scratch/cut.csv.zst"
refuses "gzip that is cut" 2 'cut.csv.gz: cannot be unpacked: its gzip data .* ends too early' serve "$scratch/cut.csv.gz"
refuses "zstd that is cut" 2 'cut.csv.zst: cannot be unpacked: its zstd data .* ends too early' serve "$scratch/cut.csv.zst"

# What is no trace is refused after its first MiB: what was not read of 20 MiB is still there for the next program.
left() { # name, words, what makes it
    { "$LOCUS" serve - 2>"$err"; echo $? >"$scratch/status"; wc -c >"$scratch/left"; } < <(head -c 20971520 < <(eval "$3"))
    holds "$1 is refused" "$(cat "$err")" grep -q "^locus: standard input.*$2" "$err"
    holds "$1, after a MiB" "$(cat "$scratch/left") bytes are left" [ "$(cat "$scratch/left")" -gt 19000000 ]
    holds "$1 is bad input" "$(cat "$scratch/status")" [ "$(cat "$scratch/status")" -eq 2 ]
}
left zeroes 'there is a NUL byte' 'cat /dev/zero'
left noise 'there is a NUL byte' 'cat /dev/urandom'
left prose 'is the header of no known trace' 'yes this is not a trace'
left 'a line without an end' 'does not end within a MiB' "printf '{\"a\": \"'; yes | tr -d '\n'"
left 'a log' ':2: timestamp is missing' "echo '{\"timestamp\":0,\"input_length\":1,\"output_length\":1}'; yes '{\"a\": 1}'"
left 'blank lines' 'has no requests' "yes ''"
head -c 300000000 /dev/zero | gzip -1 >"$scratch/bomb.gz"
refuses "a bomb is unpacked for a MiB" 2 'bomb.gz:1: there is a NUL byte' serve "$scratch/bomb.gz"

# --- spoiled traces --------------------------------------------------------------------------------------------------------------

# A table: what happened to a trace, what comes of it, and the words. Standard input is the trace.
row=0
spoiled() { # what, words: of the reason, or what was understood, which has a count of requests
    local what=$1 words=$2 status=2 outcome=refused
    row=$((row + 1))
    cat >"$scratch/spoiled"
    [[ ! $words =~ \ requests?,\  ]] || status=0
    [ $status -ne 0 ] || outcome=read
    if ! serve $status "$scratch/spoiled"; then
        fail "$what" "$why"
    elif [ $status -eq 0 ]; then
        says "$what" ".about == \"$words.\"" "$scratch/json"
    else
        holds "$what" "$(cat "$err")" eval "[ \$(wc -l <'$err') -eq 1 ] && [ ! -s '$out' ] && grep -qF -- '$words' '$err'"
    fi
    printf '# %2d  %-34s %-8s %s\n' "$row" "$what" "$outcome" "$words"
}
azure='2023-11-16 18:15:46.68,374,44\n2023-11-16 18:15:47.68,109,10\n'
moon='{"timestamp": 0, "input_length": 9, "output_length": 2, "hash_ids": [1]}\n'
b() { printf '%b' "$*"; }
bom='\xef\xbb\xbf'
two='Azure 2023 CSV, 2 requests, 1 s'
spoiled 'a byte order mark' "$two" < <(b "$bom$head\n$azure")
spoiled 'one before JSON' 'Mooncake JSON Lines, 1 request, 0 s' < <(b "$bom$moon")
spoiled 'CRLF, no last newline' "$two" < <(b "$head\n${azure%??}" | sed 's/$/\r/' | head -c -2)
spoiled 'blank lines' "$two" < <(b "\n$head\n\n${azure/\\n/\\n  \\t\\n}\n\n")
spoiled 'columns in another order' "$two" < <(b "$head\n$azure" | awk -F, -v OFS=, '{ print $3, $1, $2 }')
spoiled 'a column for an index' "$two" < <(b "$head\n$azure" | awk -F, -v OFS=, '{ print (NR > 1 ? NR - 2 : ""), $0 }')
spoiled 'a column with quoted commas' "$two" < <(b "$head\n$azure" | awk '{ print "\"a, \"\"b\"\"\"," $0 }')
spoiled 'T and Z in times' "$two" < <(b "$head\n$azure" | sed 's/\(.*\) \([^,]*\)/\1T\2Z/')
spoiled 'an offset in times' "$two" < <(b "$head\n$azure" | sed 's/\(.*\) \([^,]*\)/\1 \2+02:00/')
spoiled 'seconds since 1970' 'Azure CSV, 2 requests, 1 s' < <(b "$head\n1700158546.5,374,44\n1700158547.5,109,10\n")
spoiled 'milliseconds since 1970' 'Azure CSV in milliseconds, 2 requests, 1 s' \
    < <(b "$head\n1700158546500,3,4\n1700158547500,9,1\n")
spoiled 'ids from 2^63 on' 'Mooncake JSON Lines, 1 request, 0 s' < <(b "${moon/\[1\]/[18446744073709551615]}")
spoiled 'other keys, in another order' 'Mooncake JSON Lines, 1 request, 0 s' \
    < <(b '{"more": [{}], "output_length": 2, "timestamp": 7, "input_length": 9}\n')
spoiled 'gzip' "$two" < <(b "$head\n$azure" | gzip)
spoiled 'zstd' "$two" < <(b "$head\n$azure" | zstd -q)
spoiled 'gzip with rubbish behind it' 'spoiled: cannot be unpacked: its gzip data is broken' \
    < <(b "$head\n$azure" | gzip; echo rubbish)
spoiled 'xz' 'spoiled: is packed by xz: unpack it (xz -dc)' < <(b "$head\n$azure" | xz)
spoiled 'UTF-16' 'spoiled: is UTF-16: save it as UTF-8' < <(b "$head\n$azure" | iconv -t UTF-16)
spoiled 'the pointer of Git LFS' 'git lfs pull fetches it' < <(b 'version https://git-lfs.github.com/spec/v1\noid sha256:0\n')
spoiled 'an empty file' 'spoiled: is empty' </dev/null
spoiled 'a header alone' 'spoiled: has a header but no requests' < <(b "$head\n")
spoiled 'no header' 'spoiled:1: "2023-11-16 18:15:46.68,374,44" is the header of no known trace' < <(b "$azure")
spoiled 'a header that lost a column' 'spoiled:1: the header "TIMESTAMP,GeneratedTokens" has no column ContextTokens' \
    < <(b "TIMESTAMP,GeneratedTokens\n")
spoiled 'two columns of one name' 'spoiled:1: the header has a column ContextTokens 2 times' < <(b "$head,ContextTokens\n")
spoiled 'semicolons' 'spoiled:1: "TIMESTAMP;ContextTokens;GeneratedTokens" is the header of no' < <(b "$head\n$azure" | tr , ';')
spoiled 'a row that is cut' 'spoiled:3: 2 columns instead of 3' < <(b "$head\n${azure%,*}\n")
spoiled 'a comma too many' 'spoiled:3: 4 columns instead of 3' < <(b "$head\n${azure%??},\n")
spoiled 'counts as 374.0' 'spoiled:2: ContextTokens "374.0" is not a number' < <(b "$head\n${azure/374/374.0}")
spoiled 'NaN' 'spoiled:2: ContextTokens "nan" is not a number' < <(b "$head\n${azure/374/nan}")
spoiled 'a count below none' 'spoiled:2: ContextTokens "-374" is negative' < <(b "$head\n${azure/374/-374}")
spoiled 'a day that is none' 'spoiled:2: TIMESTAMP "2023-11-31 18:15:46.68" is not a time' < <(b "$head\n${azure/16/31}")
spoiled 'lines out of order' 'spoiled:3: the request arrives before the one in line 2: sort' < <(b "$head\n${azure/:46/:48}")
spoiled 'a NUL byte' 'spoiled:2: there is a NUL byte' < <(b "$head\n${azure/374/\\0}")
spoiled 'seconds as milliseconds' 'spoiled:1: timestamp is not a whole number of milliseconds (if it is seconds: --map' \
    < <(b "${moon/0/61.114}")
spoiled 'ids as text' 'spoiled:1: hash_ids: element 1 is not a whole number' < <(b "${moon/\[1\]/[\"1\"]}")
spoiled 'an array' "spoiled: is a JSON array: one object a line is read (jq -c " < <(b "[${moon%??}]\n")
spoiled 'an object that is cut' 'spoiled:2: not valid JSON at column' < <(b "$moon${moon%????}\n")
spoiled 'two objects on a line' 'spoiled:1: not valid JSON at column' < <(b "${moon%??} $moon")
holds "there are thirty and more" "$row" [ "$row" -ge 30 ]

# --- how many tokens an id stands for --------------------------------------------------------------------------------------------

# 100 requests of 320 tokens with 20 ids, of which only the first is common: 16 of 320 tokens can be found.
ids sixteen 'for (i = 0; i < 100; i++) { l = "1"; for (j = 1; j < 20; j++) l = l "," (100 * i + 1000 + j)
    print i * 200, 320, 8, l }'
check "no more is found than ids of 16 tokens have in common" \
    locus 0 serve "$scratch/sixteen.jsonl" --load all --pool 4000t -c paged-shared -q --json="$scratch/json"
says "as a count" '.cells[0].strategies[0].served.cached_tokens | . > 0 and . <= 99 * 16' "$scratch/json"
says "the size is in the cell" '.cells[0].serving | [.id_tokens, .id_tokens_least, .id_tokens_most] == [16, 16, 16]' "$scratch/json"
worded() { holds "$1" "$(cat "$out")" eval "tr -s ' \n' ' ' <'$out' | grep -q '$2'"; } # name, words, which may be on two lines
worded "and in words" 'An id of a prompt stands for 16 tokens: no other size fits'
check "a cache has blocks of that size" \
    locus 0 serve "$scratch/sixteen.jsonl" --policies=lru --far 40 --pool 1600t -q --json="$scratch/json"
says "and their price" '.cells[0].serving | .id_tokens == 16 and .blocks == 100 and .tiers.block_bytes == 16 * 32768' \
    "$scratch/json"
holds "and says so" "$(cat "$out")" grep -q '2000 blocks of 16 tokens' "$out"
check "an arena's turns have it as well" locus 0 serve "$scratch/sixteen.jsonl" --pages=lru -q --json="$scratch/json"
says "in each cell" '[.cells[].serving.id_tokens] | unique == [16]' "$scratch/json"

ids open 'for (i = 0; i < 3; i++) print i, 1200, 4, "1,2," 3 + i'
sized() { # NAME TOKENS ARGUMENT...
    check "$1" locus 0 serve "${@:3}" --policies=lru -q --json="$scratch/json"
    says "$1, as a figure" ".cells[0].serving.id_tokens == $2" "$scratch/json"
}
sized "of several sizes it is the power of two" 512 "$scratch/open.jsonl"
worded "and the others are named" 'sizes from 400 to 599 fit the requests (--id-tokens)'
sized "or what the user says" 401 "$scratch/open.jsonl" --id-tokens 401
ids single 'print 0, 512, 8, 7; print 1, 300, 8, 7'
sized "an id for each whole prompt may have any size" 512 "$scratch/single.jsonl"
ids none 'print 0, 40, 4, "1,2,3,4"; print 1, 12, 4, "9"'
sized "a size that is no power of two is taken when it is said" 13 "$scratch/none.jsonl" --id-tokens 13
wrong() { refuses "$1" 2 "$2" "${@:3}"; } # name, word, argument...
wrong "where none is a power of two, the user is asked" 'none.jsonl: an id may stand for 12 to 13 tokens.*--id-tokens' \
    serve "$scratch/none.jsonl" --policies
wrong "a size that does not fit is refused" 'open.jsonl:1: by these hash_ids an id stands for at most 599 tokens, not 600' \
    serve "$scratch/open.jsonl" --policies --id-tokens 600
wrong "a trace without ids has no size" 'sample: no request has hash_ids\|sample.csv: no request has hash_ids' \
    serve sample --id-tokens 16
wrong "a made scenario has its own" 'few-shot: an id stands for 16 tokens, not 8' serve few-shot --policies --id-tokens 8
wrong "no tokens are no size" "--id-tokens: '0' is not a number of tokens from 1" serve few-shot --policies --id-tokens 0
wrong "tokens whose bytes nobody counts are none" "--id-tokens: '4294967295' is not a number of tokens from 1 to 16777216" \
    serve few-shot --policies --id-tokens 4294967295

ids few 'print 0, 1200, 4, "1,2,3"; print 1, 1200, 4, "1,2"'
ids much 'print 0, 1200, 4, "1,2,3"; print 1, 3, 4, "1,2,3,4"'
ids noprompt 'print 0, 1200, 4, "1,2,3"; print 1, 0, 4, "5"'
for command in 'serve' 'serve --policies' 'serve --batchers' 'replay'; do
    wrong "too few ids: $command" 'few.jsonl:2: 2 hash_ids for 1200 tokens: an id has at least 600, and by line 1 at most 599' \
        $command "$scratch/few.jsonl"
    wrong "more ids than tokens: $command" 'much.jsonl:2: 4 hash_ids for a prompt of 3 tokens' $command "$scratch/much.jsonl"
    wrong "an id of no prompt: $command" 'noprompt.jsonl:2: 1 hash_ids for a prompt of 0 tokens' $command "$scratch/noprompt.jsonl"
done

ids wide 'print 0, 512, 8, "18446744073709551615"; print 1, 512, 8, "18446744073709551615"; print 2, 512, 8, "9223372036854775808"
    print 3, 512, 8, "-9223372036854775807"; print 4, 512, 8, "9223372036854775808"'
check "ids of 64 bits are read" locus 0 serve "$scratch/wide.jsonl" --policies=lru -q --json
says "and are what they are" '.policies[0].hit_ratio["1000"] == 0.4'
check "by replay as well" locus 0 replay "$scratch/wide.jsonl" -q -r 1 -c locus -d inline

# --- who is left out -------------------------------------------------------------------------------------------------------------

csv holes "} $at at(0, 0, 5); for (i = 1; i < 9; i++) at(i, 300, 9); at(9, 7, 0); at(10, 0, 3)"
words='3 requests are left out: 2 without a prompt, 1 without an output'
for command in 'serve --load all -c paged' 'serve --batchers=fifo' 'serve --pages=lru' 'replay -r 1 -c locus -d inline'; do
    check "who is left out is said: $command" locus 0 $command "$scratch/holes.csv" -q --json="$scratch/json"
    worded "in the same words: $command" "$words"
    says "also for programs: $command" ".about | contains(\"$words\")" "$scratch/json"
    says "and the others are counted: $command" \
        '[.cells[] | .serving.requests // .requests_per_lap // .requests] | unique == [8]' "$scratch/json"
done
csv nobody "} $at at(0, 0, 5); at(1, 9, 0)"

# --- figures that are none -------------------------------------------------------------------------------------------------------

csv zero ""
many one 1 0 320 16
many two 2 0 320 16
many three 3 20 320 16
many twenty 20 0.2 700 40
many once 20 0 700 40
csv year "} $at for (i = 0; i < 3; i++) at(i * 31536000, 320, 16)"
# As the first rows of a service's.
csv head "} $at for (i = 0; i < 50; i++) at(i * 0.37 + (i % 7) * 0.01, 374 + (i * 733) % 3700, 12 + (i * 97) % 400)"
ids chain 'for (i = 0; i < 3; i++) print 20000 * i, 1024, 8, "1," 5 + i'
ids same 'for (i = 0; i < 20; i++) print 0, 1024, 8, "1," 5 + i % 4'

# What may be null: settings of another view, a verdict that is not there, and what testbed/report/README.md names.
null_ok='["invalid", "hot", "warm", "rank", "rate_per_s", "batch", "load_percent", "adapter_pages", "kv_pages", "scratch_per_s",
    "high_permille", "low_permille", "far", "file", "far_even_ns", "file_even_ns", "kv_hit_ratio", "adapter_hit_ratio",
    "byte_hit_ratio", "used_full_mean", "used_full_least", "above_95_ratio", "stretch_mean", "stretch_least",
    "stretch_good_ratio", "evict_p50_ns", "evict_p99_ns", "evict_range_ns", "pin_p50_ns", "pin_p99_ns", "lost_mean_ns", "y"]'
# finite NAME ALSO ARGUMENT...: figures, which are finite, or one line on bad input. ALSO: more keys that may be null, as JSON.
finite() {
    local name=$1 also=$2 status
    shift 2
    "$LOCUS" "$@" -q --json="$scratch/json" >"$out" 2>"$err" </dev/null
    status=$?
    if [ $status -eq 2 ]; then
        why="bad input must be one line that names the trace: $(head -n 2 "$err")"
        check "$name" eval "[ \$(wc -l <'$err') -eq 1 ] && [ ! -s '$out' ] && grep -q '^locus: [^ ]*${trace%.*}' '$err'"
    elif [ $status -ne 0 ]; then
        fail "$name" "exit $status: $(head -n 1 "$err")"
    elif grep -wiE -- 'nan|inf|null' "$out" >"$scratch/found"; then
        fail "$name" "it says: $(head -n 1 "$scratch/found")"
    else
        says "$name" "($null_ok + $also) as \$ok |
            [del(.head) | paths(. == null) | map(strings) | last | select(IN(\$ok[]) | not)] == [] and
            ([.. | objects | .end_ns?, .back_p99_ns? | numbers | select(. > 1e15)] == [])" "$scratch/json"
    fi
}
unloaded='["capacity_per_s", "speedup"]'
for trace in zero.csv one.csv two.csv three.csv twenty.csv once.csv year.csv head.csv nobody.csv chain.jsonl same.jsonl; do
    file=$scratch/$trace
    finite "$trace under load" '[]' serve "$file" -c paged,first-fit,static-4096
    finite "$trace in a pool for two" '[]' serve "$file" -c paged,static-4096 --pool 672t
    finite "$trace under ten times what it can do" '[]' serve "$file" -c paged,paged-prompt --pool 5000t --load 1000
    finite "$trace all at the start" "$unloaded" serve "$file" -c paged,first-fit,static-4096 --load all
    finite "$trace at random" "$unloaded" serve "$file" -c paged,first-fit,static-4096 --random
    finite "$trace swapped" "$unloaded" serve "$file" -c paged-prompt --load all --swap --pool 5000t
    finite "$trace in a cache" '[]' serve "$file" --policies=lru,chain
    finite "$trace in tiers" '[]' serve "$file" --policies=lru,chain --pool 3000t --far 3 --file 10
    finite "$trace in batches" '[]' serve "$file" --batchers=fifo,robin
    finite "$trace with adapters in memory" '[]' serve "$file" --residency=lru
    finite "$trace in pages" '[]' serve "$file" --pages=lru
    finite "$trace advised" '["emulated"]' advise --trace "$file"
done
wrong "a load that cannot be measured has a remedy" 'three.csv: no request is done while another one waits.*--load all' \
    serve "$scratch/three.csv"
wrong "nor is it in a pool in which the last one waits" 'three.csv: no request is done while another one waits' \
    serve "$scratch/three.csv" --pool 672t
check "where somebody waits, it is a figure" locus 0 serve "$scratch/twenty.csv" -c paged --pool 2048t -q --json
says "and the arrivals follow from it" '.cells[0] | .serving.capacity_per_s > 0 and .serving.speedup > 0 and
    .strategies[0].served.requests == 20 and .strategies[0].served.end_ns < 1e12'
cd "$scratch" || exit 1 # a cell has no folders
wrong "a clock has an end" 'year.csv: the requests 200 times last longer than 292 years: at most 97 times' \
    serve year.csv/adapters/times200
wrong "scratch of a year is more than can be tried" 'year.csv/pages/rate1 or year.csv/pages/noscratch' \
    serve "$scratch/year.csv" --pages
check "and the remedy is one" locus 0 serve year.csv/pages/rate1 -q
cd "$root" || exit 1
check "who refuses everybody is no fault" locus 0 serve "$scratch/twenty.csv" -c static-4096 --load all --pool 2048t -q --json
says "and made no call" '.cells[0].strategies[0].served | .refused == 20 and .calls == 0 and .call_ns == 0'

# What a view names a cell, is one.
cd "$scratch" || exit 1
"$LOCUS" serve three.csv --batchers=fifo -q --json="$scratch/json" >"$out" 2>"$err"
cells=$(jq -r '.cells[].name' "$scratch/json")
holds "three requests have cells" "$(cat "$err")" [ "$(echo "$cells" | wc -l)" -eq 4 ]
for cell in $cells; do
    check "$cell is one" locus 0 serve "$cell" --batchers=fifo -q
done
cd "$root" || exit 1

# A lap is timed, and its figures are the same in every command that has laps.
for trace in zero.csv one.csv two.csv three.csv twenty.csv year.csv nobody.csv chain.jsonl; do
    cp "$scratch/$trace" "$scratch/AzureLLMInferenceTrace_conv.csv"
    for run in "replay $scratch/$trace" "replay $scratch/$trace --speedup all --pool-blocks 50" 'eval azure-conv/byte/inline'; do
        [[ $run == eval* && $trace == *.jsonl ]] && continue
        "$LOCUS" $run -r 1 -c locus -d inline -q --json="$scratch/json" >"$out" 2>"$err"
        status=$?
        if [ $status -eq 0 ]; then
            says "$trace, ${run%% *}: laps have a time" '[.cells[].arms[] | .median_ns, .min_ns] | length > 0 and all(. > 0)' \
                "$scratch/json"
            holds "$trace, ${run%% *}: in text too" "$(cat "$out")" eval "! grep -qwiE 'nan|inf|null' '$out'"
        else
            holds "$trace, ${run%% *}: one line says why not" "exit $status: $(head -n 2 "$err")" \
                eval "[ \$(wc -l <'$err') -eq 1 ] && [ ! -s '$out' ] && [ $status -ne 137 ]"
        fi
    done
done

done_testing
