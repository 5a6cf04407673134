#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus packet and locus packet import, for sender and receiver: LOCUS=path/to/locus BUILD=build/VARIANT. LOCUS_ASAN also gets the
# bad packets.
#
# One packet of smoke runs is made and unpacked. A case changes a copy, and packs it as `locus packet` does (packer); a patient
# forger also updates all hashes (reseal).
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
REPO=${REPO:-$(cd "$(dirname "$0")/../.." && pwd)}
LOCUS=$(realpath "$LOCUS") forge=$(realpath "$BUILD")/testbed/record/tests/record_forge_scenario
. "$(dirname "$0")/cases.bash"
export LOCUS_HOST=bm1 TMPDIR="$scratch/tmp" GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
unset LOCUS_GUEST GIT_DIR GIT_WORK_TREE
mkdir "$TMPDIR" && mkdir -p "$scratch/theirs" "$scratch/ours" && cd "$scratch/theirs" || exit 1
for place in theirs ours; do
    mkdir "$scratch/$place/postulates" && cp "$REPO"/postulates/{0002,0010,0011}-*.md "$scratch/$place/postulates/" || exit 1
done

ustar=(--format=ustar --owner=0 --group=0 --numeric-owner --mtime=@0 --mode=u=rw,go=r)
# packer ARCHIVE FOLDER: FOLDER/HOST/... as a packet.
packer() {
    (cd "$2" && find ./* ! -type d | cut -c 3- | LC_ALL=C sort >"$scratch/list" &&
        tar --create --file "$1" "${ustar[@]}" --no-recursion --files-from "$scratch/list")
}

# In HOST/: as if all of it had been sealed as it is now.
reseal() {
    local files name
    files=$(tail -n 1 ledger.jsonl | jq -c .files)
    for name in $(jq -r 'keys[] | select(contains("..") | not)' <<<"$files"); do
        if [ -e "$name" ]; then
            files=$(jq -c --arg name "$name" --arg hash "$(sha256sum <"$name" | cut -c 1-64)" '.[$name] = $hash' <<<"$files")
        else
            files=$(jq -c --arg name "$name" 'del(.[$name])' <<<"$files")
        fi
    done
    { head -n -1 ledger.jsonl && tail -n 1 ledger.jsonl | jq -c --argjson files "$files" '.files = $files'; } >new &&
        mv new ledger.jsonl && "$forge" chain ledger.jsonl &&
        echo "bm1 $(stat -c %s ledger.jsonl) $(tail -n 1 ledger.jsonl | jq -r .h)" >seal
}

contents() { (cd "$1" && find . -type f -exec sha256sum {} + | sort -k 2); }

# --- making one ----------------------------------------------------------------------------------------------------------------

refuses unknown_postulate 2 '9999-.*there is no such postulate here' packet 9999
refuses what_is_no_number 2 "'churn' is not the number of a postulate" packet churn
refuses numbers_with_full 2 'no numbers' packet --full 0002
refuses no_packet 2 'which packet' packet import
refuses two_packets 2 'one packet or folder at a time' packet import x y
refuses a_key_and_a_checkpoint 2 'one of them' packet import x --key y --checkpoints z
refuses a_signed_folder 1 'only a packet is signed' packet import "$REPO/logs/guest-n2" --key x --logs build
refuses a_folder_that_is_not_there 2 'nowhere/p.tar: .*Name another place' packet --smoke 0010 -o nowhere/p.tar
refuses official_outside_a_repository 1 'repository' packet 0010 -o p.tar
refuses no_record_to_pack 1 'ledger.jsonl: No such file' packet --no-run -o p.tar
why="something was left behind: $(ls)"
check a_refused_packet_leaves_nothing [ "$(ls)" = postulates ]

check list_says_how_long locus 0 packet --list 0010 0002
check what_has_a_successor_is_left_out eval "(cd '$REPO' && '$LOCUS' packet --full --list) >'$scratch/full' 2>'$err' &&
    grep -q '^0085 engine-on-two-sockets' '$scratch/full' && ! grep -q '^0082 ' '$scratch/full'"
check list_names_them grep -q '^0010 cross-node-write-touch  *~ .* s  *named' "$out"
check list_says_how_long_all_takes grep -qE 'about [0-9]+ (s|min)[.]' "$out"

LOCUS_HOST=somebody-s-desk check packet_is_made locus 0 packet --smoke --host bm1 0010 -o p.tar
why="not silent: $(head -n 1 "$err")"
check it_is_quiet_in_a_pipe [ ! -s "$err" ]
why=
check one_node_is_said_to_be_too_few grep -q '^0010 .*unmeasurable-on-host: needs cpu_nodes >= 2, and here is 1 node' "$out"
check it_says_that_smoke_proves_nothing grep -q '^packet  *p.tar, .*prove nothing' "$out"
mkdir "$scratch/good" && check tar_unpacks_it tar -C "$scratch/good" -xf p.tar
at=$scratch/good/bm1 made=$(ls "$scratch/good/bm1/packet")
tail -n 1 "$at/ledger.jsonl" >"$scratch/line"
says the_ledger_says_what_it_is '.t == "packet" and .format == 3 and (.kind | IN("hardware", "virtual", "unknown")) and
    (.program.commit | length > 6) and (.files | length) == 4' "$scratch/line"
for file in topo doctor matrix; do says "$file"_is_there 'type == "object"' "$at/packet/$made/$file.json"; done
check hwloc_reads_its_topology locus 0 topo --topology "$at/packet/$made/topo.xml"
says the_matrix_names_it_as_the_packet_does '.head.host == "bm1"' "$at/packet/$made/matrix.json"
check no_other_name_of_it_is_in_the_packet eval "! grep -rq somebody-s-desk '$at'"
names_nobody() { ! grep -rqiE "HostName\" value=\"[^\"]|$(hostname)[^a-z]" "$at/packet"; }
[ "$(hostname | wc -c)" -lt 7 ] || check it_does_not_name_the_machine names_nobody
packer "$scratch/again.tar" "$scratch/good"
check packed_again_it_is_the_same cmp p.tar "$scratch/again.tar"
check verify_knows_of_it eval "'$LOCUS' verify --logs build/logs | grep -q ', 1 packet: all is well'"
check what_is_on_record_is_not_repeated eval "'$LOCUS' packet --smoke 0010 -o q.tar | grep -q '(from before)'"
refuses an_archive_is_not_overwritten 2 'p.tar: is there already' packet --smoke 0010 -o p.tar

# --- what must not be believed -------------------------------------------------------------------------------------------------

# wrong NAME WORD ARCHIVE: by each program exit 1, the word is said, nothing is filed and nothing is left.
wrong() {
    local name=$1 word=$2 archive=$3 program
    for program in "$LOCUS" "${LOCUS_ASAN:-}"; do
        [ -n "$program" ] || continue
        (cd "$scratch/ours" && exec "$program" packet import "$archive" --logs build/logs) >"$out" 2>"$err" </dev/null
        why="exit $?: $(cat "$out" "$err" | head -n 3)"
        if [ "${why%%:*}" != 'exit 1' ]; then break; fi
        grep -q -- "$word" "$out" "$err" || break
        [ "$(grep -c '^locus: ' "$err")" -eq 1 ] && [ "$(wc -l <"$err")" -eq 1 ] || break
        why="something was filed or left: $(find "$scratch/ours/build" "$TMPDIR" -mindepth 1)"
        [ -z "$(find "$scratch/ours/build" "$TMPDIR" -mindepth 1 ! -name logs)" ] || break
        why=
    done
    if [ -z "$why" ]; then pass "$name"; else fail "$name" "$why"; fi
    rm -rf "$scratch/ours/build"/*
}
mkdir "$scratch/ours/build"

# changed NAME WORD COMMAND...: the command changes a copy of the unpacked packet in the folder "bm1".
changed() {
    local name=$1 word=$2
    shift 2
    rm -rf "$scratch/copy" && cp -a "$scratch/good" "$scratch/copy" &&
        (cd "$scratch/copy/bm1" && eval "$*" && $reseal && packer "$scratch/changed.tar" "$scratch/copy") >"$scratch/change" 2>&1 ||
        { fail "$name" "the change could not be made: $(tail -n 1 "$scratch/change")"; return; }
    wrong "$name" "$word" "$scratch/changed.tar"
}
# The ledger's word on the log's last hash, brought up to date.
closed_anew() {
    local head
    head=$(tail -n 1 "$log" | jq -r .h) &&
        sed -i "/\"t\":\"close\"/s/\"log_head\":\"[0-9a-f]*\"/\"log_head\":\"$head\"/" ledger.jsonl
}
reseal=true
log=$(cd "$at" && echo 0010-*/*.jsonl)
changed a_changed_log "bm1/$log:[0-9]*: " "sed -i s/unmeasurable/survived/ $log"
changed a_changed_topology "topo.json:1: changed: not the packet.s file sealed" "sed -i s/nodes/modes/ packet/*/topo.json"
changed a_changed_ledger "ledger.jsonl:3" "sed -i '3s/smoke/trial/' ledger.jsonl"
changed a_changed_last_line "ledger.jsonl:[0-9]*: " "sed -i '\$s/\"kind\":\"[a-z]*\"/\"kind\":\"hardware\"/' ledger.jsonl"
changed a_ledger_that_was_cut "its last line is no packet" "sed -i '\$d' ledger.jsonl"
changed another_seal "seal:1: not the seal of the packet" "sed -i 's/0\$/x/; s/[^x]\$/0/; s/x\$/1/' seal"
changed no_seal "no seal" "rm seal"
changed the_seal_of_another_host "seal:1: not the seal of the packet" "sed -i s/bm1/bm2/ seal"
changed no_ledger "ledger.jsonl: No such file" "rm ledger.jsonl"
changed a_log_that_is_missing "the log of run .* is missing: .*$log" "rm $log"
changed a_part_that_is_missing "the packet.s file sealed here is missing: .*topo.json" "rm packet/*/topo.json"
changed a_file_too_many "extra.json: its ledger does not know it" "echo {} >packet/$made/extra.json"
changed a_log_too_many "its ledger does not know it" "cp $log 0010-cross-node-write-touch/20260101T000000Z-abcdef.jsonl"

# A liar who brings the hashes up to date is caught by what the chains say, or by what we know ourselves.
forged() { reseal=reseal changed "$@"; }
last='$s/' # of the ledger: the packet's line
forged a_forged_log "does not follow\|hash\|chain\|changed" "sed -i s/unmeasurable/survived/ $log"
forged a_log_chained_anew "written anew" "sed -i 's/unmeasurable-on-host/survived/' $log && '$forge' chain $log"
forged a_run_without_its_log "the log of run .* is missing" "rm $log"
forged a_packet_of_the_future "newer than this program" "sed -i '$last\"format\":3/\"format\":4/' ledger.jsonl"
forged a_packet_of_the_past "make it again" "sed -i '$last\"format\":3/\"format\":2/' ledger.jsonl"
forged a_packet_without_a_kind "kind is none" "sed -i '$last\"kind\":\"[a-z]*\"/\"kind\":\"fast\"/' ledger.jsonl"
forged the_ledger_of_another_host "this is the ledger of host 'bm2'" "sed -i '1s/\"host\":\"bm1\"/\"host\":\"bm2\"/' ledger.jsonl"
forged a_topology_that_is_none "no JSON object" "echo '[1]' >packet/$made/topo.json"
forged smoke_called_official "its log says 'smoke'" "sed -i 's/\"kind\":\"smoke\"/\"kind\":\"official\"/' ledger.jsonl"
forged another_postulate "postulate 0010 is another one than" \
    "sed -i 's/\"postulate_sha256\":\"..../\"postulate_sha256\":\"0000/' ledger.jsonl"
forged an_unknown_postulate "postulate 0077 is not in postulates/" \
    "sed -i 's/\"postulate_id\":\"0010\"/\"postulate_id\":\"0077\"/' ledger.jsonl"
forged a_log_elsewhere "no name of a log" "sed -i 's|\"log\":\"0010|\"log\":\"../../0010|' ledger.jsonl"
forged an_emulated_machine_called_hardware "made in an emulated machine, and the packet says" \
    "sed -i '1s/\"emulated\":null/\"emulated\":\"n2\"/' $log && '$forge' chain $log"
forged hardware_called_emulated "made in no emulated machine" \
    "sed -i '$last\"kind\":\"[a-z]*\"/\"kind\":\"emulated\"/' ledger.jsonl"
said='"machine":{"state":"[a-z]*","decides":true,"now":"[^"]*"'
as_hardware="sed -i '$last\"kind\":\"[a-z]*\"/\"kind\":\"hardware\"/' ledger.jsonl"
forged a_virtual_machine_called_hardware "$log:1: made in a virtual machine, and the packet says 'hardware'" \
    "sed -i '1s/$said/\"machine\":{\"now\":\"virtual (KVM)\"/' $log && '$forge' chain $log && closed_anew && $as_hardware"
forged a_virtual_machine_by_its_firmware "$log:1: made in a virtual machine, and the packet says 'hardware'" \
    "sed -i '1s/$said/\"machine\":{\"now\":\"bare metal\"/; 1s/\"product_name\":\"[^\"]*\"/\"product_name\":\"KVM\"/' $log &&
        '$forge' chain $log && closed_anew && $as_hardware"
forged a_virtual_machine_by_its_own_doctor "doctor.json:1: made in a virtual machine, and the packet says 'hardware'" \
    "jq '.findings.machine.now = \"virtual\"' packet/$made/doctor.json >x && mv x packet/$made/doctor.json && $as_hardware"
forged a_summary_without_predictions "$log:[0-9]*: a summary without predictions" \
    "sed -i 's/\"predictions\":\[/\"foretold\":[/' $log && '$forge' chain $log && closed_anew"
forged a_header_of_no_time "$log:1: the header's time is no time" \
    "sed -i '1s/\"time\":\"2/\"time\":\"x/' $log && '$forge' chain $log && closed_anew"
forged a_ledger_of_no_time "ledger.jsonl:2: its time, 'x.*', is none" "sed -i '2s/\"time\":\"2/\"time\":\"x/' ledger.jsonl"
forged a_run_whose_id_begins_with_a_dash "'-010-.*' is no id of a run" "sed -i 's/\"run\":\"0010-/\"run\":\"-010-/' ledger.jsonl"
forged a_packet_whose_id_begins_with_a_dash "no name of a packet's file" \
    "mv packet/$made packet/-x && sed -i 's|$made|-x|g' ledger.jsonl"
forged a_name_in_the_list_that_leads_out "no name that a packet's file can have" \
    "sed -i 's|\"packet/$made/topo.json\"|\"../../../topo.json\"|' ledger.jsonl"

# --- archives that no `locus packet` wrote -------------------------------------------------------------------------------------

block_of() { tar --list --block-number --file "$1" | sed -n "s|^block \([0-9]*\): $2\$|\1|p" | tail -n 1; } # archive, name
patch() { # archive, block of a header, offset in it, bytes: and the sum that belongs to them
    local at=$(($2 * 512))
    printf "$4" | dd of="$1" bs=1 seek=$((at + $3)) conv=notrunc status=none
    printf '%06o\0 ' "$(od -An -v -tu1 -w1 -j $at -N 512 "$1" |
        awk 'NR > 148 && NR <= 156 { $1 = 32 } { sum += $1 } END { print sum }')" |
        dd of="$1" bs=1 seek=$((at + 148)) conv=notrunc status=none
}
printf '20 path=/etc/passwd\n' >"$scratch/x" && : >"$scratch/e"
# odd NAME WORD ENTRY [OFFSET BYTES]: the packet with one file more, called that, the header of which is changed.
odd() {
    local archive=$scratch/odd.tar file=e
    [ "$1" != a_pax_header ] || file=x
    cp p.tar "$archive" && tar --append --file "$archive" -P "${ustar[@]}" -C "$scratch" --transform="s|^$file\$|$3|" $file
    [ $# -eq 3 ] || patch "$archive" "$(block_of "$archive" "$3")" "$4" "$5"
    [ "$1" != a_pax_header ] || odd_file bm1/y
    wrong "$1" "$2" "$archive"
}
odd_file() { tar --append --file "$scratch/odd.tar" --format=ustar -C "$scratch" --transform="s|^x\$|$1|" x; }
for entry in '../x' '/etc/x' 'a/../../x' '.hidden' '-rf' 'a/-x' 'a/b/c/d' 'a\nb' 'a b'; do
    odd "the_name_$(tr -c 'a-z.\n' _ <<<"$entry")" "no name of a packet's file" "bm1/$entry"
done
odd an_absolute_name "no name of a packet's file" /x
odd a_folder_that_leads_out "no name of a packet's file" ../x
odd no_folder "no name of a packet's file" x
odd a_symbolic_link 'is a link' bm1/x 156 2/etc/passwd
odd a_hard_link 'is a link' bm1/x 156 1bm1/seal
odd a_folder 'no plain file' bm1/x 156 5
odd a_fifo 'no plain file' bm1/x 156 6
odd a_device 'no plain file' bm1/x 156 3
odd a_pax_header "no name of a packet's file" bm1/x 156 x
odd a_file_twice "'bm1/seal' is in it twice" bm1/seal
odd a_file_out_of_order 'not in its order' bm1/a
odd two_hosts 'of another host' bm2/x
odd a_size_that_lies 'cut off' bm1/x 124 77777777777
odd a_link_in_a_plain_file 'not as .locus packet. writes it' bm1/x 157 /etc/passwd
odd another_mode 'not as .locus packet. writes it' bm1/x 100 0004755
odd another_owner 'not as .locus packet. writes it' bm1/x 108 0001750
odd another_time 'not as .locus packet. writes it' bm1/x 136 00000000001
odd a_file_too_many_in_the_archive 'bm1/x: its ledger does not know it' bm1/x
sed 's|^bm1/packet/.*/doctor|zz\n&|' "$scratch/list" >"$scratch/with" && touch "$scratch/good/zz" &&
    tar -C "$scratch/good" -cf "$scratch/odd.tar" --format=ustar --transform='s|^zz$|bm1/packet|' -T "$scratch/with"
wrong a_file_where_a_folder_is 'tar: \|in it twice' "$scratch/odd.tar"
rm "$scratch/good/zz"
for bytes in 0 100 600 2000 9000 $(($(stat -c %s p.tar) - 1024)) $(($(stat -c %s p.tar) - 1)); do
    head -c "$bytes" p.tar >"$scratch/cut.tar"
    wrong "cut_off_after_$([ "$bytes" -gt 9000 ] && echo -$(($(stat -c %s p.tar) - bytes)) || echo "$bytes")" \
        'cut off\|no archive' "$scratch/cut.tar"
done
{ cat p.tar; echo; } >"$scratch/longer.tar" && wrong something_after_its_end 'after its end' "$scratch/longer.tar"
for byte in $(($(block_of p.tar bm1/seal) * 512 + 1000)) $(($(stat -c %s p.tar) - 1)); do
    cp p.tar "$scratch/hidden.tar" && printf 'x' | dd of="$scratch/hidden.tar" bs=1 seek=$byte conv=notrunc status=none
    wrong "something_hidden_at_$byte" 'not as .locus packet. writes it' "$scratch/hidden.tar"
done
gzip -c p.tar >"$scratch/p.tar.gz" && wrong a_compressed_one 'compressed, unpack it first (gunzip' "$scratch/p.tar.gz"
(cd "$scratch/good" && tar -cf "$scratch/other.tar" bm1) && wrong packed_by_hand 'no plain file' "$scratch/other.tar"
head -c 5000 /dev/urandom >"$scratch/noise" && wrong noise 'no archive' "$scratch/noise"
wrong a_folder_that_is_no_hosts "no host's record" "$scratch/good"
(cd "$scratch/ours" && refuses no_such_file 2 'No such file' packet import nowhere.tar)
(cd "$scratch" && refuses outside_of_a_clone 2 'no postulates/ here' packet import theirs/p.tar)

# --- filing --------------------------------------------------------------------------------------------------------------------

cd "$scratch/ours" && mkdir -p logs && first=$scratch/theirs/p.tar
refuses_filing() { # NAME WORD ARCHIVE: nothing that is there changes
    contents . >"$scratch/before"
    wrong_root=${4:-build/logs}
    "$LOCUS" packet import "$3" --logs "$wrong_root" >"$out" 2>"$err"
    why="exit $?: $(cat "$out" "$err")"
    contents . >"$scratch/after"
    if [ "${why%%:*}" = 'exit 1' ] && cat "$out" "$err" | grep -q -- "$2" &&
        cmp -s "$scratch/before" "$scratch/after" && [ -z "$(find . -name '.import*')" ]; then
        pass "$1"
    else
        fail "$1" "$why $(diff "$scratch/before" "$scratch/after" | head -n 2)"
    fi
}
check dry_run_says_that_all_is_well locus 0 packet import "$first" --dry-run
why="something was filed: $(find . -newer "$first" -type f)"
check dry_run_files_nothing [ -z "$(find build logs -type f)" ]
why=
refuses_filing smoke_does_not_go_to_logs 'smoke runs and trials do not go to logs/' "$first" logs
check it_is_filed locus 0 packet import "$first" --logs build/logs
check it_says_so grep -q '^filed  *build/logs/bm1, new' "$out"
check verify_is_content locus 0 verify --logs build/logs --checkpoint build/logs/bm1/packet/$made/seal
check verify_counts_it grep -q ', 1 packet: all is well' "$out"
contents build >"$scratch/filed"
check again_changes_nothing eval "'$LOCUS' packet import '$first' --logs build/logs | grep -q 'has all of it already' &&
    contents build | cmp - '$scratch/filed'"
verify_finds() { # NAME WORD FILE
    cp "$3" "$scratch/kept" && sed -i '1s/./X/' "$3"
    "$LOCUS" verify --logs build/logs >"$out" 2>&1
    why="exit $?: $(head -n 2 "$out")"
    if [ "${why%%:*}" = 'exit 1' ] && [ "$(grep -c witness: "$out")" -eq 1 ] && grep -q "$3:1: $2" "$out"; then pass "$1"; else
        fail "$1" "$why"; fi
    cp "$scratch/kept" "$3"
}
verify_finds verify_finds_a_changed_part "changed: not the packet's file sealed" build/logs/bm1/packet/$made/doctor.json
verify_finds verify_finds_a_changed_seal 'not the seal' build/logs/bm1/packet/$made/seal
mv build/logs/bm1/packet/$made/topo.json "$scratch/kept"
why=
check verify_finds_a_missing_part eval "! '$LOCUS' verify --logs build/logs >'$out' && grep -q 'missing: .*topo.json' '$out'"
mv "$scratch/kept" build/logs/bm1/packet/$made/topo.json

# The same host, later: its ledger has grown.
(cd "$scratch/theirs" && "$LOCUS" run 0011 --smoke -q >"$out" && "$LOCUS" packet --smoke --no-run -o later.tar >"$out" 2>"$err")
later=$scratch/theirs/later.tar
for broken in "log of ours" "ledger of ours"; do
    case $broken in log*) file=build/logs/bm1/$log ;; *) file=build/logs/bm1/ledger.jsonl ;; esac
    cp "$file" "$scratch/kept" && sed -i '1s/2/3/' "$file"
    refuses_filing "nothing_comes_to_a_changed_${broken// /_}" 'nothing was brought home' "$later"
    cp "$scratch/kept" "$file"
