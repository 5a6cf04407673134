#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus packet as those meet it who make one and those to whom it comes: LOCUS=path/to/locus BUILD=build/VARIANT. What is wrong
# with a packet is tried with LOCUS_ASAN, too. One line a case: PASS, FAIL or SKIP.
#
# One packet is made, of smoke runs, and taken apart. A case changes a copy, and packs it as `locus packet` does (packer below,
# which is also the second opinion on the format); a patient liar brings all hashes up to date, too (reseal).
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

cat >"$scratch/packer" <<'PYTHON'
# packer ARCHIVE FOLDER [reseal] [ENTRY...]: FOLDER/HOST/... as a packet. reseal: as if all of it had been sealed as it is now.
# An ENTRY is one more: PREFIX|NAME|TYPE|LINK|CONTENT|SIZE, and "@NAME" packs NAME once more.
import hashlib, json, os, sys
def sha256(data): return hashlib.sha256(data).hexdigest()
def read(name): return open(os.path.join(base, name), 'rb').read()
def write(name, data): open(os.path.join(base, name), 'wb').write(data)
def reseal():
    lines = [line[:line.rindex(b',"h":')] for line in read('ledger.jsonl').splitlines()]
    last = json.loads(lines[-1] + b'}')
    manifest = json.loads(read(last['manifest']))
    manifest['files'] = [f for f in manifest['files'] if '..' in f['name'] or os.path.exists(os.path.join(base, f['name']))]
    for file in manifest['files']:
        if '..' not in file['name']:
            file.update(bytes=len(read(file['name'])), sha256=sha256(read(file['name'])))
    text = json.dumps(manifest).encode()
    write(last['manifest'], text)
    lines[-1] = lines[-1].replace(last['sha256'].encode(), sha256(text).encode())
    head, out = bytes(32), b''
    for line in lines:
        head = hashlib.sha256(head + line).digest()
        out += line + b',"h":"' + head.hex().encode() + b'"}\n'
    write('ledger.jsonl', out)
    write('seal', b'%s %d %s\n' % (host, len(out), head.hex().encode()))
def entry(prefix, name, data, kind=b'0', link=b'', size=None):
    h = bytearray(512)
    for at, value in ((0, name), (100, b'0000644'), (108, b'0000000'), (116, b'0000000'),
                      (124, b'%011o' % (len(data) if size is None else size)), (136, b'00000000000'), (148, b' ' * 8),
                      (156, kind), (157, link), (257, b'ustar\0' + b'00'), (345, prefix)):
        h[at:at + len(value)] = value
    h[148:156] = b'%06o\0 ' % sum(h)
    return bytes(h) + data + bytes(-len(data) % 512)
archive, folder, words = sys.argv[1], sys.argv[2], sys.argv[3:]
host = os.listdir(folder)[0].encode()
base = os.path.join(folder, host.decode())
if words[:1] == ['reseal']:
    reseal()
    del words[0]
names = sorted(os.path.relpath(os.path.join(at, f), base) for at, _, files in os.walk(base) for f in files)
out = b''.join(entry(host, name.encode(), read(name)) for name in names + [w[1:] for w in words if w[0] == '@'])
for word in words:
    if word[0] != '@':
        prefix, name, kind, link, data, size = (word.encode().split(b'|') + [b''] * 6)[:6]
        out += entry(prefix, name, data, kind or b'0', link, int(size) if size else None)
open(archive, 'wb').write(out + bytes(1024))
PYTHON
packer() { python3 -S "$scratch/packer" "$@"; }

contents() { (cd "$1" && find . -type f -exec sha256sum {} + | sort -k 2); }
checks() { (cd "$scratch/ours" && "$LOCUS" packet --check "$@") >"$out" 2>"$err"; }

# --- making one ----------------------------------------------------------------------------------------------------------------

