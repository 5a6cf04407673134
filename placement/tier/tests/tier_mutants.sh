#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# suite: all
#
# tier_mutants.sh: are the tests of the tiers any good? placement/tests/mutants.bash has the method.
. "$(dirname "$0")/../../tests/mutants.bash"

# Other rooms have tests of the same names; and each program is linked with the calls that fail on demand.
source_of() { echo "placement/tier/tests/$1.c"; }

mutants_begin topo/*.c placement/{base,memory,tier,tier/file,tier/demote}/*.c placement/tier/tests/file_calls_test.c
controls file_test file_fault_test file_chain_test file_ring_test file_name_test file_make_test file_torn_test
controls memory_test quant_test demote_test pieces_test

crc=placement/tier/crc.c objects=placement/tier/objects.c tier=placement/tier/tier.c memory=placement/tier/memory.c
int8=placement/tier/int8.c quant=placement/tier/quant.c scalar=placement/tier/quant_scalar.c demote=placement/tier/demote
operations=placement/tier/file/operations.c io=placement/tier/file/io.c scan=placement/tier/file/scan.c
file=placement/tier/file/file.c name=placement/tier/file/name.c

# within FUNCTION EXPRESSION: in that function alone
within() { echo "/^[A-Za-z].*[ *]$1\\(/,/^}/{$2}"; }

# --- the order of writes, and what it rests on ---------------------------------------------------------------------------------

mutant the-sync-is-not-linked $io file_fault_test "$(within queue 's/if \(link\)/if (0)/')"
mutant a-store-without-a-sync $operations file_fault_test 's/^    slot->chain\[count\+\+\] = TAG_SYNC;/    if (!store)\n    &/'
mutant a-drop-without-a-sync $operations file_fault_test 's/^    slot->chain\[count\+\+\] = TAG_SYNC;/    if (store)\n    &/'
mutant header-before-the-bytes $operations file_fault_test \
    's/if \(!slot->under_way && !slot->error && slot->op->kind == TIER_STORE\)/if (!slot->error \&\& slot->op->kind == TIER_STORE)/'
mutant the-old-version-goes-first $operations file_fault_test \
    's/^    slot->chain\[count\+\+\] = TAG_HEADER;/    if (slot->old != OBJECT_NONE)\n        slot->chain[count++] = TAG_ERASE;\n&/;
     s/^        slot->chain\[count\+\+\] = TAG_ERASE;$/        ;/'
mutant the-old-version-stays $operations file_test 's/slot->old = other == slot->op->object \? OBJECT_NONE : other;/(void)other;/'
mutant no-sync-between-two-erasures $operations file_fault_test 's/!store && file->erases != file->erases_synced/0/'
mutant a-drop-leaves-the-header $operations file_fault_test 's/fill \? \(char \*\)slot->header : file->zeros/(char *)slot->header/'
mutant acknowledged-with-itself $operations file_torn_test 's/return least_under_way - 1;/return least_under_way;/'
mutant acknowledged-with-others $operations file_torn_test 's/if \(file->slot\[i\]\.op && file->slot\[i\]\.sequence\)/if (0)/'
mutant all-have-the-same-number $operations file_torn_test 's/\+\+file->sequence;/file->sequence + 1;/'
mutant a-header-without-its-checksum $operations file_test 's/header->checksum = file_block_checksum\(.*/;/'
mutant a-sync-after-a-failed-one-counts $operations file_chain_test 's/number == TAG_SYNC && !slot->error/0/'
mutant plain-calls-go-on-after-a-failed-one $operations file_fault_test 's/ \|\| file->io\.chain_failed//'
mutant plain-calls-have-no-chains $io file_fault_test 's/if \(!io->linked \|\| !io->broken\)/if (1)/'

mutant a-cut-chain-goes-on $io file_chain_test 's/chain_withdraw\(io, at\);/;/'
mutant what-was-withdrawn-is-delivered $io file_chain_test 's/!= WITHDRAWN\)/!= 1)/'
mutant what-was-withdrawn-has-failed $io file_chain_test 's/int result = -EAGAIN;/int result = -ECANCELED;/'
mutant a-chain-goes-on-from-its-begin $operations file_chain_test \
    's/uint32_t from = slot->again;/uint32_t from = slot->again < slot->chain_count ? 0 : slot->again;/'