done
cp -a build/logs/bm1 "$scratch/kept-host"
mkdir -p build/logs/bm1/0011-push-across-nodes && cp "$scratch"/theirs/build/logs/bm1/0011-*/*.jsonl build/logs/bm1/0011-*/
check a_filing_that_crashed_goes_on locus 0 packet import "$later" --logs build/logs
check then_all_is_well locus 0 verify --logs build/logs
rm -rf build/logs/bm1 && mv "$scratch/kept-host" build/logs/bm1
check a_longer_ledger_is_filed locus 0 packet import "$later" --logs build/logs
check it_says_what_came grep -qE '^filed  *build/logs/bm1, [0-9]+ new files' "$out"
check all_is_well_with_it eval "'$LOCUS' verify --logs build/logs | grep -q ', 3 packets: all is well'"
check what_was_there_is_as_it_was eval "grep -v ledger.jsonl '$scratch/filed' | (cd build && sha256sum -c --quiet)"
check the_older_packet_has_nothing_new eval "'$LOCUS' packet import '$first' --logs build/logs | grep -q 'has all of it already'"
check the_ledger_is_theirs cmp build/logs/bm1/ledger.jsonl "$scratch/theirs/build/logs/bm1/ledger.jsonl"
check the_report_shows_it locus 0 report --logs build/logs -o "$scratch/report.html"

