#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus doctor from outside, on this host: it reports what the shell reads from the same files; options, exit statuses, scripts,
# another user's view, and what a run writes into its log. LOCUS=path/to/locus, REPO the project.
set -u
: "${LOCUS:?LOCUS must name the program}"
LOCUS=$(realpath "$LOCUS")
REPO=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
. "$(dirname "$0")/cases.bash"
export LOCUS_HOST=test-host GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
unset LOCUS_GUEST

exits() { prints "$1" "$2" "$3" "$LOCUS" doctor "${@:4}"; } # name, status, pattern of a line on either stream, argument...

# --- true facts ----------------------------------------------------------------------------------------------------------------

"$LOCUS" doctor --json >"$scratch/json" || fail json "exit $?"
holds json_is_json "$(head -c 200 "$scratch/json")" jq -e '.findings | length >= 30' "$scratch/json"
facts=0
fact() { # id, how `now` has to begin
    local now
    now=$(jq -r --arg id "$1" '.findings[] | select(.id == $id) | .now' "$scratch/json")
    facts=$((facts + 1))
    case $now in
    "$2"*) pass "fact: $1" ;;
    *) fail "fact: $1" "'$now', and the shell reads '$2'" ;;
    esac
}
file_fact() { # id, file, folder: what is not there is ABSENT, and of several words the one in brackets counts
    local value
    if value=$(cat "$2" 2>/dev/null); then
        case $value in *\[*) value=${value#*[} value=${value%%]*} ;; esac
        fact "$1" "$value"
    elif [ -d "$3" ]; then
        fact "$1" "ABSENT: "
    fi
}
mm=/sys/kernel/mm
file_fact thp $mm/transparent_hugepage/enabled $mm
file_fact thp-defrag $mm/transparent_hugepage/defrag $mm
file_fact khugepaged $mm/transparent_hugepage/khugepaged/defrag $mm
file_fact ksm $mm/ksm/run $mm
file_fact demotion $mm/numa/demotion_enabled $mm
file_fact numa-balancing /proc/sys/kernel/numa_balancing /proc/sys/kernel
file_fact nmi-watchdog /proc/sys/kernel/nmi_watchdog /proc/sys/kernel
file_fact perf-paranoid /proc/sys/kernel/perf_event_paranoid /proc/sys/kernel
file_fact aslr /proc/sys/kernel/randomize_va_space /proc/sys/kernel
file_fact zone-reclaim /proc/sys/vm/zone_reclaim_mode /proc/sys/vm
file_fact swappiness /proc/sys/vm/swappiness /proc/sys/vm
file_fact clocksource /sys/devices/system/clocksource/clocksource0/current_clocksource /sys/devices/system/clocksource
file_fact smt /sys/devices/system/cpu/smt/control /sys/devices/system/cpu
governors=$(cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor 2>/dev/null | sort -u | wc -l)
[ "$governors" != 0 ] || fact governor 'ABSENT: '
[ "$governors" != 1 ] || fact governor "$(cat /sys/devices/system/cpu/cpufreq/policy*/scaling_governor | head -n 1) ("
swaps=$(tail -n +2 /proc/swaps | wc -l)
if [ "$swaps" = 0 ]; then fact swap off; else fact swap "$swaps device"; fi
fact open-files "$(ulimit -n)"
isolated=$(cat /sys/devices/system/cpu/isolated)
fact isolation "isolcpus ${isolated:-none}, "
case $(grep -m 1 '^flags' /proc/cpuinfo) in
*' hypervisor '*) fact machine virtual ;;
flags*) fact machine 'bare metal' ;;
esac
case $(sed -n 's/^Seccomp:[^0-9]*//p' /proc/self/status) in
0) fact seccomp '0 (none)' ;;
[12]) fact seccomp "$(sed -n 's/^Seccomp:[^0-9]*//p' /proc/self/status) (filtered)" ;;
esac
vulnerable=$(cat /sys/devices/system/cpu/vulnerabilities/* | grep -c '^Vulnerable')
fact mitigations "$(cat /sys/devices/system/cpu/vulnerabilities/* | grep -c '^Mitigation') mitigated, $vulnerable open"
holds ten_true_facts_at_least "$facts" test $facts -ge 10
# Which of these files a host has depends on its kernel. Without the right to write, doctor_test.c shows that no command is given.
both_commands() { # id, file
    if [ "$(id -u)" = 0 ] && [ -w "$2" ]; then
        holds "both commands: $1" "$(jq -c --arg id "$1" '.findings[] | select(.id == $id)' "$scratch/json")" \
            jq -e --arg id "$1" 'any(.findings[]; .id == $id and .change and .restore)' "$scratch/json"
    else
        skip "both commands: $1" "$2 cannot be written here"
    fi
}
both_commands thp $mm/transparent_hugepage/enabled
both_commands thp-defrag $mm/transparent_hugepage/defrag
both_commands khugepaged $mm/transparent_hugepage/khugepaged/defrag
both_commands ksm $mm/ksm/run
both_commands demotion $mm/numa/demotion_enabled
both_commands numa-balancing /proc/sys/kernel/numa_balancing
both_commands zone-reclaim /proc/sys/vm/zone_reclaim_mode
both_commands perf-paranoid /proc/sys/kernel/perf_event_paranoid
holds commands_come_in_pairs "" jq -e 'all(.findings[]; (.change == null) == (.restore == null))' "$scratch/json"
holds what_is_not_fit_can_be_changed_or_has_a_remedy \
    "$(jq -c '[.findings[] | select(.state != "fit" and .change == null and .remedy == null) | .id]' "$scratch/json")" \
    jq -e 'all(.findings[] | select(.state == "unfit"); .change or .remedy)' "$scratch/json"
holds knobs_are_files_with_that_value "" eval 'jq -r ".findings[].knobs[] | [.path, .now] | @tsv" "$scratch/json" |
    while IFS="$(printf "\t")" read -r path now; do grep -qwF -- "$now" "$path" || exit 1; done'

# --- what a person sees --------------------------------------------------------------------------------------------------------

exits quiet_in_a_pipe 0 '^fit: '
holds no_colour_in_a_pipe "" eval '! grep -q "$(printf "\033")" "$scratch/out"'
holds the_answer_is_the_last_line "$(tail -n 2 "$scratch/out")" \
    eval 'tail -n 2 "$scratch/out" | tr "\n" " " | grep -Eq "can spoil a figure|[Ff]it to measure|Not known to be fit"'
holds one_screen "$(wc -l <"$scratch/out") lines" test "$(wc -l <"$scratch/out")" -le 70
exits all_of_it 0 '^fit .*' --all
exits one_finding_in_full 0 '^ *echo [0-9-]* >/proc/sys/kernel/perf_event_paranoid' perf-paranoid
holds only_this_one "$(cat "$scratch/out")" test "$(grep -cE '^(UNFIT|unknown|note|fit) ' "$scratch/out")" = 1
exits help_teaches_by_example 0 'locus doctor --restore >back.sh' --help
exits unknown_finding 2 "there is no finding 'moon'" moon
exits unknown_option 2 "option '--bogus'" --bogus
exits one_answer_at_a_time 2 'ask for one' --json --change
exits missing_root 2 "no folder '$scratch/nowhere'" --root "$scratch/nowhere"
if [ -w /dev/full ]; then
    "$LOCUS" doctor >/dev/full 2>"$scratch/err"
    holds full_disk "exit $?" test $? = 1 -a "$(wc -l <"$scratch/err")" = 1
    "$LOCUS" doctor --json >/dev/full 2>"$scratch/err"
    holds full_disk_for_json "exit $?: $(cat "$scratch/err")" \
        grep -qx 'locus: standard output: No space left on device' "$scratch/err"
else
    skip full_disk "there is no /dev/full"
fi

# --- exit statuses, another host's files, another user -------------------------------------------------------------------------

mkdir "$scratch/tree"
exits a_copy_without_files_is_unknown 0 'Not known to be fit' --root "$scratch/tree"
exits and_fails_the_check 1 'Not known to be fit' --check --root "$scratch/tree"
holds nothing_of_it_is_fit "$(cat "$scratch/out")" eval '! grep -q "^fit" "$scratch/out"'
mkdir -p "$scratch/tree/proc/sys/kernel"
echo 1 >"$scratch/tree/proc/sys/kernel/numa_balancing"
exits a_copy_is_looked_at 0 '^UNFIT .*1 (on)' --root "$scratch/tree" numa-balancing
exits what_is_asked_for_is_checked 1 'can spoil' --check --root "$scratch/tree" numa-balancing
echo 0 >"$scratch/tree/proc/sys/kernel/numa_balancing"
exits one_fit_finding_passes_the_check 0 'Fit to measure' --check --root "$scratch/tree" numa-balancing
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$scratch" "$scratch/tree"
    chmod 000 "$scratch/tree/proc/sys/kernel/numa_balancing"
    cp "$LOCUS" "$scratch/locus"
    holds another_user_is_told_what_may_not_be_read "" eval \
        'setpriv --reuid 65534 --clear-groups "$scratch/locus" doctor --root "$scratch/tree" numa-balancing |
            grep -q "^unknown .*Permission"'
    holds another_user_gets_an_answer "" \
        setpriv --reuid 65534 --clear-groups "$scratch/locus" doctor
else
    skip another_user "needs root, to be another one"
fi

# --- scripts -------------------------------------------------------------------------------------------------------------------

for shell in sh bash 'busybox sh'; do
    $shell -c : 2>/dev/null || continue
    for script in --change --restore; do
        "$LOCUS" doctor $script >"$scratch/script"
        holds "$shell reads $script" "" $shell -n "$scratch/script"
    done
done

# --- in the log ----------------------------------------------------------------------------------------------------------------

mkdir -p "$scratch/project/postulates" && cd "$scratch/project" || exit 1
cp "$REPO"/postulates/0002-*.md postulates/
"$LOCUS" run 0002 --smoke -q >"$scratch/out" 2>&1 || true
log=$(find build/logs -name '*.jsonl' -path '*0002*' | head -n 1)
holds a_run_logs_its_host "$(tail -n 2 "$scratch/out")" eval \
    'head -n 1 "$log" | jq -e ".doctor | (.fit | type == \"boolean\") and (.findings | length >= 30)"'
holds the_log_has_what_the_doctor_says "" eval '[ "$(head -n 1 "$log" | jq -c "[.doctor.findings | to_entries[] |
    select(.key | test(\"thp|numa|ksm|swap|clock\")) | [.key, .value.now]]")" = "$(jq -c "[.findings[] |
    select(.id | test(\"thp|numa|ksm|swap|clock\")) | [.id, .now]]" "$scratch/json")" ]'
holds no_command_goes_into_a_log "" eval '! head -n 1 "$log" | jq -c .doctor | grep -q "echo \|swapo\|/dev/"'
holds the_log_verifies "" "$LOCUS" verify --logs build/logs
holds the_report_folds_it "" \
    eval '"$LOCUS" report --logs build/logs -o report.html && grep -q "<summary><h2>Host: " report/0*.html'
"$LOCUS" record show "$log" >shown.md 2>&1
holds what_is_shown_has_a_line "" grep -qE '^## Host: (fit|[0-9]+ findings?: [a-z, -]+|not known)' shown.md
done_testing