mutant a-cancelled-chain-is-done $operations file_chain_test 's/slot->cancelled < slot->chain_count\)/0)/'
mutant a-cancelled-store-is-done $operations file_chain_test 's/^            slot->error = -EIO;/            ;/'
mutant what-is-put-off-is-left-out $operations file_chain_test 's/slot->again = at < slot->again \? at : slot->again;/;/'
mutant the-last-one-put-off-counts $operations file_chain_test 's/at < slot->again \? at : slot->again/at/'
mutant without-end $operations file_chain_test 's/put_off\(error\) && slot->tries < TRIES_MAX/put_off(error)/'
mutant stores-after-a-failed-header $operations file_fault_test 's/^    tier_refuse\(&file->tier, -EIO, "%s \(%s\): .*/    ;/'
mutant refused-but-tried-again $operations file_chain_test \
    "$(within chain_ended 's/if \(file->tier\.refuses\) \{/if (0) {/')"

mutant a-ring-is-not-tried $io file_ring_test 's/return taken < 0 \? taken : 0;/return taken < 0 ? 0 : 0;/'
mutant what-is-queued-is-lost $io file_ring_test 's/else if \(sqe->opcode != IORING_OP_NOP\)/else if (0)/'
mutant a-queued-sync-is-none $io file_ring_test 's/if \(sqe->opcode == IORING_OP_FSYNC\)/if (0)/'
mutant what-is-under-way-is-lost $io file_ring_test 's/if \(io->ring_ends && ring_under_way\(io\) == 0\)/if (io->ring_ends)/'
mutant a-denied-wait-goes-on $io file_ring_test 's/if \(error < 0 && error != -ETIME .*/if (0)/'
mutant a-denied-ring-is-granted $file file_ring_test 's/if \(file->io\.denied\)/if (0)/'

# --- errors, and completions -----------------------------------------------------------------------------------------------------

mutant eio-is-swallowed $tier file_fault_test 's/op->done\(op, result\);/op->done(op, result == -EIO ? 0 : result);/'
mutant enospc-is-swallowed $tier file_fault_test 's/op->done\(op, result\);/op->done(op, result == -ENOSPC ? 0 : result);/'
mutant done-twice $tier memory_test 's/op->done\(op, result\);/&\n    &/'
mutant done-never $tier memory_test 's/op->done\(op, result\);/(void)op;/'
mutant a-failed-store-is-there $tier file_fault_test "$(within tier_store_done 's/if \(result\) \{/if (0) {/')"
mutant a-failed-drop-is-gone $tier file_fault_test "$(within tier_drop_done 's/if \(result\)$/if (0)/')"
mutant failures-are-not-counted $tier file_fault_test 's/counter_add\(&tier->stats\.failed, 1\);/;/'
mutant eio-of-bytes $operations file_fault_test 's/if \(!again && done == 0\)/if (!again \&\& done == 0 \&\& result != -EIO)/'
mutant enospc-of-bytes $operations file_fault_test 's/if \(!again && done == 0\)/if (!again \&\& done == 0 \&\& result != -ENOSPC)/'
mutant nothing-moved-is-all $operations file_fault_test \
    's/slot->error = result < 0 \? result : -EIO;/slot->error = result < 0 ? result : 0;/'
mutant eintr-is-an-error $operations file_fault_test 's/result == -EINTR \|\| //'
mutant eagain-is-an-error $operations file_fault_test 's/ \|\| result == -EAGAIN;/;/'
mutant short-transfers-begin-again $operations file_fault_test 's/^    part->offset \+= done;/    ;/'
mutant short-is-whole $io file_fault_test 's/result < 0 \? -errno : result, bytes, link/result < 0 ? -errno : bytes, bytes, link/'
mutant a-failed-sync-is-one $io file_fault_test 's/fdatasync\(io->fd\) \? -errno : 0/(fdatasync(io->fd), 0)/'
mutant close-does-not-wait $file file_test 's/while \(file->slots_used \|\| file->waiting\)/while (0)/'
mutant a-slot-is-never-used $operations file_chain_test \
    's/i < file->depth && file->waiting && /i + 1 < file->depth \&\& file->waiting \&\& /'
