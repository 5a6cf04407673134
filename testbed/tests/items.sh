#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# items.bash, which runs everything else: does it notice what goes wrong? With lists of items made up for that. One line a case.
set -u
cd "$(dirname "$0")/../.." || exit 1
repo=$PWD
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
failures=0

# suite NAME: runs the list of standard input in a shell of its own; what it printed and its status.
suite() {
    mkdir -p "$scratch/$1/out"
    {
        echo "cd '$scratch/$1'; out=\$PWD/out; root=\$PWD; limit=\${LIMIT:-20}; . '$repo/testbed/tests/items.bash'"
        cat <<'END'
shell() { run "$name" bash -c "$1"; plain_verdict; }
script() { run "$name" bash -c "$1"; script_verdict; }
units() { run "$name" bash -c "$1"; unit_verdict tap "$out/report"; }
END
        cat
        echo 'items_run; items_end'
    } >"$scratch/$1/list"
    env -u ONLY JOBS=2 bash "$scratch/$1/list" >"$scratch/$1/said" 2>"$scratch/$1/err" </dev/null
    echo $? >"$scratch/$1/status"
}
says() { # case, suite, status, pattern of its last line, pattern of another line
    local status said=$scratch/$2/said
    status=$(cat "$scratch/$2/status")
    if [ "$status" -ne "$3" ] || [ -s "$scratch/$2/err" ] || ! tail -n 1 "$said" | grep -qE "^$4\$" || ! grep -qE "$5" "$said"; then
        echo "FAIL $1: exit $status: $(tail -n 4 "$said" "$scratch/$2/err" | tr '\n' ';')"
        failures=1
    else
        echo "PASS $1"
    fi
}

suite well <<'END'
item free one shell 'exit 0'
item free two script 'echo PASS a; echo PASS b; echo "SKIP c: no disk"'
item alone three shell 'echo no such thing; exit 77'
END
says what-passes-passes well 0 '3 passed, 0 failed, 2 skipped' '^  two +PASS .* 2 cases'
says a-skip-is-told-with-its-reason well 0 '3 passed.*' '^  three: no such thing'

suite failing <<'END'
item free one shell 'echo last words; exit 3'
item free two script 'echo PASS a; echo FAIL b: why'
END
says a-failure-fails failing 1 '1 passed, 2 failed, 0 skipped' 'FAIL .* exit 3'
says the-last-words-are-shown failing 1 '.*' '\| last words'
says the-failed-case-is-named failing 1 '.*' '^    FAIL b: why'
says the-end-names-it-once-more failing 1 '.*' '^      FAIL b: why'
says the-end-has-the-last-words-of-what-names-none failing 1 '.*' '^      last words'

LIMIT=1 suite hanging <<'END'
item free one shell 'sleep 60'
item free two shell 'exit 0'
END
says a-hang-is-a-failure hanging 1 '1 passed, 1 failed, 0 skipped' 'no end after 1 seconds'

suite silent <<'END'
item free one script 'exit 0'
END
says a-script-without-a-case-fails silent 1 '0 passed, 1 failed, 0 skipped' 'not one case'
suite unreported <<'END'
item free one units 'exit 0'
END
says a-unit-program-without-a-report-fails unreported 1 '0 passed, 1 failed, 0 skipped' 'not one case'
suite late <<'END'
item free one script 'echo PASS a; exit 4'
END
says a-script-that-fails-after-its-cases-fails late 1 '1 passed, 1 failed, 0 skipped' 'exit 4'
suite nothing <<'END'
item free one shell 'exit 77'
END
says nothing-but-skips-is-no-success nothing 1 '0 passed, 0 failed, 1 skipped' '^  one +SKIP'

suite killed <<'END'
murder() { kill -9 $BASHPID; }
forget() { run "$name" true; }
item free one murder
item free two forget
item free three shell 'exit 0'
END
says an-item-that-is-killed-is-a-failure killed 1 '1 passed, 2 failed, 0 skipped' '^  one +FAIL: it ended without a verdict'
says an-item-without-a-verdict-is-a-failure killed 1 '.*' '^  two +FAIL: it ended without a verdict'
suite lost <<'END'
start_one() { unset "waiting[0]"; return 1; }
item free one shell 'exit 0'
passed=5
END
says an-item-that-never-ran-is-no-success lost 1 '5 passed, 0 failed, 0 skipped' 'of 1 items 1 have no verdict'

# Each notes when it began and ended; who was there meanwhile?
suite classes <<'END'
note() { run "$name" bash -c "echo + $1 >>'$out/notes'; sleep 0.2; echo - $1 >>'$out/notes'"; plain_verdict; }
for n in 1 2 3; do
    item guest guest$n note g; item alone alone$n note a; item free free$n note f; item free more$n note f
done
END
says all-classes-are-run classes 0 '12 passed, 0 failed, 0 skipped' 'guest3'
overlaps=$(awk '{ n[$2] += $1 == "+" ? 1 : -1; all += $1 == "+" ? 1 : -1
    if (all > most) most = all
    if (n["g"] > 1) print "two guests"
    if (n["a"] && all > 1) print "not alone"
    if (all > 2) print "too many" } END { if (most != 2) print "never two" }' \
    "$scratch/classes/out/notes" | sort -u | tr '\n' ' ')
if [ -z "$overlaps" ]; then
    echo "PASS each-class-keeps-its-rule"
else
    echo "FAIL each-class-keeps-its-rule: $overlaps"
    failures=1
fi

suite many <<'END'
for n in {1..60}; do item free quick$n shell 'exit 0'; done
END
says quick-items-are-not-lost many 0 '60 passed, 0 failed, 0 skipped' 'quick60'
suite whole <<'END'
item free one script 'echo PASS a; echo FAIL x; sleep 0.3; echo FAIL y'
item free two script 'echo PASS b; echo FAIL z; sleep 0.3; echo FAIL w'
END
says output-is-counted-once whole 1 '2 passed, 4 failed, 0 skipped' '^failed:'
mixed=$(grep -nE '^  (one|two) |^    FAIL' "$scratch/whole/said" | cut -d : -f 2 | tr -s ' ' | cut -d ' ' -f 2,3 | paste -sd ' ')
case $mixed in
'one FAIL FAIL x FAIL y two FAIL FAIL z FAIL w' | 'two FAIL FAIL z FAIL w one FAIL FAIL x FAIL y') echo "PASS output-is-whole" ;;
*) echo "FAIL output-is-whole: $mixed"; failures=1 ;;
esac

# An interrupt ends what runs.
mkdir -p "$scratch/stop/out"
cat >"$scratch/stop/list" <<END
cd '$scratch/stop'; out=\$PWD/out; root=\$PWD; . '$repo/testbed/tests/items.bash'
sleeper() { run "\$name" bash -c 'echo \$\$ >pid; exec sleep 60'; plain_verdict; }
item free one sleeper
items_run; items_end
END
bash "$scratch/stop/list" >"$scratch/stop/said" 2>&1 &
suite=$!
for _ in {1..100}; do [ ! -s "$scratch/stop/pid" ] || break; sleep 0.1; done
kill -TERM $suite
wait $suite
status=$?
sleeper=$(cat "$scratch/stop/pid")
for _ in {1..50}; do kill -0 "$sleeper" 2>/dev/null || break; sleep 0.1; done
if [ $status -eq 130 ] && [ -n "$sleeper" ] && ! kill -0 "$sleeper" 2>/dev/null; then
    echo "PASS an-interrupt-ends-what-runs"
else
    echo "FAIL an-interrupt-ends-what-runs: exit $status, process $sleeper"
    failures=1
fi
exit $failures
