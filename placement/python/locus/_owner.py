# SPDX-License-Identifier: Apache-2.0
"""The one role that may touch a pool, the tables that it fills, and the routes by which finished ones come home."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from ._core import Error, Handle, check, config, explain
from ._native import ffi, lib
from ._pool import Pool
from ._topology import ANY

__all__ = ["Owner", "OwnerStats", "Route", "Table"]

_LINE = lib.LOCUS_CACHE_LINE
_NS = 1_000_000_000
Step = Callable[["Owner"], "int | None"]
"""One round of an engine's work. None or 0: call it again. Any other number ends the thread."""


class Table(Handle):
    """Which block holds which position of a request: its blocks in order, `tokens_per_block` each.

    It is yours until it is pushed, and again when its owner has reclaimed it. It belongs to one thread at a time.

    >>> table = Table(capacity=8, tokens_per_block=16)
    >>> len(table), table.capacity, table.blocks_for(100)
    (0, 8, 7)
    """

    def __init__(self, capacity: int, tokens_per_block: int, *, tag: int = 0, homes: int = 1) -> None:
        """`capacity`: blocks that it has room for. `homes`: pools of which it may hold blocks."""
        if not (0 < homes <= lib.LOCUS_HOMES_MAX and 0 < capacity < 1 << 32 and 0 < tokens_per_block < 1 << 32):
            raise Error(errno.EINVAL, "Table", "capacity and tokens_per_block are 1 or more, and homes 1 to "
                        f"{lib.LOCUS_HOMES_MAX}")
        memory = ffi.new("char[]", lib.locus_table_bytes(homes, capacity) + _LINE)
        address = (int(ffi.cast("uintptr_t", memory)) + _LINE - 1) // _LINE * _LINE
        pointer = ffi.cast("struct locus_table *", address)
        check(lib.locus_table_init(pointer, homes, capacity, tokens_per_block), "Table")
        super().__init__(pointer, None, memory)
        self.capacity, self.tokens_per_block = capacity, tokens_per_block
        self.away = False
        self._array: Any = None
        if tag:
            lib.locus_table_set_tag(pointer, tag)

    @property
    def pointer(self) -> Any:
        """The C object; an error while it is on its way home."""
        if self.away:
            raise Error(errno.EBUSY, "Table", "it was pushed, and belongs to its owners until one reclaims it")
        return super().pointer

    def __len__(self) -> int:
        """Blocks, with those that were dropped."""
        return int(lib.locus_table_count(self.pointer))

    @property
    def tag(self) -> int:
        """Your name for the request, which errors report."""
        return int(lib.locus_table_tag(self.pointer))

    @property
    def dropped(self) -> int:
        """How many of its first blocks are gone."""
        return int(lib.locus_table_dropped(self.pointer))

    def at(self, position: int) -> int:
        """The block that holds a token, or 0: none."""
        return int(lib.locus_table_at(self.pointer, position))

    @property
    def blocks(self) -> list[int]:
        """All of its blocks in order; 0 where one was dropped."""
        return [self.at(i * self.tokens_per_block) for i in range(len(self))]

    def blocks_for(self, tokens: int) -> int:
        """How many blocks a sequence of so many tokens needs."""
        return int(lib.locus_table_blocks_for(self.pointer, tokens))

    def extend(self, capacity: int) -> None:
        """Gives it room for more blocks. Those that it holds keep their positions."""
        array, unused = ffi.new("locus_block[]", capacity), ffi.new("locus_block **")
        check(lib.locus_table_extend(self.pointer, array, capacity, unused), "Table.extend")
        self._array, self.capacity = array, capacity


@dataclass(frozen=True)
class OwnerStats:
    """What came home, and what is on its way."""

    tables_retired: int
    tables_drained: int
    blocks_in_flight: int
    waits: int
    wait_ns: int


