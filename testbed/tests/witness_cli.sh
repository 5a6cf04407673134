#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# locus witness: what it makes, and what it refuses when file, stamp, authority, tag, ledger or history is another one.
# LOCUS=path/to/locus BUILD=build/VARIANT. LOCUS_ASAN, if set, is the program under test.
#
# The record is a forged one (record_forge_scenario), the time-stamping authority a local one of openssl's: no network.
set -u
: "${LOCUS:?LOCUS must name the program}" "${BUILD:?BUILD must name the folder of the build}"
LOCUS=$(realpath "${LOCUS_ASAN:-$LOCUS}") forge=$(realpath "$BUILD")/testbed/record/tests/record_forge_scenario
unset LOCUS_ASAN
. "$(dirname "$0")/cases.bash"
export GIT_CONFIG_GLOBAL=$scratch/gitconfig GIT_CONFIG_NOSYSTEM=1 HOME=$scratch
unset GIT_DIR GIT_WORK_TREE
printf '[user]\nname = a\nemail = a@b\n' >"$GIT_CONFIG_GLOBAL"
ledger=logs/bm1/ledger.jsonl
kept=$scratch/kept

commit() { git add -A && git commit -qm "$1"; }
{
    mkdir "$scratch/good" && cd "$scratch/good" && git init -q -b main && mkdir postulates experiments &&
        printf 'one\npredicts\n' >postulates/0001-one.md && printf 'two\n' >postulates/0002-two.md && commit postulates &&
        "$forge" file && commit file && mkdir "$kept"
} >"$out" 2>"$err" || { fail a_record "$(cat "$err")"; exit 1; }
head=$(git rev-parse HEAD)
filed="bm1 $(wc -c <$ledger) $(tail -n 1 $ledger | sed 's/.*"h":"\(.*\)"}$/\1/')"

# said NAME LINE, found NAME PATTERN: in the output.
said() { holds "$1" "$(cat "$out" "$err")" grep -qxF -- "$2" "$out"; }
found() { holds "$1" "$(cat "$out" "$err")" grep -q -- "$2" "$out"; }
# changed NAME: a copy of the record, and of what was kept; the case works there.
changed() { rm -rf "$scratch/work" && cp -a "$scratch/good" "$scratch/work" && cd "$scratch/work" || exit 1; }

# --- the checkpoint ------------------------------------------------------------------------------------------------------------

check it_is_printed locus 0 witness make
holds it_is_a_commit_and_a_line_for_each_host "$(cat "$out")" test "$(cat "$out")" = "commit $head
$filed"
check it_goes_to_a_file locus 0 witness make -o "$kept/w"
holds the_file_is_the_same "$(cat "$kept/w")" test "$(cat "$kept/w")" = "commit $head
$filed"
found the_next_step_is_printed "curl --data-binary @$kept/w.tsq -H 'Content-Type: application/timestamp-query' URL >$kept/w.tsr"
check verify_reads_it locus 0 verify --checkpoint "$kept/w" --git
refuses nothing_is_overwritten 2 'is there already' witness make -o "$kept/w"
touch "$kept/x.tsq"
refuses nor_is_a_request 2 'x.tsq: is there already' witness make -o "$kept/x"
holds and_then_there_is_no_file - test ! -e "$kept/x"
check it_is_checked locus 0 witness check "$kept/w"
said the_record_goes_on_from_it "$kept/w: the record goes on from it"
said that_nobody_vouches_is_said 'stamp: none, it says as much as the place where it was kept'
{ "$forge" first && commit first && "$forge" second && commit second; } >"$scratch/damage" 2>&1
check so_it_does_when_the_record_has_grown locus 0 witness check "$kept/w"
check as_json locus 0 witness check "$kept/w" --json
says it_is_said_in_json '.findings == [] and .history and .stamp == null and (.checkpoint | endswith("/w")) and
    .head.schema == "locus-witness/1"'