refuses unknown_postulate 2 '9999-.*there is no such postulate here' packet 9999
refuses what_is_no_number 2 "'churn' is not the number of a postulate" packet churn
refuses numbers_with_full 2 'no numbers' packet --full 0002
refuses check_with_numbers 2 'packet that came' packet --check x 0002
refuses dry_run_alone 2 'goes with --check' packet --dry-run
refuses a_folder_that_is_not_there 2 'nowhere/p.tar: .*Name another place' packet --smoke 0010 -o nowhere/p.tar
refuses official_outside_a_repository 1 'repository' packet 0010 -o p.tar
refuses no_record_to_pack 1 'ledger.jsonl: No such file' packet --no-run -o p.tar
why="something was left behind: $(ls)"
check a_refused_packet_leaves_nothing [ "$(ls)" = postulates ]

check list_says_how_long locus 0 packet --list 0010 0002
check list_names_them grep -q '^0010 cross-node-write-touch  *~ .* s   named' "$out"
check list_says_how_long_all_takes grep -qE 'about [0-9]+ (s|min)[.]' "$out"

LOCUS_HOST=somebody-s-desk check packet_is_made locus 0 packet --smoke --host bm1 0010 -o p.tar
why="not silent: $(head -n 1 "$err")"
check it_is_quiet_in_a_pipe [ ! -s "$err" ]
why=
check one_node_is_said_to_be_too_few grep -q '^0010 .*unmeasurable-on-host: needs cpu_nodes >= 2, and here is 1 node' "$out"
check it_says_that_smoke_proves_nothing grep -q '^packet  *p.tar, .*prove nothing' "$out"
mkdir "$scratch/good" && check tar_unpacks_it tar -C "$scratch/good" -xf p.tar
at=$scratch/good/bm1 made=$(ls "$scratch/good/bm1/packet")
manifest=packet/$made/manifest.json
says manifest_says_what_it_is '.format == 2 and .host == "bm1" and .runs == "smoke" and
    (.kind | IN("hardware", "virtual", "unknown")) and (.program.commit | length > 6) and (.files | length) == 5' "$at/$manifest"
for file in topo doctor matrix; do says "$file"_is_there 'type == "object"' "$at/packet/$made/$file.json"; done
check hwloc_reads_its_topology locus 0 topo --topology "$at/packet/$made/topo.xml"
says the_matrix_names_it_as_the_packet_does '.head.host == "bm1"' "$at/packet/$made/matrix.json"
check no_other_name_of_it_is_in_the_packet eval "! grep -rq somebody-s-desk '$at'"
names_nobody() { ! grep -rqiE "HostName\" value=\"[^\"]|$(hostname)[^a-z]" "$at/packet"; }
[ "$(hostname | wc -c)" -lt 7 ] || check it_does_not_name_the_machine names_nobody
packer "$scratch/again.tar" "$scratch/good"
why="its entries come in another order"
check another_program_writes_the_same_bytes [ "$(tar tvf p.tar | sort)" = "$(tar tvf "$scratch/again.tar" | sort)" ]
why=
check verify_knows_of_it eval "'$LOCUS' verify --root build/logs | grep -q ', 1 packet: all is well'"
check what_is_on_record_is_not_repeated eval "'$LOCUS' packet --smoke 0010 -o q.tar | grep -q '(from before)'"
refuses an_archive_is_not_overwritten 2 'p.tar: is there already' packet --smoke 0010 -o p.tar

# --- what must not be believed -------------------------------------------------------------------------------------------------

