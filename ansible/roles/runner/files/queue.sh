#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# queue.sh: the campaigns of this host, one at a time. See --help.
#
# A job is one file: QUEUE/NAME.job waits, then moves to running/, then to done/ or failed/, with its output, NAME.log, beside it.
# The worker holds the lock of QUEUE/lock, and so does every process that it started: if only the worker is killed, nothing else
# measures beside the run that goes on. A job in running/ while the lock is free was interrupted. It has failed and is not
# restarted: its log has no seal, and a second try would hide that. A job for which the host is not fit has measured nothing. It
# waits on, with the reason in QUEUE/NAME.log, and is tried again until its patience has ended; QUEUE/.NAME.held is as old as the
# first try.
set -u
export LC_ALL=C GIT_OPTIONAL_LOCKS=0
queue=${LOCUS_QUEUE:-/var/spool/locus}
checkout=$(cd "$(dirname "$0")/../../../.." && pwd)
locus=$checkout/build/gcc/locus
pause=${LOCUS_QUEUE_PAUSE:-60}
not_fit=75 # EX_TEMPFAIL

usage() {
    cat <<'END'
usage: queue.sh COMMAND        (LOCUS_QUEUE: the folder of the queue, /var/spool/locus)
                               (LOCUS_QUEUE_PAUSE: seconds until held jobs are tried again, 60)

  add NAME           adds a job, read from stdin
  add --alone NAME   the same, unless another job waits or runs
  again NAME         puts a failed job back, behind those that wait
  work               runs waiting jobs, oldest first, until none is left; those for which the host is not fit are held, and tried
                     again until they run or their patience has ended
  start              the same, in the background
  wait NAME SECONDS  waits at most that long for the job's end; prints its state (waiting, held, running, done, failed) and its
                     output
  list               lists all jobs, one per line

A job has one entry per line:

  commit HASH        the full hash that must be checked out
  host NAME          this host's name in the record
  fit ID ID          findings of `locus doctor` that must be fit before anything is measured
  patience MINUTES   how long to hold the job while the host is not fit (4320, three days); then it has failed
  traces FOLDER      the folder of recorded traces
  run NNNN           a postulate to file, if necessary, and run officially; may be repeated

Exit status: 0 done (for work: whatever the jobs' outcome); 1 not done; 2 bad input.
END
}

cannot() { # why, exit status
    echo "queue: $1" >&2
    exit "${2:-1}"
}

# --- one campaign --------------------------------------------------------------------------------------------------------------

read_job() { # file
    commit='' host='' fit='' numbers='' patience=4320
    while read -r key value; do
        case $key in
        commit) commit=$value ;;
        host) host=$value ;;
        fit) fit=$value ;;
        patience) patience=$value ;;
        traces) export LOCUS_TRACES="$value" ;;
        run) numbers="$numbers $value" ;;
        '' | '#'*) ;;
        *) cannot "'$key' is nothing that a job can say (see: queue.sh --help)" 2 ;;
        esac
    done <"$1"
    case $patience in '' | *[!0-9]*) cannot "patience '$patience' is no number of minutes" 2 ;; esac
    [ -n "$commit" ] && [ -n "$host" ] && [ -n "$numbers" ] || cannot 'a job needs commit, host and run (see: queue.sh --help)' 2
}

check_checkout() {
    head=$(git rev-parse HEAD) || cannot "$checkout is no git repository that $(id -un) may use"
    [ "$head" = "$commit" ] || cannot "$checkout is at $head, not at $commit: ansible-playbook provision.yml"
    changes=$(git status --porcelain -- . ':!logs' | head -n 1)
    [ -z "$changes" ] || cannot "$checkout is not clean ($changes). A log names its commit: commit it, or remove it"
    [ -x "$locus" ] && [ "$(cat "$checkout/build/gcc/commit")" = "$commit" ] ||
        cannot "$locus was not built from $commit: ansible-playbook provision.yml"
}

check_fit() {
    [ -n "$fit" ] || return 0
    # shellcheck disable=SC2086 # a list
    found=$("$locus" doctor --check $fit 2>&1)
    status=$?
    [ $status -ne 0 ] || return 0
    echo "$found"
    [ $status -eq 1 ] || cannot 'locus doctor cannot look'
    cannot "not fit to measure: $(echo "$found" | awk '/^(UNFIT|unknown) / { print $2 }' | paste -sd ' ' -)" $not_fit
}

prepare() { # job: whether it can run
    read_job "$1"
    cd "$checkout" || exit 1
    check_checkout
    check_fit
}

campaign() { # job
    read_job "$1"
    cd "$checkout" || exit 1
    export LOCUS_HOST="$host"
    for number in $numbers; do
        "$locus" postulate file "$number" || cannot "$number was not filed"
        "$locus" run "$number" --official --quiet || cannot "the run of $number was not sealed, or is INVALID"
    done
    "$locus" verify --host "$host" || cannot 'locus verify found something wrong'
}

# --- the queue -----------------------------------------------------------------------------------------------------------------

name_is_good() {
    case $1 in
    '' | .* | -* | *[!A-Za-z0-9._-]*) cannot "'$1' cannot name a job: letters, digits, dots, dashes, underlines" 2 ;;
    esac
}

# A job's state: the name of its folder.
where() { # name
    for folder in running done failed; do
        [ ! -e "$queue/$folder/$1.job" ] || { echo $folder; return; }
    done
    [ ! -e "$queue/$1.job" ] || if [ -e "$queue/.$1.held" ]; then echo held; else echo waiting; fi
}
output() { # name, state
    case $2 in waiting | held) echo "$queue/$1.log" ;; *) echo "$queue/$2/$1.log" ;; esac
}

