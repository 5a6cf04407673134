# SPDX-License-Identifier: Apache-2.0
"""A cache of full blocks under the ids of their tokens, and where they go when the pool needs their memory."""

from __future__ import annotations

import array
import errno
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ._core import Error, Handle, check, config
from ._native import ffi, lib
from ._owner import Owner, Table
from ._pool import Pool
from ._tier import Tier

__all__ = ["Offload", "OffloadStats", "Prefix", "PrefixStats"]

_NS = 1_000_000_000


@dataclass(frozen=True)
class OffloadStats:
    """Blocks in each tier now, those that went from the first to the second, and those that were lost."""

    blocks: tuple[int, ...]
    demoted: int
    lost: int


class Offload(Handle):
    """One or two tiers for the blocks that a prefix cache evicts. A file, if there is one, is the last."""

    def __init__(self, pool: Pool, tiers: Sequence[tuple[Tier, int]]) -> None:
        """`tiers`: each with how many blocks it may hold. From now on they are the cache's alone."""
        if not 1 <= len(tiers) <= 2:
            raise Error(errno.EINVAL, "Offload", f"it takes one tier or two, not {len(tiers)}")
        pointers = [tier.take() for tier, _ in tiers]
        wanted = config("locus_offload_config", block_bytes=pool.block_bytes, tier=pointers, blocks=[count for _, count in tiers])
        out = ffi.new("struct locus_offload **")
        error = lib.locus_offload_open(out, wanted)
        check(error, "Offload", "a tier is to hold no block, or has objects that are no blocks of this size, or too many")
        super().__init__(out[0], lib.locus_offload_close, *pointers)
        self.count = len(tiers)

    def stats(self) -> OffloadStats:
        """Its counts; the owner's thread."""
        out = ffi.new("struct locus_offload_stats *")
        lib.locus_offload_stats(self.pointer, out)
        return OffloadStats(tuple(out.blocks[i] for i in range(self.count)), out.blocks_demoted, out.blocks_lost)


@dataclass(frozen=True)
class PrefixStats:
    """Blocks that were asked for and found, published and evicted since it was opened; and those that it has now."""

    asked: int
    found: int
    published: int
    evicted: int
    cached: int
    known: int


class Prefix(Handle):
    """What prompts begin with is not computed twice: a table adopts the blocks that another one published.

    A block lives on when its last holder lets it go, until the pool needs it. All calls are the owner's, who holds its role.
    """

    def __init__(
        self, owner: Owner, *, tokens_per_block: int, evict: str = "chain", offload: Offload | None = None, key: bytes | None = None
    ) -> None:
        """`evict`: chain or lru. It keeps the tokens of its blocks, and compares them with those that are asked for.

        `key`: 16 secret bytes under which ids are made; None: drawn. What an earlier run left in a file has the ids of its key.
        """
        self.owner, self.tokens_per_block, self.offload = owner, tokens_per_block, offload
        policy = lib.locus_evict_find(evict.encode())
        if not policy:
            raise Error(errno.EINVAL, "Prefix", f"there is no policy {evict!r}: chain, lru")
        connector = ffi.new("struct locus_offload_ops *") if offload else None
        if offload:
            lib.locus_offload_connector(offload.pointer, connector)
        wanted = config("locus_prefix_config", owner=owner.pointer, tokens_per_block=tokens_per_block, evict=policy,
                        offload=connector, key=_key(key))
        out = ffi.new("struct locus_prefix **")
        why = "" if owner.pool.shared else "its pool is not a shared one: open it with shared=True"
        check(lib.locus_prefix_open(out, wanted), "Prefix", why)
        super().__init__(out[0], lib.locus_prefix_close, owner.pointer, offload.pointer if offload else None)

    def _named(self, tokens: Sequence[int], salt: int) -> tuple[Any, Any, int]:
        """Ids and tokens of the full blocks, and how many."""
        kept = array.array("I", tokens)
        given = ffi.from_buffer("uint32_t[]", kept)
        count = len(kept) // self.tokens_per_block
        ids = ffi.new("struct locus_id[]", max(count, 1))
        none = ffi.new("struct locus_id *")
        lib.locus_prefix_ids(lib.locus_prefix_key_of(self.pointer), none[0], given, len(kept), self.tokens_per_block, salt, ids)
        return ids, given, count

    def match(self, table: Table, tokens: Sequence[int], *, salt: int = 0, now_ns: int = 0) -> int:
        """Appends the blocks that are known of a prompt's first tokens. How many."""
        ids, given, count = self._named(tokens, salt)
        return check(lib.locus_prefix_match(self.pointer, now_ns, ids, given, count, table.pointer), "Prefix.match")

    def publish(self, table: Table, tokens: Sequence[int], *, salt: int = 0) -> int:
        """The table's blocks have these tokens: others may find those that are full. How many are new."""
        ids, given, count = self._named(tokens, salt)
        return check(lib.locus_prefix_publish(self.pointer, ids, given, count, table.pointer), "Prefix.publish")

    def load(self, table: Table, tokens: Sequence[int], *, salt: int = 0) -> int:
        """After match(): appends the blocks that follow and that the tiers have, and waits for them. How many."""
        ids, given, count = self._named(tokens, salt)
        return check(lib.locus_prefix_load(self.pointer, ids, given, count, table.pointer), "Prefix.load")

    def poll(self, wait_s: float = 0.0) -> int:
        """Lets a file complete what is under way. In each step, where there is an Offload with a file."""
        return int(lib.locus_offload_poll(self.offload.pointer, self.pointer, int(wait_s * _NS))) if self.offload else 0

    def evict(self, blocks: int) -> int:
        """Gives up so many cached blocks. How many it had."""
        return int(lib.locus_prefix_evict(self.pointer, blocks))

    def stats(self) -> PrefixStats:
        """Its counts. Any thread."""
        out = ffi.new("struct locus_prefix_stats *")
        lib.locus_prefix_stats(self.pointer, out)
        return PrefixStats(out.blocks_asked, out.blocks_found, out.blocks_published, out.blocks_evicted, out.blocks_cached,
                           out.blocks_known)


def _key(key: bytes | None) -> Any:
    if key is None:
        return None
    if len(key) != 16:
        raise Error(errno.EINVAL, "Prefix", f"a key has 16 bytes, not {len(key)}")
    return ffi.new("struct locus_prefix_key *", {"word": [int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little")]})