# wrong NAME WORD ARCHIVE: by each program exit 1, the word is said, nothing is filed and nothing is left.
wrong() {
    local name=$1 word=$2 archive=$3 program
    for program in "$LOCUS" "${LOCUS_ASAN:-}"; do
        [ -n "$program" ] || continue
        (cd "$scratch/ours" && exec "$program" packet --check "$archive" --root build/logs) >"$out" 2>"$err" </dev/null
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
        (cd "$scratch/copy/bm1" && eval "$*" && packer "$scratch/changed.tar" "$scratch/copy" $reseal) >"$scratch/change" 2>&1 ||
        { fail "$name" "the change could not be made: $(tail -n 1 "$scratch/change")"; return; }
    wrong "$name" "$word" "$scratch/changed.tar"
}
reseal=
log=$(cd "$at" && echo 0010-*/*.jsonl)
changed a_changed_log "bm1/$log: changed after it was sealed" "sed -i s/unmeasurable/survived/ $log"
changed a_changed_topology "topo.json: changed after" "sed -i s/nodes/modes/ packet/*/topo.json"
changed a_changed_manifest "manifest.json: changed after it was sealed" "sed -i s/smoke/official/ $manifest"
changed a_changed_ledger "ledger.jsonl:3" "sed -i '3s/smoke/trial/' ledger.jsonl"
changed a_ledger_that_was_cut "not the ledger that was sealed" "sed -i '\$d' ledger.jsonl"
changed another_seal "not the ledger that was sealed" "sed -i 's/.\$/g/; s/g\$/0/' seal; sed -i 's/..\$/ff/' seal"
changed no_seal "no seal" "rm seal"
changed the_seal_of_another_host "seal of another host" "sed -i s/bm1/bm2/ seal"
changed no_ledger "ledger.jsonl: No such file" "rm ledger.jsonl"
changed a_log_that_is_missing "$log: its manifest lists it, and it is missing" "rm $log"
changed a_file_too_many "extra.json: it is in no list" "echo {} >packet/$made/extra.json"
changed a_log_too_many "in no list" "cp $log 0010-cross-node-write-touch/20260101T000000Z-abcdef.jsonl"

# A liar who brings the hashes up to date is caught by what the chains say, or by what we know ourselves.
forged() { reseal=reseal changed "$@"; }
forged a_forged_log "does not follow\|hash\|chain\|changed" "sed -i s/unmeasurable/survived/ $log"
forged a_log_chained_anew "written anew" "sed -i 's/unmeasurable-on-host/survived/' $log && '$forge' chain $log"
forged a_run_without_its_log "log of this run is not in the packet" "rm $log"
forged a_manifest_of_the_future "format 3.*newer" "sed -i 's/\"format\": [0-9]/\"format\": 3/' $manifest"
forged a_manifest_without_a_kind "kind or runs" "sed -i 's/\"kind\": \"[a-z]*\"/\"kind\": \"fast\"/' $manifest"
forged the_manifest_of_another_host "manifest of another packet" "sed -i 's/\"host\": \"bm1\"/\"host\": \"bm2\"/' $manifest"
forged a_topology_that_is_none "no JSON object" "echo '[1]' >packet/$made/topo.json"
forged smoke_called_official "among official ones" "sed -i 's/\"runs\": \"smoke\"/\"runs\": \"official\"/' $manifest"
forged another_postulate "postulate 0010 is another one than" \
    "sed -i 's/\"postulate_sha256\":\"..../\"postulate_sha256\":\"0000/' ledger.jsonl"
forged an_unknown_postulate "postulate 0077 is not in postulates/" \
    "sed -i 's/\"postulate_id\":\"0010\"/\"postulate_id\":\"0077\"/' ledger.jsonl"
forged a_log_elsewhere "log of this run is not in the packet" "sed -i 's|\"log\":\"0010|\"log\":\"../../0010|' ledger.jsonl"
forged an_emulated_machine_called_hardware "made in an emulated machine, and the manifest says" \
    "sed -i '1s/\"emulated\":null/\"emulated\":\"n2\"/' $log && '$forge' chain $log"
forged hardware_called_emulated "made in no emulated machine" "sed -i 's/\"kind\": \"[a-z]*\"/\"kind\": \"emulated\"/' $manifest"
forged a_name_in_the_list_that_leads_out "no name that a packet's file can have" \
    "sed -i 's|\"name\": \"packet/$made/topo.json\"|\"name\": \"../../../topo.json\"|' $manifest"

# --- archives that no `locus packet` wrote -------------------------------------------------------------------------------------

odd() { # NAME WORD ENTRY...
    local name=$1 word=$2
    shift 2
    packer "$scratch/odd.tar" "$scratch/good" "$@" && wrong "$name" "$word" "$scratch/odd.tar"
}
for entry in '../x' '/etc/x' 'a/../../x' 'a//x' '.hidden' 'a/b/c/d' $'a\nb'; do
    odd "the_name_$(tr -c 'a-z.\n' _ <<<"$entry" | paste -sd _)" "no name of a packet's file" "bm1|$entry|||x"
done
odd a_folder_that_leads_out "no name of a packet's file" '..|x|||x'
odd no_folder "no name of a packet's file" '|x|||x'
odd a_symbolic_link 'is a link' 'bm1|x|2|/etc/passwd|'
odd a_hard_link 'is a link' 'bm1|x|1|/etc/passwd|'
odd a_folder 'no plain file' 'bm1|x|5||'
odd a_fifo 'no plain file' 'bm1|x|6||'
odd a_device 'no plain file' 'bm1|x|3||'
odd a_pax_header 'no plain file' 'bm1|x|x||20 path=/etc/passwd'
odd a_file_twice "'seal' is in it twice" '@seal'
odd a_file_where_a_folder_is 'is in it twice' 'bm1|packet|||x'
odd a_folder_where_a_file_is 'is in it twice' 'bm1|seal/x|||x'
odd two_hosts 'of another host' 'bm2|x|||x'
odd a_size_that_lies 'fewer bytes than it says' 'bm1|x|||x|8589934591'
odd a_link_in_a_plain_file 'not as .locus packet. writes it' 'bm1|x||/etc/passwd|x'
for bytes in 0 100 600 2000 9000 $(($(stat -c %s p.tar) - 1024)) $(($(stat -c %s p.tar) - 1)); do
    head -c "$bytes" p.tar >"$scratch/cut.tar"
    wrong "cut_off_after_$([ "$bytes" -gt 9000 ] && echo -$(($(stat -c %s p.tar) - bytes)) || echo "$bytes")" \
        'cut off\|no archive' "$scratch/cut.tar"
done
{ cat p.tar; echo; } >"$scratch/longer.tar" && wrong something_behind_its_end 'behind its end' "$scratch/longer.tar"
cp p.tar "$scratch/hidden.tar" && printf 'x' | dd of="$scratch/hidden.tar" bs=1 seek=1023 conv=notrunc status=none
wrong something_in_the_padding 'hidden behind' "$scratch/hidden.tar"
gzip -c p.tar >"$scratch/p.tar.gz" && wrong a_compressed_one 'compressed: gunzip' "$scratch/p.tar.gz"
(cd "$scratch/good" && tar -cf "$scratch/other.tar" bm1) && wrong packed_by_another_tar 'locus packet\|no name' "$scratch/other.tar"
head -c 5000 /dev/urandom >"$scratch/noise" && wrong noise 'no archive' "$scratch/noise"
wrong a_folder_for_a_file 'no file' "$scratch/good"
(cd "$scratch/ours" && refuses no_such_file 2 'No such file' packet --check nowhere.tar)
(cd "$scratch" && refuses outside_of_a_clone 2 'no postulates/ here' packet --check theirs/p.tar)

# --- filing --------------------------------------------------------------------------------------------------------------------

cd "$scratch/ours" && mkdir -p logs && first=$scratch/theirs/p.tar
refuses_filing() { # NAME WORD ARCHIVE: nothing that is there changes
    contents . >"$scratch/before"
    wrong_root=${4:-build/logs}
    "$LOCUS" packet --check "$3" --root "$wrong_root" >"$out" 2>"$err"
    why="exit $?: $(cat "$err")"
    contents . >"$scratch/after"
    if [ "${why%%:*}" = 'exit 1' ] && grep -q -- "$2" "$err" &&
        cmp -s "$scratch/before" "$scratch/after" && [ -z "$(find . -name '.packet*')" ]; then
        pass "$1"
    else
        fail "$1" "$why $(diff "$scratch/before" "$scratch/after" | head -n 2)"
    fi
}
check dry_run_says_that_all_is_well locus 0 packet --check "$first" --dry-run
why="something was filed: $(find . -newer "$first" -type f)"
check dry_run_files_nothing [ -z "$(find build logs -type f)" ]
why=
refuses_filing smoke_does_not_go_to_logs 'smoke runs do not go to logs/' "$first" logs
check it_is_filed locus 0 packet --check "$first" --root build/logs
check it_says_so grep -q '^filed  *build/logs/bm1, new' "$out"
check verify_is_content locus 0 verify --root build/logs --checkpoint build/logs/bm1/packet/$made/seal
check verify_counts_it grep -q ', 1 packet: all is well' "$out"
contents build >"$scratch/filed"
check again_changes_nothing eval "'$LOCUS' packet --check '$first' --root build/logs | grep -q 'has all of it already' &&
    contents build | cmp - '$scratch/filed'"
verify_finds() { # NAME WORD FILE
    cp "$3" "$scratch/kept" && sed -i '1s/./X/' "$3"
    "$LOCUS" verify --root build/logs >"$out" 2>&1
    why="exit $?: $(head -n 2 "$out")"
    if [ "${why%%:*}" = 'exit 1' ] && [ "$(grep -c witness: "$out")" -eq 1 ] && grep -q "$3:1: $2" "$out"; then pass "$1"; else
        fail "$1" "$why"; fi
    cp "$scratch/kept" "$3"
}
verify_finds verify_finds_a_changed_part 'changed after its packet was sealed' build/logs/bm1/packet/$made/doctor.json
verify_finds verify_finds_a_changed_manifest 'changed after its packet was sealed' build/logs/bm1/$manifest
verify_finds verify_finds_a_changed_seal 'not the seal' build/logs/bm1/packet/$made/seal
mv build/logs/bm1/packet/$made/topo.json "$scratch/kept"
why=
check verify_finds_a_missing_part eval "! '$LOCUS' verify --root build/logs >'$out' && grep -q 'missing: .*topo.json' '$out'"
mv "$scratch/kept" build/logs/bm1/packet/$made/topo.json

# The same host, later: its ledger has grown.
(cd "$scratch/theirs" && "$LOCUS" run 0011 --smoke -q >"$out" && "$LOCUS" packet --smoke --no-run -o later.tar >"$out" 2>"$err")
later=$scratch/theirs/later.tar
for broken in "log of ours" "ledger of ours"; do
    case $broken in log*) file=build/logs/bm1/$log ;; *) file=build/logs/bm1/ledger.jsonl ;; esac
    cp "$file" "$scratch/kept" && sed -i '1s/2/3/' "$file"
    refuses_filing "nothing_comes_to_a_changed_${broken// /_}" 'nothing was filed' "$later"
    cp "$scratch/kept" "$file"