# shellcheck disable=SC2012 # names are plain
oldest() { # which of those that wait, but for these: " NAME NAME "
    for name in $(ls -tr "$queue" 2>/dev/null | sed -n 's/\.job$//p'); do
        case $1 in *" $name "*) ;; *) echo "$name"; return ;; esac
    done
}

end() { # name, folder: the job moves last, because others look for it
    rm -f "$queue/.$1.held"
    mv "$queue/running/$1.log" "$queue/$2/" && mv "$queue/running/$1.job" "$queue/$2/"
}

stamp() { date -u -d "@$1" +%FT%TZ; } # seconds since 1970

hold() { # name; the last line of its log is the reason
    log=$queue/.$1.log reason=$(tail -n 1 "$queue/.$1.log") now=$(date +%s)
    [ -e "$queue/.$1.held" ] || : >"$queue/.$1.held"
    read_job "$queue/$1.job"
    since=$(stat -c %Y "$queue/.$1.held")
    until=$((since + patience * 60))
    sed -i '$d' "$log"
    if [ "$now" -lt $until ]; then
        echo "$reason. Held since $(stamp "$since"), tried at $(stamp "$now"), fails at $(stamp $until)" >>"$log"
        mv "$log" "$queue/$1.log"
    else
        echo "$reason, from $(stamp "$since") to $(stamp "$now"). Nothing was measured. The remedies are above; then requeue it:" \
            "sh $checkout/ansible/roles/runner/files/queue.sh again $1" >>"$log"
        begin "$1" && end "$1" failed
    fi
}

begin() { # name: from here on it is running
    mv "$queue/.$1.log" "$queue/running/$1.log" && mv "$queue/$1.job" "$queue/running/" && rm -f "$queue/$1.log" || exit 1
}

try() { # name
    (prepare "$queue/$1.job") >"$queue/.$1.log" 2>&1 </dev/null
    ready=$?
    [ $ready -ne $not_fit ] || { hold "$1"; return; }
    begin "$1"
    if [ $ready -eq 0 ] && (campaign "$queue/running/$1.job") >>"$queue/running/$1.log" 2>&1 </dev/null; then
        end "$1" 'done'
    else
        end "$1" failed
    fi
}

work() {
    mkdir -p "$queue/running" "$queue/done" "$queue/failed" && exec 9>>"$queue/lock" ||
        cannot "$(id -un) cannot write $queue: run ansible-playbook provision.yml"
    flock 9
    for job in "$queue"/running/*.job; do
        [ -e "$job" ] || continue
        name=$(basename "$job" .job)
        echo "queue: $name was interrupted: the host or its processes died. Its log stays, without a seal" >>"${job%.job}.log"
        end "$name" failed
    done
    tried=' '
    while [ -n "$(oldest ' ')" ]; do
        name=$(oldest "$tried")
        if [ -n "$name" ]; then
            tried="$tried$name "
            try "$name"
        else # all that are left are held
            sleep "$pause" 9>&-
            tried=' '
        fi
    done
}

add() { # --alone, name
    alone=
    [ "$1" != --alone ] || { alone=yes; shift; }
    name_is_good "$1"
    [ -d "$queue" ] && [ -w "$queue" ] || cannot "$(id -un) cannot write $queue: run ansible-playbook provision.yml"
    [ -z "$(where "$1")" ] || cannot "there is a job $1 already"
    if [ -n "$alone" ]; then
        other=$(oldest ' ')
        # free: no worker, so a job in running/ was interrupted
        flock -n "$queue/lock" true || other=$(ls "$queue/running" | sed -n 's/\.job$//p')
        [ -z "$other" ] || cannot "$other is under way on this host (queue.sh list): wait until it has ended"
    fi
    cat >"$queue/.$1" && mv "$queue/.$1" "$queue/$1.job"
}

again() { # name
    name_is_good "$1"
    [ "$(where "$1")" = failed ] || cannot "there is no failed job $1 (see: queue.sh list)"
    touch "$queue/failed/$1.job" && mv "$queue/failed/$1.job" "$queue/"
}

wait_for() { # name, seconds
    name_is_good "$1"
    left=$2
    while state=$(where "$1") && [ "$left" -gt 0 ]; do
        case $state in 'done' | failed) break ;; esac
        sleep 1
        left=$((left - 1))
    done
    [ -n "$state" ] || cannot "there is no job $1 (see: queue.sh list)"
    echo "$state"
    cat "$(output "$1" "$state")" 2>/dev/null
    return 0
}

list() {
    for job in "$queue"/done/*.job "$queue"/failed/*.job "$queue"/running/*.job "$queue"/*.job; do
        [ -e "$job" ] || continue
        name=$(basename "$job" .job)
        state=$(where "$name") why=
        [ "$state" != held ] || why=$(sed -n 's/^queue: \(not fit .*\)/ (\1)/p' "$queue/$name.log")
        printf '%-8s %s %s%s\n' "$state" "$name" "$(sed -n 's/^run //p' "$job" | paste -sd ' ' -)" "$why"
    done
}

case ${1-}/$# in
add/2 | add/3) shift && add "$@" ;;
again/2) again "$2" ;;
work/1) work ;;
start/1) setsid -f sh "$0" work >/dev/null 2>&1 </dev/null ;;
wait/3) wait_for "$2" "$3" ;;
list/1) list ;;
--help/1) usage ;;
*) cannot 'which command? (see: queue.sh --help)' 2 ;;
esac