changed && sed -i '2s/predicts/predicted/' postulates/0001-one.md
refuses a_damaged_record_is_not_witnessed 1 'not what was written' witness make -o "$kept/damaged"
holds and_leaves_no_file - test ! -e "$kept/damaged"
changed && sed -i '1s/"nonce":"./"nonce":"x/' $ledger && "$forge" chain $ledger
check a_ledger_written_anew_is_found locus 1 witness check "$kept/w"
found by_the_checkpoint "^$ledger:3: written anew.*(witness: an older checkpoint)$"
changed && { git checkout -q --orphan other && git commit -qm anew; } 2>"$scratch/damage"
check a_history_written_anew_is_found locus 1 witness check "$kept/w"
said its_commit_is_named "$kept/w:1: commit ${head:0:12} is not in this history: it was written anew since, or this is another \
branch (witness: an older checkpoint)"
holds verify_says_so_too "$(cat "$out")" eval "'$LOCUS' verify --git --checkpoint '$kept/w' | grep -q 'is not in this history'"
changed && rm -rf .git
check without_history_the_ledgers_are_checked locus 0 witness check "$kept/w"
said and_that_is_said 'history: none here, so it was not asked for the checkpoint'"'"'s commit'
cd "$scratch/good" || exit 1
check logs_of_trials_have_no_history locus 0 witness check "$kept/w" --logs "$PWD/logs/"
found as_they_lie_elsewhere '^history: none here'
check however_their_folder_is_written locus 0 witness check "$kept/w" --logs ./logs/ --json
says it_is_the_one_of_the_history .history
printf 'commit %s\ncommit %s\n%s\n' "$head" "$head" "$filed" >"$kept/twice"
refuses a_second_commit_is_none 2 'twice:2: not a checkpoint' witness check "$kept/twice"
printf 'commit %s\n%s\n' main "$filed" >"$kept/name"
refuses a_name_is_no_commit 2 'name:1: not a checkpoint' witness check "$kept/name"

# --- the command line ----------------------------------------------------------------------------------------------------------

refuses no_action 2 'make or check' witness
refuses another_action 2 "'sign' is not make or check" witness sign
refuses nothing_to_check 2 'which checkpoint' witness check
refuses two_things_to_check 2 'which checkpoint' witness check "$kept/w" --tag x
refuses no_such_file 2 'No such file' witness check "$kept/nowhere"
refuses sign_without_a_tag 2 'name it with --tag' witness make --sign
refuses a_ca_for_make 2 'for check' witness make --ca x
refuses output_for_check 2 'for make' witness check "$kept/w" -o x
refuses a_ca_without_a_stamp 2 'w.tsr: there is no such time stamp' witness check "$kept/w" --ca x
refuses no_such_host 2 'there is no logs/bm7' witness make --host bm7
(cd "$scratch" && refuses outside_of_a_clone 2 'no postulates/ here' witness make)

# --- the time stamp ------------------------------------------------------------------------------------------------------------