# Somebody else calls his host by that name.
mkdir "$scratch/third" && cp -a postulates "$scratch/third" && (cd "$scratch/third" && "$LOCUS" run 0010 --smoke -q >"$out" &&
    "$LOCUS" packet --smoke --no-run -o p.tar >"$out" 2>"$err")
refuses_filing another_host_of_that_name 'another host called bm1' "$scratch/third/p.tar"
exec 9>>build/logs/bm1/ledger.jsonl && flock 9
refuses_filing while_a_run_writes 'a run is writing' "$later"
exec 9>&-

# --- a folder, as a collection brings it ---------------------------------------------------------------------------------------

# The host's folder as it is there, and at home what is there of it.
cd "$scratch/ours" && there=$scratch/there/bm1 home=build/logs kept=$scratch/checkpoints
why=
mkdir "$scratch/there" && cp -a "$scratch/theirs/build/logs/bm1" "$there" && rm -rf $home
brings() { "$LOCUS" packet import "$there" --logs $home --checkpoints "$kept" >"$out" 2>"$err"; }
check a_folder_comes_home eval "brings && diff -r '$there' $home/bm1 && '$LOCUS' verify --logs $home --checkpoint '$kept/bm1'"
says_it() { holds "$1" "no '$2': $(cat "$out")" grep -q -- "$2" "$out"; }
says_it it_says_what_came_home '^filed  *build/logs/bm1, new'
says_it it_counts_the_runs '^runs  *2, 2 sealed, 0 crashed'
contents . >"$scratch/once"
check a_second_time_nothing_changes eval "brings && contents . | cmp - '$scratch/once'"
(cd "$scratch/theirs" && "$LOCUS" run 0002 --smoke -q >"$out")
rm -rf "$there" && cp -a "$scratch/theirs/build/logs/bm1" "$scratch/there/"
check it_grows eval "brings && diff -r '$there' $home/bm1 && grep -q ', 1 new file, 1 that grew' '$out'"
check its_checkpoint_goes_on "$LOCUS" verify --logs $home --checkpoint "$kept/bm1"
cp -a "$there" "$scratch/whole"
# shrinks NAME WORD COMMAND...: done there; nothing changes at home.
shrinks() {
    local name=$1 word=$2
    shift 2
    rm -rf "$there" && cp -a "$scratch/whole" "$there" && (cd "$there" && eval "$*") && refuses_filing "$name" "$word" "$there"
}
shrinks a_file_that_is_gone "bm1/$log is here, and bm1 has it no more" "rm $log"
shrinks a_ledger_that_is_shorter 'what was written is never taken back' "sed -i '\$d' ledger.jsonl"
shrinks a_log_that_is_another 'does not begin with it: one of them was changed' "sed -i s/unmeasurable/survived/ $log"
shrinks a_ledger_written_anew 'one of the two ledgers was written anew' "cp '$scratch/third/build/logs/bm1/ledger.jsonl' ."
shrinks a_link 'neither a file nor a folder' 'ln -s /etc/passwd x'
shrinks a_fifo_in_a_folder 'neither a file nor a folder' 'mkfifo x'
shrinks a_stray_log 'a stray log' "cp $log 0010-cross-node-write-touch/20260101T000000Z-abcdef.jsonl"
shrinks a_log_that_is_called_otherwise 'a stray file' "cp $log ${log%l}"
shrinks a_profile_of_no_run 'a stray file' "mkdir x.perf && echo x >x.perf/profile.txt"
mkdir "$scratch/twin" && cp -a "$scratch/whole" "$scratch/twin/BM1" && cp -a "$scratch/whole" "$scratch/twin/-n" &&
    sed -i '1s/"bm1"/"BM1"/' "$scratch/twin/BM1/ledger.jsonl" && "$forge" chain "$scratch/twin/BM1/ledger.jsonl"