class Owner(Handle):
    """The role of a pool's owner. `with owner:` gives it to the calling thread; the calls below are that thread's alone.

    >>> owner = Owner(Pool(blocks=8, block_bytes=4096), lanes=1)
    >>> route, table = Route(owner, lane=0), Table(capacity=8, tokens_per_block=16)
    >>> with owner:
    ...     owner.grow(table, 8)
    ...     _ = owner.retire(table)
    ...     route.push(table)            # by any thread
    ...     owner.drain(), [table is home for home in owner.reclaimed()]
    (8, [True])
    """

    def __init__(self, pool: Pool, *, lanes: int = 1, backpressure: bool = False, wait_s: float = 0.0) -> None:
        """`lanes`: ways in, one for each worker. `wait_s`: the longest wait of a grow for tables that are on their way."""
        wanted = config("locus_owner_config", pool=pool.pointer, lanes=lanes, backpressure=backpressure,
                        wait_ns=int(wait_s * _NS))
        out = ffi.new("struct locus_owner **")
        error = lib.locus_owner_open(out, wanted)
        if error:
            raise explain(lib.locus_owner_why, wanted, error, "Owner")
        super().__init__(out[0], lib.locus_owner_close, pool.pointer)
        self.pool, self.lanes = pool, lanes
        self._away: dict[int, Table] = {}
        self._spawned: tuple[Any, _Spawned] | None = None

    def __enter__(self) -> Owner:
        """The calling thread has the role from now on."""
        self.adopt()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """And has it no more."""
        self.leave()

    def adopt(self) -> None:
        """Takes the role. A thread must leave() before it ends."""
        check(lib.locus_owner_adopt(self.pointer), "Owner.adopt", "a thread holds the role")

    def leave(self) -> None:
        """Gives the role up."""
        check(lib.locus_owner_leave(self.pointer), "Owner.leave")

    @property
    def held_here(self) -> bool:
        """Does the calling thread hold the role?"""
        return bool(lib.locus_owner_held_here(self.pointer))

    def _done(self, result: int, call: str, why: str = "") -> int:
        self.pool.pending.surface()
        return check(result, call, why)

    def grow(self, table: Table, blocks: int) -> None:
        """Appends blocks, all or none. It waits for tables that are on their way, up to wait_s, and lets other threads run."""
        self._done(lib.locus_owner_grow(self.pointer, table.pointer, blocks), "Owner.grow")

    def truncate(self, table: Table, blocks: int) -> None:
        """Frees the blocks behind the first so many."""
        self._done(lib.locus_owner_truncate(self.pointer, table.pointer, blocks), "Owner.truncate")

    def truncate_tokens(self, table: Table, tokens: int) -> None:
        """The sequence ends there; what is behind comes home."""
        self._done(lib.locus_owner_truncate_tokens(self.pointer, table.pointer, tokens), "Owner.truncate_tokens")

    def drop_before(self, table: Table, position: int) -> None:
        """Frees the blocks whose tokens all lie before a position. The others keep theirs."""
        self._done(lib.locus_owner_drop_before(self.pointer, table.pointer, position), "Owner.drop_before")

    def fork(self, table: Table, to: Table | None = None) -> Table:
        """A table with the same blocks: `to`, which is empty, or a new one. Nothing is copied. The pool is a shared one."""
        to = to or Table(table.capacity, table.tokens_per_block)
        why = "" if self.pool.shared else "the pool is not a shared one: open it with shared=True"
        self._done(lib.locus_owner_fork(self.pointer, table.pointer, to.pointer), "Owner.fork", why)
        return to

    def write(self, table: Table, first: int, count: int, *, planes: int = 1) -> None:
        """Makes room for tokens first .. first + count - 1 in blocks that only this table holds (locus/share.h).

        The sequence has `first` tokens now. A block that others hold too is copied, in `planes` equal parts.
        """
        self._done(lib.locus_owner_write(self.pointer, table.pointer, first, count, planes), "Owner.write")

    def retire(self, table: Table) -> bool:
        """Declares that the request is finished, and the table about to be pushed. False: it held nothing, and is empty at once."""
        result = lib.locus_owner_retire(self.pointer, table.pointer)
        if result == -errno.ENODATA:
            return False
        self._done(result, "Owner.retire")
        self._away[int(ffi.cast("uintptr_t", table.pointer))] = table
        return True

    def drain(self, blocks: int | None = None) -> int:
        """Frees what has arrived, or looks at no more than so many blocks. How many came home."""
        pointer = self.pointer
        home = lib.locus_owner_drain(pointer) if blocks is None else lib.locus_owner_drain_some(pointer, blocks)
        return self._done(home, "Owner.drain")

    def reclaimed(self) -> Iterator[Table]:
        """The tables whose last block has come home, empty, oldest first."""
        while pointer := lib.locus_owner_next_reclaimed(self.pointer):
            table = self._away.pop(int(ffi.cast("uintptr_t", pointer)))
            table.away = False
            yield table

    def holders(self, block: int) -> int:
        """How many tables hold a block."""
        return int(lib.locus_pool_holders(self.pool.pointer, block))

    def stats(self) -> OwnerStats:
        """Its counts. Any thread."""
        out = ffi.new("struct locus_owner_stats *")
        lib.locus_owner_stats(self.pointer, out)
        return OwnerStats(out.tables_retired, out.tables_drained, out.blocks_in_flight, out.waits, out.wait_ns)

    def spawn(self, step: Step, node: int | None = None) -> None:
        """A thread that has the role and calls step(owner) until that returns a number other than 0. On the node's CPUs."""
        if self._spawned:
            raise Error(errno.EBUSY, "Owner.spawn", "a spawned thread was not joined")
        spawned = _Spawned(self, step)
        handle = ffi.new_handle(spawned)
        self._spawned = (handle, spawned)
        error = lib.locus_owner_spawn(self.pointer, ANY if node is None else node, lib.locus_py_step, handle)
        if error:
            self._spawned = None
            raise Error(error, "Owner.spawn", f"no thread was started, or not on node {node}")

    def join(self) -> int:
        """Waits for the spawned thread: the last number of its step, or what that raised."""
        result = ffi.new("int *")
        check(lib.locus_owner_join(self.pointer, result), "Owner.join", "there is no spawned thread")
        spawned = self._spawned
        self._spawned = None
        if spawned and spawned[1].error:
            raise spawned[1].error
        return int(result[0])

    def close(self) -> None:
        """Gives it up. The blocks of tables that have not come home stay out."""
        if self._spawned:
            raise Error(errno.EBUSY, "Owner.close", "a spawned thread was not joined")
        super().close()