done
cp -a build/logs/bm1 "$scratch/kept-host"
mkdir -p build/logs/bm1/0011-push-across-nodes && cp "$scratch"/theirs/build/logs/bm1/0011-*/*.jsonl build/logs/bm1/0011-*/
check a_filing_that_crashed_goes_on locus 0 packet --check "$later" --root build/logs
check then_all_is_well locus 0 verify --root build/logs
rm -rf build/logs/bm1 && mv "$scratch/kept-host" build/logs/bm1
check a_longer_ledger_is_filed locus 0 packet --check "$later" --root build/logs
check it_says_what_came grep -qE '^filed  *build/logs/bm1, [0-9]+ new files' "$out"
check all_is_well_with_it eval "'$LOCUS' verify --root build/logs | grep -q ', 3 packets: all is well'"
check what_was_there_is_as_it_was eval "grep -v ledger.jsonl '$scratch/filed' | (cd build && sha256sum -c --quiet)"
check the_older_packet_has_nothing_new eval "'$LOCUS' packet --check '$first' --root build/logs | grep -q 'has all of it already'"
check the_ledger_is_theirs cmp build/logs/bm1/ledger.jsonl "$scratch/theirs/build/logs/bm1/ledger.jsonl"
check the_report_shows_it locus 0 report --root build/logs -o "$scratch/report.html"