refuses_filing a_host_that_differs_in_case 'bm1 is here, and BM1 differs from it in case alone' "$scratch/twin/BM1"
refuses_filing a_host_that_begins_with_a_dash "'-n' cannot name a host" "$scratch/twin/-n"
mv $home/bm1 "$scratch/lost"
past() { ! brings && grep -q 'had [0-9]*.*an older checkpoint' "$out" && [ ! -e $home/bm1 ]; }
shorter() {
    head -n 4 "$scratch/whole/ledger.jsonl" >"$there/ledger.jsonl" && rm -r "$there"/packet "$there"/0002-* "$there"/0011-*
}
rm -rf "$there" && cp -a "$scratch/whole" "$there" && shorter
check where_home_is_lost_the_checkpoint_knows past
rm -rf $home && mkdir -p $home && mv "$scratch/lost" $home/bm1
ln -s "$scratch" build/linked && refuses_filing a_folder_without_a_ledger "no host's record" build/linked
rm build/linked

# --- signed --------------------------------------------------------------------------------------------------------------------

if command -v ssh-keygen >/dev/null; then
    for key in good other; do ssh-keygen -q -t ed25519 -N '' -C $key -f "$scratch/key-$key"; done
    echo "good@example.org $(cut -d ' ' -f 1,2 "$scratch/key-good.pub")" >"$scratch/allowed"
    cd "$scratch/theirs" || exit 1
    for key in good other; do "$LOCUS" packet --smoke --no-run --sign "$scratch/key-$key" -o "$key.tar" >"$out" 2>"$err"; done
    cd "$scratch/ours" || exit 1
    why=
    check the_right_signature eval "'$LOCUS' packet import '$scratch/theirs/good.tar' --key '$scratch/allowed' --dry-run |
        grep -q '^signed by  *good@example.org'"
    refuses_signature() {
        ! "$LOCUS" packet import "$2" --key "$scratch/allowed" --dry-run >"$out" 2>"$err" && grep -q "$1" "$out"
    }
    check the_wrong_signature refuses_signature 'of nobody who may sign' "$scratch/theirs/other.tar"
    check no_signature refuses_signature 'not signed' "$first"
    cd "$scratch/theirs" && refuses a_key_that_is_none 2 'nowhere: No such file' packet --smoke --no-run --sign nowhere -o x.tar
    check nothing_was_packed_without_it [ ! -e x.tar ] && cd "$scratch/ours" || exit 1