mutant a-ring-that-is-too-small $io file_test 's/under_way_max \+ WITHDRAWN_MAX/2/'
mutant any-buffer-is-registered $io file_test 's/at - own \+ bytes <= io->registered_bytes/1/'

# --- what open finds -------------------------------------------------------------------------------------------------------------

mutant the-version-is-not-looked-at $scan file_torn_test 's/ \|\| header->version != FILE_VERSION//'
mutant the-file-is-not-looked-at $scan file_torn_test 's/ \|\| header->id != file->id//'
mutant the-header-s-checksum-is-not-looked-at $scan file_torn_test \
    's/header->checksum != file_block_checksum\(header, &header->checksum\)/0/'
mutant the-place-is-not-looked-at $scan file_torn_test 's/ \|\| header->runs\[0\]\[0\] != unit//'
mutant the-length-is-not-looked-at $scan file_torn_test \
    's/\(header->held \+ file->tier\.unit_bytes - 1\) \/ file->tier\.unit_bytes == units/1/'
mutant the-bytes-are-not-looked-at $scan file_torn_test 's/crc == header->content \? CONTENT_WHOLE : CONTENT_TORN/CONTENT_WHOLE/'
mutant nothing-is-read $scan file_torn_test 's/header->sequence > scan->acknowledged\)/0)/'
mutant all-is-read $scan file_torn_test 's/header->acknowledged > scan->acknowledged/0/'
mutant the-numbers-begin-again $scan file_torn_test 's/header->sequence > file->sequence/0/'
mutant the-older-version-wins $scan file_torn_test 's/own\.sequence > other\.sequence/own.sequence < other.sequence/'
mutant the-outdated-stay $scan file_torn_test 's/return header_erase\(scan, place->unit == unit \? .*/return 0;/'
mutant the-torn-stay $scan file_torn_test "$(within newest_find 's/return header_erase\(scan, unit\);/return 0;/')"
mutant units-of-two-objects $objects file_torn_test 's/ \|\| objects->taken\[unit \/ WORD_BITS\] & bit_of\(\(uint32_t\)unit\)//'
mutant units-of-no-object $objects file_torn_test "$(within objects_new_at 's/chain_free\(objects, first\);/;/')"
mutant unreadable-is-torn $scan file_fault_test 's/\*out = CONTENT_UNREADABLE;/*out = CONTENT_TORN;/'
mutant an-unreadable-version-wins $scan file_fault_test 's/if \(place->unreadable\)/if (0)/'
mutant an-older-version-wins-unread $scan file_fault_test 's/\*out = content == CONTENT_WHOLE;/*out = true;/'
mutant no-sync-before-the-scan $scan file_fault_test 's/\} else if \(fdatasync\(file->fd\)\) \{/} else if (0) {/'
mutant no-sync-of-what-was-erased $scan file_fault_test 's/scan\.erased && fdatasync\(file->fd\)/0/'

# --- a file that is made, and others ---------------------------------------------------------------------------------------------

mutant the-first-block-is-not-synced $file file_make_test 's/fdatasync\(file->fd\) \? -errno : folder_sync/folder_sync/'
mutant the-folder-is-not-synced $file file_make_test 's/: folder_sync\(config->path\)/: 0/'
mutant the-space-is-not-taken $file file_make_test 's/if \(fallocate\(.*\) == 0\)/if (1)/'
mutant a-signal-ends-the-allocation $file file_make_test 's/else if \(errno != EINTR\)/else/'
mutant larger-than-its-bytes $file file_make_test 's/units \* unit_bytes > bytes\)/units * unit_bytes > 2 * bytes)/'
mutant a-later-version-is-made-anew $file file_make_test 's/ && first->version <= FILE_VERSION//'
mutant large-zeros-are-made-anew $file file_make_test 's/if \(bytes > FILE_BLOCK\)$/if (bytes > 4 * FILE_BLOCK)/'
mutant what-was-cut-off-is-refused $file file_make_test \
    's/bool unfinished = is_unfinished\(first, bytes\);/bool unfinished = bytes == 0;/'