# Somebody else calls his host by that name.
mkdir "$scratch/third" && cp -a postulates "$scratch/third" && (cd "$scratch/third" && "$LOCUS" run 0010 --smoke -q >"$out" &&
    "$LOCUS" packet --smoke --no-run -o p.tar >"$out" 2>"$err")
refuses_filing another_host_of_that_name 'another host called bm1' "$scratch/third/p.tar"
exec 9>>build/logs/bm1/ledger.jsonl && flock 9
refuses_filing while_a_run_writes 'a run is writing' "$later"
exec 9>&-

# --- signed --------------------------------------------------------------------------------------------------------------------

if command -v ssh-keygen >/dev/null; then
    for key in good other; do ssh-keygen -q -t ed25519 -N '' -C $key -f "$scratch/key-$key"; done
    echo "good@example.org $(cut -d ' ' -f 1,2 "$scratch/key-good.pub")" >"$scratch/allowed"
    cd "$scratch/theirs" || exit 1
    for key in good other; do "$LOCUS" packet --smoke --no-run --sign "$scratch/key-$key" -o "$key.tar" >"$out" 2>"$err"; done
    cd "$scratch/ours" || exit 1
    why=
    check the_right_signature eval "'$LOCUS' packet --check '$scratch/theirs/good.tar' --key '$scratch/allowed' --dry-run |
        grep -q '^signed by  *good@example.org'"
    refuses_signature() {
        ! "$LOCUS" packet --check "$2" --key "$scratch/allowed" --dry-run >"$out" 2>"$err" && grep -q "$1" "$out"
    }
    check the_wrong_signature refuses_signature 'of nobody who may sign' "$scratch/theirs/other.tar"
    check no_signature refuses_signature 'not signed' "$first"
    cd "$scratch/theirs" && refuses a_key_that_is_none 1 'ssh-keygen did not sign' packet --smoke --no-run --sign nowhere -o x.tar
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
        "$LOCUS" packet --no-run -o ../official.tar && cd "$scratch/clone" && "$LOCUS" packet --check ../official.tar &&
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
check dry_run_shows_the_record in_clone reader eval "'$LOCUS' packet --check '$record_packet' --dry-run >'$out' &&
    grep -q '^record  *$record, new here' '$out' && [ ! -e $record ]"
