#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Is each function that liblocus exports fed with the edges of its arguments? placement/domain/tests/edges_*_test.c call them; the
# list below says which are not fed, and why that cannot be.
set -u
cd "$(dirname "$0")/../.." || exit 2
. testbed/tests/cases.bash
library=${BUILD:-build/gcc}/liblocus.so
tests=(placement/domain/tests/edges*.[ch])

# Lines: NAME reason. Each must be exported, and not be called there, or it would be fed.
not_fed='
locus_owner_hot       the address of the first member
locus_owner_is_here   reads one word of an owner; what it says is tried through each call without the role
locus_pool_fetch      a hint to the processor about a word of the stack
locus_pool_alloc_fast pre: locus_pool_has_one(), and it is tried behind that by locus_pool_alloc_inline()
locus_pool_alloc_bulk_fast  pre: locus_pool_has(), and it is tried behind that by locus_owner_grow_fast()
locus_lane_empty      takes no number; locus_owner_drain() is its caller
locus_lane_next       takes no number; locus_owner_drain() is its caller
locus_lane_parity     of any turn; the lane test walks through all round the wrap
locus_lane_reopen    takes no number; locus_table_push() is its caller
locus_lane_send       takes no number; locus_table_push() is its caller
locus_lane_take       takes no number; locus_owner_drain() is its caller
locus_mailbox_arrived takes no number
locus_mailbox_empty   takes no number
locus_mailbox_init    takes no number
locus_mailbox_push    takes no number
locus_mailbox_take    takes no number
locus_mailbox_take_all takes no number
'

exported() { nm -D --defined-only "$library" | sed -n 's/^[0-9a-f]* T \(locus_[a-z0-9_]*\).*/\1/p' | sort -u; }
called() { # neither in a comment nor as the name of a struct
    sed 's,//.*,,; s/struct locus_[a-z0-9_]*//g' "${tests[@]}" | grep -o '\<locus_[a-z0-9_]*\>' | sort -u
}
listed() { sed -n 's/^\(locus_[a-z0-9_]*\) .*/\1/p' <<<"$not_fed" | sort -u; }

exported >"$scratch/exported"
called >"$scratch/called"
listed >"$scratch/listed"
one() { # name, remark, file of what should be empty
    if [ -s "$3" ]; then fail "$1" "$2: $(paste -sd ' ' "$3")"; else pass "$1"; fi
}

if [ -s "$scratch/exported" ]; then pass library-exports-functions; else fail library-exports-functions "$library"; fi
sort "$scratch/called" "$scratch/listed" | comm -23 "$scratch/exported" - >"$scratch/forgotten"
one each-exported-function-is-fed-or-listed 'neither' "$scratch/forgotten"
comm -12 "$scratch/called" "$scratch/listed" >"$scratch/both"
one what-is-listed-is-not-fed 'fed as well' "$scratch/both"
comm -13 "$scratch/exported" "$scratch/listed" >"$scratch/gone"
one what-is-listed-is-exported 'not exported' "$scratch/gone"

# The changelog's table of names: the new ones are in the headers, and the old ones are gone.
names() { # column
    sed -n '/^| old /,$p' placement/CHANGELOG.md | cut -d '|' -f "$1" | grep -oE '`((struct|enum) )?(locus|LOCUS)_[A-Za-z_]+`' |
        grep -oE '(locus|LOCUS)_[A-Za-z_]*[A-Za-z]' | sort -u
}
declared() { cat placement/include/locus/*.h topo/*.h | grep -owE '(locus|LOCUS)_[A-Za-z0-9_]*' | sort -u; }
declared >"$scratch/declared"
names 3 >"$scratch/new"
if [ -s "$scratch/new" ]; then pass the-changelog-has-names; else fail the-changelog-has-names ''; fi
comm -23 "$scratch/new" "$scratch/declared" >"$scratch/missing"
one the-changelogs-new-names-are-declared 'not declared' "$scratch/missing"
names 2 | comm -12 - "$scratch/declared" >"$scratch/stays"
one the-changelogs-old-names-are-gone 'still there' "$scratch/stays"

# A lane's slots, which a program may set for itself, are a power of two.
with_slots() { # how many: does it compile?
    echo '#include "locus/lane.h"' | "${CC:-cc}" -x c -Iplacement/include -DLOCUS_LANE_SLOTS="$1" -fsyntax-only - 2>"$err"
}
for slots in 0 1 2 3 6 96 2097152; do
    if with_slots $slots; then
        fail "lane-slots-$slots-is-refused" 'it compiles'
    else
        grep -q 'LOCUS_LANE_SLOTS is not a power of two' "$err" && pass "lane-slots-$slots-is-refused" ||
            fail "lane-slots-$slots-is-refused" "$(head -n 1 "$err")"
    fi
done
for slots in 4 128 1024; do
    if with_slots $slots; then
        pass "lane-slots-$slots-is-possible"
    else
        fail "lane-slots-$slots-is-possible" "$(head -n 1 "$err")"
    fi
done
done_testing