else
    skip signatures "ssh-keygen is not installed"
fi

# --- for the record ------------------------------------------------------------------------------------------------------------

official() {
    mkdir "$scratch/repo" && cd "$scratch/repo" && git init -q -b main &&
        mkdir postulates experiments logs && touch logs/README.md &&
        printf 'one\n' >postulates/0001-one.md && printf 'two\n' >postulates/0002-two.md && git add -A && git commit -qm one &&
        git clone -q . "$scratch/clone" && "$forge" file && "$forge" first && "$forge" second &&
        "$LOCUS" packet --no-run -o ../official.tar && cd "$scratch/clone" && "$LOCUS" packet import ../official.tar &&
        "$LOCUS" verify && git add -A && git commit -qm packet && "$LOCUS" verify --git
}
check official_runs_come_to_logs official
cd "$scratch/clone" && check a_crashed_run_comes_too eval "'$LOCUS' verify | grep -q '3 runs (2 sealed, 1 crashed)'"
echo ' ' >>logs/bm1/packet/*/topo.json && git commit -qam changed
check history_keeps_a_packet_as_it_came eval "! '$LOCUS' verify --git >'$out' && grep -q 'topo.json.*witness: git history' '$out'"

# --- records that the host filed -------------------------------------------------------------------------------------------------

record=experiments/0001-one.md
author() { # a host with a record of its own, and three clones that were made before it
    mkdir "$scratch/author" && cd "$scratch/author" && git init -q -b main && mkdir postulates experiments logs &&
        touch logs/README.md experiments/README.md && printf 'one\n' >postulates/0001-one.md &&
        printf 'two\n' >postulates/0002-two.md &&
        git add -A && git commit -qm one && for clone in reader rival late; do git clone -q . "$scratch/$clone" || return; done &&
        "$forge" file && "$forge" first && printf 'record\nof one\n' >$record && "$forge" record &&
        "$LOCUS" packet --no-run -o ../record.tar >"$out"
}
check a_host_with_a_record_makes_a_packet author
check the_sender_is_told_that_it_goes_along grep -q "^record  *$record goes along" "$out"
record_packet=$scratch/record.tar
in_clone() { cd "$scratch/$1" && shift && "$@"; }
check dry_run_shows_the_record in_clone reader eval "'$LOCUS' packet import '$record_packet' --dry-run >'$out' &&
    grep -q '^record  *$record, new here' '$out' && [ ! -e $record ]"
cd "$scratch/reader" && mkdir -p build/logs &&
    refuses_filing a_record_goes_beside_logs_only 'its records go to experiments/, beside logs/' "$record_packet" build/logs
rm -rf build
why=
check a_record_comes_with_its_packet in_clone reader eval "'$LOCUS' packet import '$record_packet' >'$out' &&
    cmp $record '$scratch/author/$record'"
check it_says_that_a_record_came grep -q "^record  *$record, new here" "$out"
check it_says_what_to_commit grep -q '^next  *git add logs experiments && git commit' "$out"
check it_leaves_no_copy_in_logs [ ! -e "$scratch/reader/logs/bm1/experiments" ]
check it_verifies_with_the_record in_clone reader eval "'$LOCUS' verify && git add -A && git commit -qm packet &&
    '$LOCUS' verify --git"
check again_it_has_all in_clone reader eval "'$LOCUS' packet import '$record_packet' >'$out' &&
    grep -q 'has all of it already' '$out' && grep -q '^record  *$record, here already' '$out' &&
    [ -z \"\$(git status --porcelain)\" ]"

# A filing that was killed while it wrote the record.
check a_half_record_of_a_crash_is_in_nobodys_way in_clone late eval "mkdir -p experiments && printf 'half' >$record.part &&
    cp -a . '$scratch/half' && cd '$scratch/half' && '$LOCUS' packet import '$record_packet' &&
    cmp $record '$scratch/author/$record' && [ ! -e $record.part ]"
rm -f "$scratch/late/$record.part"

# The way back: what the reader has, its author has, too; and a clone that got the record by git first.
check its_author_gets_its_seal in_clone author eval "'$LOCUS' packet import '$record_packet' | grep -q ', 1 new file, 0 '"
check a_clone_that_has_the_record in_clone late eval "cp '$scratch/author/$record' $record &&
    '$LOCUS' packet import '$record_packet' >'$out' && grep -q '^record  *$record, here already' '$out' && '$LOCUS' verify"
rm -rf "$scratch/late/logs/bm1"
check a_filing_that_crashed_after_its_record in_clone late eval "! '$LOCUS' verify >'$out' &&
    grep -q '$record:1: a record that no ledger has entered' '$out' && '$LOCUS' packet import '$record_packet' && '$LOCUS' verify"

cd "$scratch/rival" && printf 'record\nof another\n' >$record
refuses_record() { # NAME WORD [ARCHIVE]: nothing that is there changes
    contents . >"$scratch/before"
    "$LOCUS" packet import "${3:-$record_packet}" >"$out" 2>"$err"
    why="exit $?: $(cat "$out" "$err")"
    contents . >"$scratch/after"
    if [ "${why%%:*}" = 'exit 1' ] && grep -q -- "$2" "$out" && cmp -s "$scratch/before" "$scratch/after" &&
        [ -z "$(find . -name '.import*')" ]; then pass "$1"; else fail "$1" "$why"; fi
}
refuses_record another_text_of_that_name "$record is here with another text"
rm $record
mkdir "$scratch/sealed" && tar -C "$scratch/sealed" -xf "$record_packet" 2>"$err"
# resealed NAME WORD COMMAND...: the command changes a copy of the packet, and all hashes up to the seal are brought up to date.
resealed() {
    local name=$1 word=$2
    shift 2
    rm -rf "$scratch/copy" && cp -a "$scratch/sealed" "$scratch/copy" &&
        (cd "$scratch/copy/bm1" && eval "$*" && reseal && packer "$scratch/changed.tar" "$scratch/copy") >"$scratch/change" 2>&1 ||
        { fail "$name" "the change could not be made: $(tail -n 1 "$scratch/change")"; return; }
    refuses_record "$name" "$word" "$scratch/changed.tar"
}
resealed a_changed_record "bm1/$record:1: changed: not the record filed" "sed -i s/of/off/ $record"
resealed a_record_that_is_not_filed '0002-two.md: its ledger does not know it' "cp $record experiments/0002-two.md"
resealed a_record_that_leads_out 'no name of a record' "sed -i 's|$record|experiments/../0001-one.md|' ledger.jsonl"
resealed a_record_of_a_run_that_is_not_here "import that run's host first" \
    "sed -i '/\"t\":\"record\"/s/aaaaaa/eeeeee/' ledger.jsonl"
# A ledger here that is broken may have it: that is another matter.
mkdir -p logs/bm9 && echo '{"t":"ledger"}' >logs/bm9/ledger.jsonl
resealed a_record_of_a_run_that_nobody_can_look_up \
    'logs/bm9/ledger.jsonl:1: changed: it does not end with its hash: so nobody knows whether run' \
    "sed -i '/\"t\":\"record\"/s/aaaaaa/eeeeee/' ledger.jsonl"
rm logs/bm9/ledger.jsonl && mkdir logs/bm9/ledger.jsonl
resealed a_record_of_a_run_in_a_ledger_that_cannot_be_read 'logs: Is a directory: so nobody knows whether run' \
    "sed -i '/\"t\":\"record\"/s/aaaaaa/eeeeee/' ledger.jsonl"
rm -r logs/bm9
resealed a_packet_that_does_not_bring_its_record "$record is not here, and did not come along" "rm -r experiments"
why=
check unless_it_is_here in_clone rival eval "cp '$scratch/author/$record' $record && '$LOCUS' packet import '$scratch/changed.tar'"

sed -i '2s/"time":"2/"time":"3/' "$scratch/sealed/bm1/ledger.jsonl" && (cd "$scratch/sealed/bm1" && reseal) &&
    packer "$scratch/clock.tar" "$scratch/sealed"
rm -rf "$scratch/rival/logs/bm1"
check a_clock_that_was_wrong_is_said in_clone rival eval "'$LOCUS' packet import '$scratch/clock.tar' --dry-run >'$out' &&
    grep -q '^remark  *bm1/ledger.jsonl:3: its time, 2.* a clock was wrong' '$out'"

# --- full disks and crashes ----------------------------------------------------------------------------------------------------

cd "$scratch/theirs" || exit 1
full_disk() { # in a mount namespace: a file system of 64 KiB
    mkdir -p "$scratch/small" && unshare -rm sh -c 'mount -t tmpfs -o size=64k small "$1" && shift && "$@"' - "$scratch/small" "$@"
}
if full_disk true 2>"$err"; then
    full_disk sh -c "'$LOCUS' packet --smoke --no-run -o '$scratch/small/p.tar'; echo \$?
        ls -A '$scratch/small' | wc -l" >"$out" 2>"$err"
    why="$(cat "$out" "$err")"
    check a_full_disk_is_named_with_a_remedy \
        grep -q "^locus: $scratch/small/p.tar: No space left on device. Make room.*--no-run" "$err"
    check it_fails_and_leaves_nothing [ "$(paste -sd ' ' "$out")" = '1 0' ]
    full_disk sh -c "cd '$scratch/ours' && '$LOCUS' packet import '$later' --logs '$scratch/small'; echo \$?
        ls -A '$scratch/small' | wc -l" >"$out" 2>"$err"
    why="$(cat "$out" "$err")"
    check filing_on_a_full_disk_leaves_nothing [ "$(paste -sd ' ' "$out")" = '1 0' ]
    check and_says_so grep -q 'No space left on device' "$err"
    why=
    check the_record_is_whole_all_the_same locus 0 verify --logs build/logs
    # The page leads to the runs' pages: where these do not fit, there is none, nor half of one.
    full_disk sh -c "'$LOCUS' report --logs build/logs -o '$scratch/small/r.html'; echo \$?; cd '$scratch/small'
        ls -A . | grep -v '^r\$'; ls -A r | grep -v '[.]html\$'" >"$out" 2>"$err"
    holds a_page_that_is_not_whole_is_not_there "$(cat "$out" "$err")" eval \
        "[ \"\$(cat '$out')\" = 1 ] && grep -q '/r/.*html: No space left on device' '$err'"
else
    skip full_disk "no mount namespace for this user"
fi

stopped() { # SIGNAL: sent to the whole group as soon as a run is in the ledger
    local ledger=build/logs/bm1/ledger.jsonl opened group
    opened=$(grep -c '"t":"open"' $ledger)
    setsid "$LOCUS" packet --smoke --again 0002 -o stopped.tar >"$out" 2>"$err" &
    group=$!
    for _ in $(seq 2400); do
        [ "$(grep -c '"t":"open"' $ledger)" -eq "$opened" ] || break
        sleep 0.05
    done
    kill -s "$1" -- "-$group"
    wait $group
}
stopped INT
why="$(cat "$out" "$err")"
check an_interrupt_says_what_is_safe grep -q '^locus: interrupted in step 3 of 3. .*build/logs/bm1' "$err"
why=
check an_interrupted_run_is_a_crash eval "'$LOCUS' verify --logs build/logs | grep -q ' 1 crashed'"
stopped KILL 2>/dev/null
check nothing_but_the_record_is_left [ ! -e stopped.tar ]
check the_next_call_makes_it locus 0 packet --smoke 0002 -o stopped.tar
check with_the_crashes_in_it eval "cd '$scratch/ours' && '$LOCUS' packet import '$scratch/theirs/stopped.tar' --dry-run"
done_testing