mutant devices-are-files $name file_name_test 's/!S_ISREG\(status->st_mode\)/0/'
mutant links-are-followed $name file_name_test 's/S_ISLNK\(status->st_mode\)/0/; s/ \| O_NOFOLLOW//; s/lstat\(/stat(/'
mutant others-have-rights $name file_name_test 's/else if \(mode & 077\)/else if (0)/'
mutant a-group-has-rights $name file_name_test 's/else if \(mode & 077\)/else if (mode \& 07)/'
mutant others-own-files $name file_name_test 's/else if \(user != own\)/else if (0)/'
mutant files-have-more-names $name file_name_test 's/status->st_nlink > 1/0/'
mutant what-was-made-is-not-looked-at $name file_name_test 's/fault_of\(&status, config, make\)/0/'
mutant the-umask-decides $name file_name_test 's/^        fchmod\(.*/        ;/'
mutant the-file-does-not-wait $name file_name_test "$(within flags_set 's/O_DIRECT\)/O_DIRECT | O_NONBLOCK)/')"
mutant a-name-that-leads-elsewhere $name file_name_test 's/!error && !leads_to\(config->path, file->fd\)/0/'
mutant a-failed-open-leaves-a-file $name file_name_test 's/^        unlink\(path\);/        ;/'
mutant a-failed-open-removes-any-file $name file_name_test 's/file->fresh && leads_to/leads_to/'
mutant no-space-without-fallocate $file file_make_test 's/if \(is_denied\(error\)\) \{/if (0) {/'
mutant zeros-are-not-written $file file_make_test 's/error = error \? error : zeros_write\(.*/;/'
mutant the-making-does-not-end $file file_make_test 's/!error && first->making\)/0)/'
mutant a-cut-off-making-is-damaged $file file_make_test 's/first_is_sound\(first\) && first->making;/0;/'
mutant no-look-at-the-limit $file file_make_test 's/bytes <= limit\.rlim_cur\)/1)/'
mutant no-look-at-the-limit-of-a-file $file file_make_test 's/return limit_check\(bytes_of\(first\), config\);/return 0;/'
mutant the-first-block-s-version $file file_fault_test 's/first->version != FILE_VERSION/0/'
mutant the-first-block-s-checksum $file file_fault_test 's/first->checksum == file_block_checksum\(first, &first->checksum\) && //'
mutant the-file-s-size $file file_fault_test 's/\(bytes > FILE_BLOCK && bytes != bytes_of\(first\)\)/0/'
mutant the-file-s-shape $file file_fault_test 's/units_of\(config->bytes, unit\) != first->units/0/'
mutant two-owners $name file_fault_test 's/if \(flock\(file->fd, LOCK_EX \| LOCK_NB\)\)/if (0)/'
mutant o-direct-or-nothing $name file_fault_test 's/return file->granted\.direct \|\| .*/return file->granted.direct ? 0 : -errno;/'
mutant no-word-for-a-later-config $file file_make_test 's/if \(error == -E2BIG\)/if (0)/'

# --- objects, and what all tiers answer ------------------------------------------------------------------------------------------

