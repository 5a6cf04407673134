#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The queue of a host on which the doctor is never content, or content later (roles/runner/files/queue.sh). A script stands in for
# the program, so that nothing is measured: it is unfit for each finding that a file names. campaign.sh runs real campaigns.
set -u
. "$(dirname "$0")/../../testbed/tests/cases.bash"
cd "$(dirname "$0")/../.." || exit 1
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null LOCUS_QUEUE=$scratch/queue LOCUS_QUEUE_PAUSE=0.1
export GIT_{AUTHOR,COMMITTER}_NAME=queue GIT_{AUTHOR,COMMITTER}_EMAIL=queue@example.org
tree=$scratch/tree
mkdir -p "$tree/build/gcc" "$tree/ansible/roles/runner/files" "$LOCUS_QUEUE"
cp ansible/roles/runner/files/queue.sh "$tree/ansible/roles/runner/files/"
echo build >"$tree/.gitignore"
git -C "$tree" init -q -b main && git -C "$tree" add -A && git -C "$tree" commit -q -m fixture || exit 1
commit=$(git -C "$tree" rev-parse HEAD)
echo "$commit" >"$tree/build/gcc/commit"
cat >"$tree/build/gcc/locus" <<'LOCUS'
#!/bin/sh
cd "$(dirname "$0")" || exit 1
case $1 in
doctor)
    shift 2
    [ "$1" != nonsense ] || { echo "locus: doctor: there is no finding 'nonsense' here" >&2; exit 2; }
    for id; do grep -qx "$id" unfit && echo "UNFIT $id it is" && status=1; done
    exit ${status-0}
    ;;
run) echo "$2" >>ran ;;
esac
LOCUS
chmod +x "$tree/build/gcc/locus"

queue() { sh "$tree/ansible/roles/runner/files/queue.sh" "$@"; }
add() { printf '%s\n' "commit $commit" 'host test' "${@:2}" | queue add "$1"; } # NAME ENTRY...
unfit() { printf '%s\n' "$@" >"$tree/build/gcc/unfit"; }
state() { queue wait "$1" 0 | head -n 1; }
ran() { sort "$tree/build/gcc/ran" | paste -sd ' '; }
worker= # waits, as its jobs do
work() { queue work & worker=$!; }
soon() { # command...
    for _ in {1..100}; do "$@" && return; sleep 0.1; done
    return 1
}
is() { [ "$(state "$1")" = "$2" ]; } # NAME STATE
said() { # NAME EXPRESSION
    why=$(queue wait "$1" 0)
    grep -qE -- "$2" <<<"$why"
}

unfit load thp
for job in a b c d; do add $job 'fit load thp' "run 000$job"; done
add free 'run 0009'
work
check 'a job that wants nothing of the host runs beside four that are held' soon is free 'done'
check 'the four are held' eval 'soon is a held && soon is d held && is b held && is c held'
check 'none of them has failed' eval '[ -z "$(ls "$LOCUS_QUEUE/failed")" ]'
check 'the reason is said, and until when' said a '^queue: not fit to measure: load thp. Held since [0-9TZ:-]+, tried at .*, fails at'
check 'and listed' eval 'queue list | grep "^held  *a 000a (not fit to measure: load thp"'
check 'the worker waits with them' kill -0 "$worker"
unfit load
check 'where one thing is mended it says what is left' soon said a 'not fit to measure: load[.]'
unfit
wait $worker
check 'when the host is fit all run, once each, and the worker ends' test "$? $(ran)" = '0 0009 000a 000b 000c 000d'

unfit load
add e 'fit load' 'run 000e'
work
soon is e held
kill "$worker"
wait "$worker" 2>/dev/null
check 'a worker that dies leaves a held job waiting' is e held
unfit
check 'and the next one runs it' eval 'queue work && is e done'

unfit load
add f 'fit load' 'patience 1' 'run 000f'
work
soon is f held
touch -d '61 seconds ago' "$LOCUS_QUEUE/.f.held"
wait "$worker"
check 'after its patience it has failed' is f failed
check 'with the reason, the time and the way back' said f \
    'not fit to measure: load, from [0-9TZ:-]+ to .* Nothing was measured.* requeue it: sh .*/queue.sh again f$'
unfit
check 'that way leads back' eval 'queue again f && is f waiting && queue work && is f done'
check 'what has not failed is not put back' eval '! queue again f'
unfit load
add g 'fit load' 'patience 0' 'run 000g'
check 'without patience it fails at once' eval 'queue work && is g failed'
add h 'fit nonsense' 'run 000h'
check 'what no host can be is not waited for' eval 'queue work && is h failed && said h nonsense'
add i 'patience long' 'run 000i'
check 'nor is a patience that is none' eval 'queue work && is i failed && said i "no number of minutes"'
done_testing