cd "$scratch/reader" && mkdir -p build/logs &&
    refuses_filing a_record_goes_beside_logs_only 'its records go to experiments/, beside logs/' "$record_packet" build/logs
rm -rf build
why=
check a_record_comes_with_its_packet in_clone reader eval "'$LOCUS' packet --check '$record_packet' >'$out' &&
    cmp $record '$scratch/author/$record'"
check it_says_that_a_record_came grep -q "^record  *$record, new here" "$out"
check it_says_what_to_commit grep -q '^next  *git add logs experiments && git commit' "$out"
check it_leaves_no_copy_in_logs [ ! -e "$scratch/reader/logs/bm1/experiments" ]
check it_verifies_with_the_record in_clone reader eval "'$LOCUS' verify && git add -A && git commit -qm packet &&
    '$LOCUS' verify --git"
check again_it_has_all in_clone reader eval "'$LOCUS' packet --check '$record_packet' >'$out' &&
    grep -q 'has all of it already' '$out' && grep -q '^record  *$record, here already' '$out' &&
    [ -z \"\$(git status --porcelain)\" ]"

# A filing that was killed while it wrote the record.
check a_half_record_of_a_crash_is_in_nobodys_way in_clone late eval "mkdir -p experiments && printf 'half' >$record.part &&
    cp -a . '$scratch/half' && cd '$scratch/half' && '$LOCUS' packet --check '$record_packet' &&
    cmp $record '$scratch/author/$record' && [ ! -e $record.part ]"
rm -f "$scratch/late/$record.part"

# The way back: what the reader has, its author has, too; and a clone that got the record by git first.
check its_author_has_all_of_it in_clone author eval "'$LOCUS' packet --check '$record_packet' | grep -q 'has all of it already'"
check a_clone_that_has_the_record in_clone late eval "cp '$scratch/author/$record' $record &&
    '$LOCUS' packet --check '$record_packet' >'$out' && grep -q '^record  *$record, here already' '$out' && '$LOCUS' verify"
rm -rf "$scratch/late/logs/bm1"
check a_filing_that_crashed_after_its_record in_clone late eval "! '$LOCUS' verify >'$out' &&
    grep -q '$record:1: a record that no ledger has entered' '$out' && '$LOCUS' packet --check '$record_packet' && '$LOCUS' verify"

cd "$scratch/rival" && printf 'record\nof another\n' >$record
refuses_record() { # NAME WORD [ARCHIVE]: nothing that is there changes
    contents . >"$scratch/before"
    "$LOCUS" packet --check "${3:-$record_packet}" >"$out" 2>"$err"
    why="exit $?: $(cat "$out" "$err")"
    contents . >"$scratch/after"
    if [ "${why%%:*}" = 'exit 1' ] && grep -q -- "$2" "$out" && cmp -s "$scratch/before" "$scratch/after" &&
        [ -z "$(find . -name '.packet*')" ]; then pass "$1"; else fail "$1" "$why"; fi
}
refuses_record another_text_of_that_name "$record is here with another text"
rm $record
mkdir "$scratch/sealed" && tar -C "$scratch/sealed" -xf "$record_packet" 2>"$err"
list=$(cd "$scratch/sealed/bm1" && echo packet/*/manifest.json)
# resealed NAME WORD COMMAND...: the command changes a copy of the packet, and all hashes up to the seal are brought up to date.
resealed() {
    local name=$1 word=$2
    shift 2
    rm -rf "$scratch/copy" && cp -a "$scratch/sealed" "$scratch/copy" &&
        (cd "$scratch/copy/bm1" && eval "$*" && packer "$scratch/changed.tar" "$scratch/copy" reseal) >"$scratch/change" 2>&1 ||
        { fail "$name" "the change could not be made: $(tail -n 1 "$scratch/change")"; return; }
    refuses_record "$name" "$word" "$scratch/changed.tar"
}
resealed a_changed_record "bm1/$record: not the record that was filed" "sed -i s/of/off/ $record"
resealed a_record_that_is_not_filed 'no record of the ledger' \
    "cp $record experiments/0002-two.md && sed -i 's|\"$record\"|\"experiments/0002-two.md\"|' $list"
resealed a_record_that_leads_out 'no name of a record' "sed -i 's|$record|experiments/../0001-one.md|' ledger.jsonl"
resealed a_record_of_a_run_that_is_not_here 'file the packet of its host first' \
    "sed -i '/\"t\":\"record\"/s/aaaaaa/eeeeee/' ledger.jsonl"
of_format_1="rm -rf experiments && sed -i 's/\"format\": 2/\"format\": 1/' $list"
resealed a_packet_that_does_not_bring_its_record "$record is not here, and the packet does not bring it: .*locus packet --no-run" \
    "$of_format_1"
why=
check unless_it_is_here in_clone rival eval "cp '$scratch/author/$record' $record && '$LOCUS' packet --check '$scratch/changed.tar'"

sed -i '2s/"time":"2/"time":"3/' "$scratch/sealed/bm1/ledger.jsonl" && packer "$scratch/clock.tar" "$scratch/sealed" reseal
check a_clock_that_was_wrong_is_said in_clone rival eval "'$LOCUS' packet --check '$scratch/clock.tar' --dry-run >'$out' &&
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
    full_disk sh -c "cd '$scratch/ours' && '$LOCUS' packet --check '$later' --root '$scratch/small'; echo \$?
        ls -A '$scratch/small' | wc -l" >"$out" 2>"$err"
    why="$(cat "$out" "$err")"
    check filing_on_a_full_disk_leaves_nothing [ "$(paste -sd ' ' "$out")" = '1 0' ]
    check and_says_so grep -q 'No space left on device' "$err"
    why=
    check the_record_is_whole_all_the_same locus 0 verify --root build/logs
else
    skip full_disk "no mount namespace for this user"
fi

stopped() { # SIGNAL: sent to the whole group as soon as a run is in the ledger
    local ledger=build/logs/bm1/ledger.jsonl opened group
    opened=$(grep -c '"t":"open"' $ledger)
    setsid "$LOCUS" packet --smoke --again 0002 -o stopped.tar >"$out" 2>"$err" &
    group=$!
    for _ in $(seq 400); do
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
check an_interrupted_run_is_a_crash eval "'$LOCUS' verify --root build/logs | grep -q ' 1 crashed'"
stopped KILL 2>/dev/null
check nothing_but_the_record_is_left [ ! -e stopped.tar ]
check the_next_call_makes_it locus 0 packet --smoke 0002 -o stopped.tar
check with_the_crashes_in_it eval "cd '$scratch/ours' && '$LOCUS' packet --check '$scratch/theirs/stopped.tar' --dry-run"
[ $failures -eq 0 ]