mutant the-last-unit-is-never-free $objects memory_test 's/units > objects->units_free/units >= objects->units_free/'
mutant one-unit-more-than-there-are $objects memory_test 's/units > objects->units_free/units > objects->units_free + 1/'
mutant room-is-not-given-back $objects memory_test 's/objects->units_free\+\+;/;/'
mutant units-are-not-given-back $objects memory_test 's/objects->taken\[unit \/ WORD_BITS\] &= ~bit_of\(unit\);/;/'
mutant the-lowest-free-unit-stays $objects memory_test 's/if \(unit \/ WORD_BITS < objects->lowest\)/if (0)/'
mutant compressed-objects-keep-their-room $objects file_test "$(within objects_shorten 's/chain_free\(.*/;/')"
mutant scattered-units-are-neighbours $objects memory_test 's/\*next = objects->next\[unit\];/*next = unit + 1;/'
mutant any-key $objects memory_test 's/ && !locus_id_equal\(objects->object\[object\]\.key, key\)\)/ \&\& 0)/'
mutant a-removal-hides-others $objects memory_test 's/if \(\(\(place - home\) & mask\) >= /if (((place - home) \& mask) > /'
mutant two-stores-of-a-key $tier file_test 's/before->state != OBJECT_HERE \|\| before->replaced\)/0)/'
mutant the-replaced-keeps-its-room $tier memory_test 's/if \(old != OBJECT_NONE && old != number\)/if (0)/'
mutant units-of-a-reader-are-free $tier file_test 's/if \(object->readers == 0\)/if (1)/'
mutant a-reader-keeps-the-units $tier file_test 's/ && object->state == OBJECT_GONE\)/ \&\& 0)/'
mutant larger-than-the-tier $tier memory_test 's/ \|\| units > tier->objects\.units\)/)/'
mutant no-room-is-not-counted $tier memory_test 's/counter_add\(&tier->stats\.refused_room, 1\);/;/'
mutant the-room-is-not-looked-at $tier memory_test 's/object->bytes > bytes\)/object->bytes > bytes + 1)/'
mutant odd-bytes $tier memory_test 's/ && piece->bytes % multiple == 0//'
mutant an-odd-address $tier memory_test 's/\(uintptr_t\)piece->memory % sizeof\(uint16_t\) == 0 && //'
mutant a-group-in-two-pieces $tier pieces_test 's/last \? sizeof\(uint16_t\) : .*;/sizeof(uint16_t);/'
mutant a-piece-without-bytes $tier pieces_test 's/\(some && pieces\[i\]\.bytes == 0\) \|\| //'
mutant no-piece $tier pieces_test 's/return count \? 0 : -EINVAL;/return 0;/'
mutant pieces-without-an-end $tier pieces_test 's/return -EFBIG;/return 0;/'
mutant a-dropped-object-is-found $tier file_test 's/ && tier->objects\.object\[object\]\.state == OBJECT_HERE \?/ ?/'
mutant stores-of-a-refusing-tier $tier file_fault_test 's/tier->refuses \? tier->refuses : tier_coming/tier_coming/'
mutant drops-of-a-refusing-tier $tier file_fault_test "$(within locus_tier_drop 's/if \(tier->refuses\)/if (0)/')"
mutant the-last-reason-is-said $tier file_fault_test "$(within tier_refuse 's/if \(tier->refuses\)/if (0)/')"
mutant each-goes-on $tier memory_test 's/i < tier->objects\.units && !result/i < tier->objects.units/'

# --- memory, checksums -----------------------------------------------------------------------------------------------------------

mutant far-checksum-is-not-looked-at $memory memory_test 's/checksum == object->checksum \? 0 : -EBADMSG/0/'
mutant the-first-piece-is-summed $memory memory_test \
    's/crc32c\(checksum, \(const char \*\)from \+ done, piece\)/crc32c(checksum, from, piece)/'
mutant whole-units-are-copied $memory memory_test 's/run = run < left \? run : left;/;/'
mutant checksums-of-all $memory memory_test 's/if \(memory->unchecked\)/if (0)/'
mutant a-part-of-a-unit-is-none $memory memory_test \
    's/\(config\.bytes \+ config\.unit_bytes - 1\) \/ config\.unit_bytes/config.bytes \/ config.unit_bytes/'
mutant units-of-any-size $memory memory_test 's/ \|\| \(unit & \(unit - 1\)\)\)/)/'
mutant file-checksum-is-not-looked-at $operations file_torn_test \
    's/ && checksum_of\(op\) != object->checksum\)/ \&\& 0)/'
mutant packed-checksum-is-not-looked-at $operations file_torn_test \
    "$(within load_unpack 's/if \(crc32c\(.*/if (0)/')"
mutant packed-length-is-not-looked-at $operations file_torn_test 's/return bytes == object->bytes \? 0 : -EBADMSG;/return 0;/'
mutant crc-polynomial $crc memory_test 's/0x82f63b78u/0x82f63b79u/'
mutant crc-table $crc memory_test 's/slice\[7 - i\]/slice[i]/'
mutant crc-parts $crc memory_test \
    's/after_zeros\(after_zeros\(crc\) \^ second\) \^ third/after_zeros(after_zeros(crc) ^ third) ^ second/'
mutant crc-zeros $crc memory_test 's/zeros\[3\]\[crc >> 24\]/zeros[2][crc >> 24]/'
mutant crc-last-bytes $crc memory_test 's/STEP_1\(crc, \*at\+\+\)/STEP_1(crc, *at)/'
mutant crc-begin $crc memory_test 's/~register_fast\(~crc/register_fast(crc/'
mutant crc-copy-without-its-end $crc memory_test "$(within register_copy 's/memcpy\(to, at, count\);/;/')"
mutant crc-copy-without-a-part $crc memory_test "$(within register_copy 's/part < 3/part < 2/')"