class _Spawned:
    """What a spawned thread runs."""

    def __init__(self, owner: Owner, step: Step) -> None:
        self.owner, self.step = owner, step
        self.error: BaseException | None = None

    def run(self) -> int:
        """One round; an exception ends the thread, and join() raises it."""
        try:
            return int(self.step(self.owner) or 0)
        except BaseException as error:  # noqa: BLE001
            self.error = error
            return -1


@ffi.def_extern()  # type: ignore[untyped-decorator]
def locus_py_step(owner: Any, context: Any) -> int:
    """The library's call, in the spawned thread."""
    del owner
    return int(ffi.from_handle(context).run())


class Route(Handle):
    """A worker's way home: it has a lane of each owner."""

    def __init__(self, *owners: Owner, lane: int = 0, exclusive: bool = False) -> None:
        """`exclusive`: only this route pushes to the lane, and by one thread at a time; then a push is a plain store."""
        pointer = lib.locus_route_new()
        if not pointer:
            raise Error(errno.ENOMEM, "Route", "there is no memory for it")
        super().__init__(pointer, lib.locus_route_free, *(owner.pointer for owner in owners))
        add = lib.locus_route_add_exclusive if exclusive else lib.locus_route_add
        for owner in owners:
            check(add(pointer, owner.pointer, lane), "Route", f"the owner has no lane {lane}, or it is used in the other mode")

    def push(self, table: Table) -> None:
        """Sends a retired table home. From now on it is its owners'."""
        pointer = table.pointer
        table.away = True
        error = lib.locus_table_push(self.pointer, pointer)
        if error:
            table.away = False
            raise Error(error, "Route.push", "the table was not retired, or the route has no lane of one of its homes")
