#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all alone
#
# locus run --perf-record, --c2c and --mem: is the measured process profiled, is the log unaffected, and is an unavailable profile
# reported? With the real perf if there is one, and with a fake that only notes its arguments. LOCUS names the program, REPO the
# project.
set -u
: "${LOCUS:?LOCUS must name the program}"
LOCUS=$(realpath "$LOCUS")
REPO=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$(dirname "$0")/cases.bash"
export LOCUS_HOST=test-host GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
unset LD_PRELOAD

run() { # status, argument...: locus run, as short as possible; $folder is the profile's, $log the log
    local right
    locus "$1" run --smoke -q "${@:2}"
    right=$?
    why="$why $(grep -m 2 'not recorded\|not supported' "$out")"
    log=$(sed -n 's/^log //p' "$out")
    folder=${log%.jsonl}.perf
    return $right
}
said() { grep -qE -- "$1" "$scratch/${2:-out}"; }

mkdir "$scratch/tree" "$scratch/fake" && cd "$scratch/tree" && git init -q . || exit 1
mkdir postulates && cp "$REPO"/postulates/000[12]-*.md postulates/ || exit 1

# --- a perf that notes ---------------------------------------------------------------------------------------------------------

cat >"$scratch/fake/perf" <<'END'
#!/bin/bash
words=" $* "
[ $# -gt 0 ] && [ "$1" != --version ] || exit 0
case $words in
' report '* | ' c2c report '* | ' mem report '*) echo "report: $*"; exit ;;
' mem record '*) [ "${FAKE-}" != broken ] || { echo "failed: memory events not supported" >&2; exit 255; } ;;
esac
[ "${FAKE-}" != forbidden ] || { printf '%s\n' Error: 'Access to performance monitoring is limited.' more >&2; exit 255; }
note() { echo "$*" >>"$NOTES"; }
note "words$words"
note "preload ${LD_PRELOAD-none}"
for fd in 3 4; do note "fd $fd $(readlink /proc/$$/fd/$fd)"; done
while [ $# -gt 0 ] && [ "$1" != -o ]; do shift; done
echo data >"$2"
while [ $# -gt 0 ] && [ "$1" != env ] && [ "${1#/}" = "$1" -o "${1%.data}" != "$1" ]; do shift; done
exec "$@"
END
chmod +x "$scratch/fake/perf"
export NOTES=$scratch/notes
fake() { local PATH=$scratch/fake:$PATH; rm -f "$NOTES"; run "$@"; }

check run-with-all-three-ends-well fake 0 0002 --perf-record --c2c --mem
what=$(sed -nE 's/^words (record|c2c record|mem record) .*/\1/p' "$NOTES" | sort | uniq -c | tr -s '\n ' '  ')
why="asked for:$what"
check each-arm-once-by-each-tool [ "$what" = ' 3 c2c record 3 mem record 3 record ' ]
why="$(grep -m 1 words "$NOTES")"
check what-it-starts-is-the-measured-process eval "[ \$(grep -c \"^words .* $LOCUS-lap \$\" '$NOTES') = 9 ]"
check its-schedule-and-job-are-there eval "[ \$(grep -c '^fd 3 /memfd:locus-schedule' '$NOTES') = 9 ] &&
    [ \$(grep -c '^fd 4 /memfd:locus-job' '$NOTES') = 9 ]"
check options-of-record-stand-behind-dashes eval "[ \$(grep -cE '^words (c2c|mem) record -- -N -o [^ ]*.data /' '$NOTES') = 6 ]"
why="$(ls "$folder" 2>&1 | tr '\n' ' ')"
check output-lies-beside-the-log eval "[ \$(ls '$folder' | grep -cE '^[ABC]\.0\.(record|c2c|mem)\.(txt|data)\$') = 18 ]"
why="$(cat "$folder"/A.0.*.txt)"
check reports-are-of-the-tool eval "grep -q '^report: c2c report -i .*A.0.c2c.data' '$folder/A.0.c2c.txt' &&
    grep -q '^report: mem report -i .*B.0.mem.data' '$folder/B.0.mem.txt' &&
    grep -q '^report: report -i .*C.0.record.data' '$folder/C.0.record.txt'"
why="$(cat "$folder/profile.txt")"
check the-list-is-kept eval "[ \$(grep -c '^  [ABC] .* churn-touch/full: [ABC].0.*.txt' '$folder/profile.txt') = 9 ]"
samples=$("$LOCUS" record show --samples "$log" | grep -c '^{"t":"s"')
why="samples: $samples"
check profiled-processes-are-no-samples [ "$samples" = 6 ]
why=
check verify-finds-nothing-stray eval "'$LOCUS' verify --logs build/logs | grep -q 'all is well'"
check the-log-does-not-know eval "! grep -qi perf.data '$log' && ! grep -q 'perf-record' '$log'"

check one-arm-only fake 0 0002 --perf-record='-F 999 -e instructions' --profile-arm B
why="$(cat "$NOTES")"
check one-arm-with-options eval "[ \$(grep -c '^words ' '$NOTES') = 1 ] &&
    grep -q '^words record -N -o [^ ]*/B.0.record.data -F 999 -e instructions -- /' '$NOTES'"
if fake 0 0001 --perf-record --profile-arm E && ! said '^profile none'; then
    why="$(grep -m 2 'preload\|words' "$NOTES")"
    cells=$(jq -s '.[0].cells | length' "$log")
    check the-malloc-is-for-the-program-alone eval "[ \$(grep -c '^preload none' '$NOTES') = $cells ] &&
        [ \$(grep -c '^words .* env LD_PRELOAD=[^ ]*mimalloc[^ ]* $LOCUS-lap \$' '$NOTES') = $cells ]"
    why="$(grep profile -A 4 "$scratch/out")"
    check and-it-runs-with-it eval "[ \$(grep -c '^  E mimalloc .*E.[0-9]*.record.txt' '$scratch/out') = $cells ] &&
        ! said 'invalid process'"
else
    skip the-malloc-is-for-the-program-alone "$(grep '^profile none' "$scratch/out" || echo "$why")"
fi

export FAKE=broken
check what-is-not-supported-is-no-failure fake 0 0002 --mem --profile-arm A
why="$(cat "$scratch/out")"
check it-is-said-why said '^  A locus churn-touch/full: mem not supported: memory events not supported$'
check and-the-run-is-sealed eval "[ \$(tail -n 1 '$log' | jq -r .status) = complete ]"
FAKE=forbidden
check what-is-forbidden-is-no-failure fake 0 0002 --perf-record --profile-arm A
why="$(cat "$scratch/out")"
check the-words-of-perf-are-shown said '^  A locus .*: record not recorded: Access to performance monitoring is limited\.'
check no-file-is-left-of-it eval "[ \"\$(ls '$folder')\" = profile.txt ]"
unset FAKE

# --- refused beforehand --------------------------------------------------------------------------------------------------------

count() { find build/logs -name '*.jsonl' | wc -l; }
before=$(count)
refused() { # name, status, pattern, argument...
    local name=$1 status=$2 pattern=$3
    shift 3
    if run "$status" "$@" && [ "$(wc -l <"$scratch/err")" -eq 1 ] && said "^locus: .*$pattern" err &&
        [ "$(count)" = "$before" ]; then
        pass "$name"
    else
        fail "$name" "$why"
    fi
}
mkdir "$scratch/bare" && ln -s "$(command -v git)" "$scratch/bare/git" # a PATH without perf
without_perf() {
    PATH=$scratch/bare "$LOCUS" run 0002 --smoke --c2c >"$scratch/out" 2>"$scratch/err"
    [ $? -eq 2 ] && said '^locus: .*install linux-perf' err && [ "$(count)" = "$before" ]
}
why=
check without-perf-the-package-is-named without_perf
export PATH=$scratch/fake:$PATH
refused an-arm-that-is-not-there 2 "no arm 'Z'" 0002 --mem --profile-arm Z
refused an-arm-without-a-profile 2 'which profile' 0002 --profile-arm A
PATH=${PATH#*:}

# --- what git keeps ------------------------------------------------------------------------------------------------------------

if (cd "$REPO" && git rev-parse --is-inside-work-tree) >"$scratch/git" 2>&1; then
    ignored() { (cd "$REPO" && git check-ignore -q "logs/bm1/0002-x/20260101T000000Z-aaaaaa.perf/$1"); }
    check git-ignores-perfs-data ignored A.0.record.data
    check git-keeps-reports eval "! ignored A.0.record.txt && ! ignored profile.txt"
else
    skip git-ignores-perfs-data "this is no repository"
fi

# --- the real one --------------------------------------------------------------------------------------------------------------

if ! command -v perf >/dev/null || ! perf record -q -e cpu-clock -o "$scratch/try" true 2>"$scratch/err"; then
    skip perf-itself "perf is missing or may not be used here: $(head -n 2 "$scratch/err" | tr '\n' ' ')"
    done_testing
    exit
fi
check perf-itself-records run 0 0002 --perf-record --profile-arm A
why="$(grep -A 1 '^profile' "$scratch/out")"
check and-reports eval "grep -q 'Samples: ' '$folder/A.0.record.txt' && said '^  A locus churn-touch/full: A.0.record.txt'"
perf script -i "$folder/A.0.record.data" -F comm,pid >"$scratch/samples" 2>"$scratch/err"
why="of $(sort "$scratch/samples" | uniq -c | head -n 4 | tr -s '\n ' '; ')"
check all-samples-are-of-one-process eval "[ \$(awk '{ print \$NF }' '$scratch/samples' | sort -u | wc -l) = 1 ]"
check which-is-ours grep -q '^ *locus-lap ' "$scratch/samples"
why="$(grep -m 3 '%' "$folder/A.0.record.txt")"
check and-does-what-is-measured grep -qE ' locus-lap +.*(worker_main|locus_ops|tb_|locus_)' "$folder/A.0.record.txt"
if perf stat -e cycles true 2>&1 | grep -q 'not supported'; then
    check without-cycles-the-clock-is-used said 'A.0.record.txt, by cpu-clock: this host counts no cycles$'
    check c2c-and-mem-say-that-they-cannot run 0 0002 --c2c --mem --profile-arm A
    why="$(cat "$scratch/out")"
    check c2c-and-mem-say-why eval "[ \$(grep -cE '^  A .*: (c2c|mem) not supported: .{9,}' '$scratch/out') = 2 ]"
else
    skip without-cycles-the-clock-is-used "this host counts cycles"
fi
done_testing