# --- pieces ----------------------------------------------------------------------------------------------------------------------

mutant a-load-stays-in-its-piece $operations pieces_test 's/tier_skip\(&slot->next, part->last\)/(void)load/'
mutant any-address-is-direct $operations pieces_test "$(within direct 's/if \(\(uintptr_t\)piece->memory % FILE_BLOCK\)/if (0)/')"
mutant any-length-is-direct $operations pieces_test "$(within direct 's/if \(piece->bytes % FILE_BLOCK\)/if (0)/')"
mutant the-first-piece-is-packed $operations pieces_test 's/^ +piece->bytes < object->bytes\)$/        0)/'
mutant unpacked-beyond-a-piece $operations pieces_test "$(within load_unpack 's/if \(piece->bytes < object->bytes\)/if (0)/')"

# --- int8 ------------------------------------------------------------------------------------------------------------------------

mutant int8-beyond-a-unit $int8 memory_test \
    's/LOCUS_INT8_GROUP_BYTES \* LOCUS_INT8_GROUP;/LOCUS_INT8_GROUP_BYTES * LOCUS_INT8_GROUP + 64;/'
mutant int8-of-what-has-none $int8 memory_test 's/^        if \(error\)$/        if (0)/'
mutant int8-checksum-is-not-looked-at $int8 memory_test 's/checksum != object->checksum \? -EBADMSG : error/error/'
mutant int8-checksum-of-the-last-unit $int8 memory_test 's/crc32c\(object->checksum, memory_unit/crc32c(0, memory_unit/'
mutant int8-held $int8 memory_test "$(within int8_units 's/locus_int8_bytes\(numbers\)/bytes/')"
mutant quant-last-group $quant quant_test "$(within locus_int8_from_f16 's/memcpy\(last.*/;/')"
mutant quant-bytes $quant quant_test 's/ \+ \(count % LOCUS_INT8_GROUP != 0\)//'
mutant quant-infinite-at-the-end $quant quant_test 's/\? 0 : -ERANGE;/? 0 : 0;/'
mutant quant-not-written-by-it $quant quant_test 's/return -EBADMSG;/return 0;/'
mutant quant-never $scalar quant_test 's/ \|\| memchr\(from \+ sizeof most, QUANT_NEVER, LOCUS_INT8_GROUP\)//'
mutant quant-bytes-beyond $quant quant_test 's/count > SIZE_MAX \/ 2/0/'
mutant quant-rounding $scalar quant_test 's/\(number \+ 0x1\.8p23f\) - 0x1\.8p23f/number/'
mutant quant-scale $scalar quant_test 's/half_load\(most\) \* QUANT_STEP/half_load(most) * (1 \/ 128.0f)/'
mutant quant-levels $scalar quant_test 's/QUANT_LEVELS \/ half_load/126.0f \/ half_load/'
mutant quant-denormals $scalar quant_test 's/rest < 0x38800000/0/'
mutant quant-infinite $scalar quant_test 's/most >= QUANT_INFINITE/most > QUANT_INFINITE/'

# --- where objects go ----------------------------------------------------------------------------------------------------------

mutant order-without-room $demote/order.c demote_test 's/count, 0, true\);/count, 0, false);/'
mutant order-drops-what-has-no-room $demote/order.c demote_test 's/return with_room != LOCUS_DEMOTE_DROP \? .*/return with_room;/'
mutant demoted-to-where-it-is $demote/demote.c demote_test 's/object->at \+ 1/object->at/'
mutant exact-objects-lose $demote/demote.c demote_test 's/ && !\(object->exact && tiers\[i\]\.lossy\)//'
mutant what-fits-exactly-does-not $demote/demote.c demote_test 's/\) >= object->bytes/) > object->bytes/'
mutant a-full-tier-has-room $demote/demote.c demote_test 's/now \? tiers\[i\]\.bytes_free : tiers\[i\]\.bytes\)/tiers[i].bytes)/'
mutant loads-without-latency $demote/demote.c demote_test 's/\? tier->latency_ns \+ /? /'
mutant loads-without-end $demote/demote.c demote_test 's/transfer_ns < \(double\)most_ns \?/1 ?/'
mutants_end