# authority NAME END: NAME.pem is its root, which signs for NAME.tsa.pem, the certificate of its stamps until END.
authority() {
    (
        local key='-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes'
        cd "$kept" && : >"$1.index" && printf '%s\n' '[ca]' 'default_ca = root' '[root]' "database = $1.index" \
            'new_certs_dir = .' 'default_md = sha256' 'policy = any' 'x509_extensions = stamps' 'rand_serial = yes' '[any]' \
            'commonName = supplied' '[stamps]' 'extendedKeyUsage = critical,timeStamping' '[tsa]' "serial = $kept/$1.serial" \
            'default_policy = 1.2.3.4' 'digests = sha256' 'signer_digest = sha256' 'ess_cert_id_alg = sha256' >"$1.cnf" &&
            openssl req -x509 $key -keyout "$1.key" -out "$1.pem" -days 3650 -subj "/CN=root of $1" &&
            openssl req $key -keyout "$1.tsa.key" -out "$1.csr" -subj "/CN=stamps of $1" &&
            openssl ca -batch -config "$1.cnf" -in "$1.csr" -cert "$1.pem" -keyfile "$1.key" -out "$1.tsa.pem" -notext \
                -enddate "$2"
    ) >>"$scratch/openssl" 2>&1
}
# stamp NAME REQUEST RESPONSE: by that authority, as it would answer curl.
stamp() {
    openssl ts -reply -config "$kept/$1.cnf" -section tsa -queryfile "$2" -signer "$kept/$1.tsa.pem" -inkey "$kept/$1.tsa.key" \
        -chain "$kept/$1.pem" -out "$3" >>"$scratch/openssl" 2>&1
}
# On a busy machine the keys alone may take three seconds.
brief_stamp() {
    local span
    for span in 3 12 48 192; do
        ends=$(($(date +%s) + span))
        authority brief "$(date -u -d "@$ends" +%Y%m%d%H%M%SZ)" && stamp brief "$kept/w.tsq" "$kept/brief.tsr" || return
        [ "$(date +%s)" -ge $ends ] || return 0
    done
    return 1
}
stamps() {
    local name
    for name in mine other; do
        authority $name 20600101000000Z || { fail an_authority "$(tail -n 2 "$scratch/openssl")"; return; }
    done
    cp "$kept/w" "$kept/brief"
    check an_authority_for_a_few_seconds_stamps brief_stamp
    check the_request_is_one_of_the_file eval "openssl ts -query -in '$kept/w.tsq' -text 2>&1 | tee '$scratch/query' |
        grep -q 'Hash Algorithm: sha256' && grep -q 'Certificate required: yes' '$scratch/query' &&
        [ \"\$(sed -n '/^ *[0-9a-f]* - /{s/^ *[0-9a-f]* - //;s/  .*//;s/[- ]//g;p}' '$scratch/query' | tr -d '\n')\" = \
        \"\$(sha256sum <'$kept/w' | cut -d ' ' -f 1)\" ]"
    check the_authority_takes_it stamp mine "$kept/w.tsq" "$kept/w.tsr"
    refuses a_stamp_needs_a_root 2 'Name the root certificate' witness check "$kept/w"
    check a_stamp_holds locus 0 witness check "$kept/w" --ca "$kept/mine.pem"
    found its_time_and_authority_are_printed "^stamp: $(date -u +%Y-%m-%dT%H):[0-9:]*Z, by CN = stamps of mine: "
    check a_stamp_as_json locus 0 witness check "$kept/w" --ca "$kept/mine.pem" --json
    says a_stamp_in_json '.stamp.authority == "CN = stamps of mine" and (.stamp.time | fromdate) <= now and .findings == []'
    check openssl_agrees openssl ts -verify -data "$kept/w" -in "$kept/w.tsr" -CAfile "$kept/mine.pem"

    check another_root_is_refused locus 1 witness check "$kept/w" --ca "$kept/other.pem"
    found for_its_chain "^$kept/w.tsr:1: certificate verify error.*(witness: the time stamp)\$"
    refuses a_root_that_is_none 2 'w: no certificates' witness check "$kept/w" --ca "$kept/w"
    refuses a_root_that_is_not_there 2 'nowhere: No such file' witness check "$kept/w" --ca "$kept/nowhere"

    cp "$kept/w.tsr" "$kept/v.tsr" && cp "$kept/w" "$kept/v" && echo >>"$kept/v"
    check a_file_with_one_more_byte_is_refused locus 1 witness check "$kept/v" --ca "$kept/mine.pem"
    found for_its_hash "^$kept/v.tsr:1: message imprint mismatch.*(witness: the time stamp)\$"

    cp "$kept/w" "$kept/u" && cp "$kept/w.tsr" "$kept/u.tsr" && flip "$kept/u.tsr" -20
    check a_changed_signature_is_refused locus 1 witness check "$kept/u" --ca "$kept/mine.pem"
    cp "$kept/w.tsr" "$kept/u.tsr" && change_time "$kept/u.tsr"
    check a_changed_time_is_refused locus 1 witness check "$kept/u" --ca "$kept/mine.pem"
    echo no >"$kept/u.tsr"
    check what_is_no_stamp_is_refused locus 1 witness check "$kept/u" --ca "$kept/mine.pem"
    found as_no_stamp "^$kept/u.tsr:1: not a time stamp"
    printf '0\5\60\3\2\1\2' >"$kept/u.tsr" # TimeStampResp {status {rejection}}
    check a_rejection_is_no_stamp locus 1 witness check "$kept/u" --ca "$kept/mine.pem"
    found as_a_rejection "^$kept/u.tsr:1: the authority granted no stamp"

    changed && sed -i '1s/"nonce":"./"nonce":"x/' $ledger && "$forge" chain $ledger
    check a_stamped_checkpoint_finds_a_ledger_written_anew locus 1 witness check "$kept/w" --ca "$kept/mine.pem"
    found it_is_the_ledger "^$ledger:3: written anew.*(witness: an older checkpoint)$"
    cd "$scratch/good" || exit 1
}
flip() { # FILE OFFSET-FROM-THE-END
    python3 -S - "$1" "$2" <<'PYTHON'
import sys
data = bytearray(open(sys.argv[1], 'rb').read())
data[int(sys.argv[2])] ^= 1
open(sys.argv[1], 'wb').write(data)
PYTHON
}
# The stamp's time is in it as text, "20261125123000Z".
change_time() {
    python3 -S - "$1" <<'PYTHON'
import re, sys
data = open(sys.argv[1], 'rb').read()
open(sys.argv[1], 'wb').write(re.sub(rb'\x18\x0f20\d\d', b'\x18\x0f2019', data, count=1))
PYTHON
}
if command -v openssl >/dev/null; then stamps; else skip a_stamp 'no openssl'; fi

# A certificate that has expired since was good when it stamped.
stamped_before() {
    while [ "$(date +%s)" -le $ends ]; do sleep 0.2; done
    check a_stamp_outlives_its_certificate locus 0 witness check "$kept/brief" --ca "$kept/brief.pem"
    found with_its_time "^stamp: 20.*, by CN = stamps of brief: "
    authority late "$(date -u -d "@$((ends - 2))" +%Y%m%d%H%M%SZ)" && cp "$kept/w" "$kept/late" &&
        stamp late "$kept/w.tsq" "$kept/late.tsr"
    check a_stamp_by_an_expired_certificate_is_refused locus 1 witness check "$kept/late" --ca "$kept/late.pem"
    found as_expired 'late.tsr:1: certificate verify error: .*certificate has expired'
}
# --- the tag -------------------------------------------------------------------------------------------------------------------

cd "$scratch/good" || exit 1
head=$(git rev-parse HEAD)
check a_tag_is_made locus 0 witness make --tag filed
said unsigned_it_says_so 'signed      no: anybody who can write here can make it, at any time. --sign signs it'
holds its_message_is_the_checkpoint - test "$(git tag -l --format='%(contents)' filed)" = "$("$LOCUS" witness make)"
refuses a_tag_stays 1 "tag 'filed' already exists" witness make --tag filed
check a_tag_holds locus 0 witness check --tag filed
said that_it_is_not_signed_is_said 'signed: no, it says as much as those whom it was pushed to'
refuses no_such_tag 2 'there is no annotated tag' witness check --tag nowhere
git tag light
refuses a_light_tag_says_nothing 2 'there is no annotated tag' witness check --tag light
"$LOCUS" witness make | git tag -a -F - --cleanup=verbatim moved HEAD~1
check a_tag_of_another_commit_is_found locus 1 witness check --tag moved
found by_its_message '^tag moved:1: its message does not name the commit that it tags (witness: the tag)$'
refuses sign_without_a_key 1 '--tag keyless: ' witness make --tag keyless --sign
echo >>note
check an_untracked_file_is_no_matter locus 0 witness make --tag again
holds nothing_is_uncommitted "$(cat "$out")" eval "! grep -q ^note '$out'"
rm note
changed && "$forge" record 2>"$scratch/damage"; echo '# 0001' >experiments/0001-one.md && "$forge" record
check a_ledger_that_is_not_committed locus 0 witness make --tag early
found is_named "^note  *$ledger is not committed as it is"
cd "$scratch/good" || exit 1
if command -v ssh-keygen >/dev/null; then
    for name in mine theirs; do ssh-keygen -q -t ed25519 -N '' -C '' -f "$scratch/$name"; done
    echo "me@here $(cat "$scratch/mine.pub")" >"$scratch/signers"
    git config gpg.format ssh && git config user.signingKey "$scratch/mine" &&
        git config gpg.ssh.allowedSignersFile "$scratch/signers"
    check a_tag_is_signed locus 0 witness make --tag signed --sign
    said that_it_is_signed_is_said 'signed      yes'
    check a_signature_holds locus 0 witness check --tag signed
    found by_whom_is_said '^signed: Good "git" signature for me@here '
    resigned() { # NAME SCRIPT: the same tag, changed
        git cat-file tag signed | sed "$2" | git hash-object -t tag -w --stdin >"$scratch/tag" &&
            git update-ref "refs/tags/$1" "$(cat "$scratch/tag")"
    }
    resigned forged 's/^tagger .*/tagger b <b@c> 1 +0000/'
    check a_signature_of_another_tag_is_refused locus 1 witness check --tag forged
    found git_does_not_vouch '^tag forged:1: git does not vouch for its signature: .*(witness: the key)$'
    git config user.signingKey "$scratch/theirs"
    check another_key_signs locus 0 witness make --tag theirs --sign
    check and_is_refused locus 1 witness check --tag theirs
else
    skip a_signed_tag 'no ssh-keygen'
fi
cd "$scratch/good" || exit 1
! command -v openssl >/dev/null || stamped_before
done_testing
