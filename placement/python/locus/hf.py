# SPDX-License-Identifier: Apache-2.0
"""A cache for Hugging Face's transformers, in blocks on a node: `model.generate(..., past_key_values=locus.hf.Cache(model))`.

K and V of each head of each layer are a plane of a block of `tokens_per_block` tokens (locus/window.h). A sequence is a table of
blocks; a window shows it to attention as one tensor, without a copy. So a step writes its own tokens and nothing else, where
DynamicCache copies all that it has. Beams fork, and copy a block when they write into it. A model whose layers slide keeps blocks
only as far back as the window; where some layers slide and others do not, each kind has a pool of its own.

Memory is what several caches share: the pools, and with `prefix=True` the blocks of prompts that later prompts begin with.
"""

from __future__ import annotations

import contextlib
import errno
import mmap
import pathlib
import threading
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import transformers
from transformers.cache_utils import CacheLayerMixin

from ._core import Error
from ._memory import Placement
from ._owner import Owner, Table
from ._pool import Pool, Window
from ._prefix import Prefix

__all__ = ["Cache", "Memory"]

_TOKENS_PER_BLOCK = 64  # the fewest by default: with less a step maps more often


def _refuse(why: str) -> Error:
    return Error(errno.EINVAL, "locus.hf", why)


@dataclass(frozen=True)
class _Kind:
    """Layers that keep the same: heads, numbers of a head, and how many tokens back they look (None: all)."""

    heads: int
    head_dim: int
    sliding: int | None

    def first_seen(self, length: int) -> int:
        """The first token that the step after `length` tokens looks at."""
        return max(length - self.sliding + 1, 0) if self.sliding else 0


def _kinds(config: Any) -> list[_Kind]:
    """Of each layer of a model; an error for a model that has something other than K and V of each head."""
    if getattr(config, "is_encoder_decoder", False):
        raise _refuse("a model with an encoder has a second cache, which is not supported: take DynamicCache")
    text = config.get_text_config(decoder=True)
    if getattr(text, "kv_lora_rank", None):
        raise _refuse("the model compresses K and V (multi-head latent attention), which is not supported: take DynamicCache")
    if getattr(text, "num_kv_shared_layers", None):
        raise _refuse("layers of the model share K and V, which is not supported: take DynamicCache")
    count = text.num_hidden_layers
    each = getattr(text, "per_layer_config", None) or [text] * count
    types = getattr(text, "layer_types", None) or [None] * count
    return [_kind(layer, text, word) for layer, word in zip(list(each)[:count], types, strict=True)]


def _kind(layer: Any, text: Any, word: str | None) -> _Kind:
    sliding = getattr(layer, "sliding_window", None)
    chunked = getattr(layer, "attention_chunk_size", None)
    if word not in (None, "full_attention", "sliding_attention", "chunked_attention"):
        raise _refuse(f"the model has a layer of type {word}, which is not supported: take DynamicCache")
    if (word is None and chunked is not None and sliding is None) or word == "chunked_attention":
        sliding = chunked
    if word == "full_attention":
        sliding = None
    query_heads = getattr(layer, "num_attention_heads", None) or text.num_attention_heads
    heads = getattr(layer, "num_key_value_heads", None) or query_heads
    head_dim = getattr(layer, "head_dim", None) or text.hidden_size // query_heads
    return _Kind(heads, head_dim, sliding)


class _Group:
    """The layers of one kind: a pool for their blocks, its owner, and a prefix cache if one is wanted."""

    def __init__(self, kind: _Kind, layers: int, memory: Memory) -> None:
        self.kind, self.layers = kind, layers
        self.planes = 2 * layers * kind.heads
        self.token_bytes = kind.head_dim * memory.dtype.itemsize
        self.tokens_per_block = memory.tokens_per_block or _block_for(self.token_bytes, self.planes, memory.tokens)
        plane_bytes = self.tokens_per_block * self.token_bytes
        if plane_bytes % mmap.PAGESIZE:
            raise _refuse(f"{self.tokens_per_block} tokens of a head are {plane_bytes} bytes, and windows map whole pages: take a "
                          f"multiple of {_smallest(self.token_bytes)} for tokens_per_block")
        self.block_bytes = self.planes * plane_bytes
        blocks = memory.blocks or -(-memory.tokens // self.tokens_per_block) + memory.sequences - 1
        self.pool = Pool(blocks, self.block_bytes, shared=True, windows=True, populate=True, **memory.placement)
        self.owner = Owner(self.pool)
        with self.owner:
            self.prefix = Prefix(self.owner, tokens_per_block=self.tokens_per_block) if memory.prefix else None


def _smallest(token_bytes: int) -> int:
    """Tokens that fill whole pages."""
    tokens = 1
    while tokens * token_bytes % mmap.PAGESIZE:
        tokens *= 2
    return tokens


def _block_for(token_bytes: int, planes: int, tokens: int) -> int:
    """Whole pages of 64 tokens or more, and so many that all tokens take no more than half of the process's mappings."""
    step, least = _smallest(token_bytes), _TOKENS_PER_BLOCK
    with contextlib.suppress(OSError):  # a sandbox may hide the limit; Window.show keeps it in any case
        least = max(least, 2 * planes * tokens // int(pathlib.Path("/proc/sys/vm/max_map_count").read_text()))
    return -(-least // step) * step


def _longest(config: Any) -> int:
    """Tokens that a text of the model may have."""
    return getattr(config.get_text_config(decoder=True), "max_position_embeddings", 0) or 1 << 20


class Memory:
    """Blocks on a node, for the caches of one model. Any thread may use it; one at a time gets blocks or gives them back."""

    def __init__(
        self,
        model: Any,
        *,
        tokens: int = 0,
        sequences: int = 1,
        blocks: int = 0,
        tokens_per_block: int = 0,
        dtype: torch.dtype | None = None,
        prefix: bool = False,
        node: int | None = None,
        policy: str = "by-node",
        page: str = "4k",
    ) -> None:
        """`model`: a model, or its config and `dtype`. `tokens`: how many all `sequences` have together; or how many `blocks`.

        `prefix`: keep the blocks of prompts, for `cache(input_ids)`. `node`, `policy`, `page`: as of Pool.
        """
        if bool(tokens) == bool(blocks):
            raise _refuse("say how much memory: tokens= or blocks=, one of them")
        config = getattr(model, "config", model)
        kinds = _kinds(config)
        self.dtype: torch.dtype = dtype or getattr(model, "dtype", None) or config.dtype or torch.float32
        if self.dtype.itemsize not in (2, 4, 8) or not self.dtype.is_floating_point:
            raise _refuse(f"K and V of {self.dtype} are not supported: take float32, bfloat16 or float16")
        self.tokens, self.sequences, self.blocks, self.tokens_per_block = tokens, sequences, blocks, tokens_per_block
        self.prefix = prefix
        self.placement: dict[str, Any] = {"node": node, "policy": policy, "page": page}
        if prefix and any(kind.sliding for kind in kinds):
            raise _refuse("layers that slide drop the beginning of a prompt, so it cannot be shared: open without prefix=True")
        self.tokens_max = _longest(config)
        self._lock = threading.RLock()
        self._depth = 0
        self._left: deque[tuple[_Group, Table]] = deque()
        self._clock = 0
        self.groups = [_Group(kind, kinds.count(kind), self) for kind in dict.fromkeys(kinds)]
        self.kinds = kinds

    @contextlib.contextmanager
    def owning(self) -> Iterator[None]:
        """The calling thread has the role of all owners. What caches left behind comes home first."""
        with self._lock, contextlib.ExitStack() as roles:
            if self._depth == 0:
                for group in self.groups:
                    roles.enter_context(group.owner)
            self._depth += 1
            try:
                if self._depth == 1:
                    self._collect()
                yield
            finally:
                self._depth -= 1

    def _collect(self) -> None:
        while self._left:
            group, table = self._left.popleft()
            group.owner.truncate(table, 0)

    def leave(self, left: Sequence[tuple[_Group, Table]]) -> None:
        """Tables of a cache that is gone. It may be called from a garbage collection, so it waits for nobody."""
        self._left.extend(left)
        if self._lock.acquire(blocking=False):
            try:
                if self._depth == 0:
                    with contextlib.suppress(Error), self.owning():  # refused in a forked child, which has none of it
                        pass
            finally:
                self._lock.release()

    def cache(self, input_ids: torch.Tensor | None = None, *, salt: int = 0) -> Cache:
        """A new cache. With `input_ids` [batch, tokens] it holds what is known of the prompts already, which is not computed again.

        `salt` tells apart what must not be shared: adapters, tenants. The prompts are without padding.
        """
        cache = Cache(self)
        if input_ids is not None:
            cache._match(input_ids, salt)  # noqa: SLF001
        return cache

    def verify(self) -> list[Placement]:
        """Where the pages of its pools are."""
        return [group.pool.verify() for group in self.groups]

    @property
    def bytes_used(self) -> int:
        """Of the blocks that caches hold, each counted once."""
        return sum(group.pool.stats().outstanding * group.block_bytes for group in self.groups)

    def tick(self) -> int:
        """A clock for the prefix cache, which only grows."""
        self._clock += 1
        return self._clock


class _Rows:
    """The sequences of a batch in the layers of one group: a table for each, and the window that shows them."""

    def __init__(self, group: _Group, memory: Memory) -> None:
        self.group, self.memory = group, memory
        self.tables: list[Table] = []
        self.window: Window | None = None
        self.views: torch.Tensor | None = None  # [batch, layers, K and V, heads, tokens, head_dim]
        self.length = 0   # tokens of each sequence
        self.room = 0     # tokens for which the rows have blocks of their own, and show them
        self.dropped = 0  # tokens of which the blocks are gone
        self.layers: list[_Layer] = []

    def _new_table(self) -> Table:
        return Table(-(-self.memory.tokens_max // self.group.tokens_per_block), self.group.tokens_per_block)

    def begin(self, batch: int) -> None:
        """Rows for a batch; as they are, if they are there."""
        while len(self.tables) < batch:
            self.tables.append(self._new_table())
        self._open_window(batch)

    def _open_window(self, batch: int) -> None:
        if self.window and self.window.rows == batch:
            return
        group = self.group
        self.window = Window(group.pool, self.tables[0].capacity, rows=batch, planes=group.planes)
        width = self.memory.dtype.itemsize
        flat = torch.frombuffer(self.window.memory, dtype=self.memory.dtype)
        self.views = flat.as_strided(
            (batch, group.layers, 2, group.kind.heads, self.tables[0].capacity * group.tokens_per_block, group.kind.head_dim),
            (self.window.row_bytes // width, 2 * group.kind.heads * self.window.plane_bytes // width,
             group.kind.heads * self.window.plane_bytes // width, self.window.plane_bytes // width, group.kind.head_dim, 1))
        for place, layer in enumerate(self.layers):
            layer.place(self.views[:, place, 0], self.views[:, place, 1])

    def make_room(self, end: int) -> None:
        """Blocks of their own for tokens length .. end - 1 of each row, which show them then."""
        group, owner = self.group, self.group.owner
        if end > self.memory.tokens_max:
            raise _refuse(f"{end} tokens are more than the {self.memory.tokens_max} of the model")
        with self.memory.owning():
            if not self.recording():
                self._drop()
            for table in self.tables:
                owner.write(table, self.length, end - self.length, planes=group.planes)
        self.show()
        self.room = -(-end // group.tokens_per_block) * group.tokens_per_block

    def _drop(self) -> None:
        """What slides has passed these blocks for good."""
        keep = self.group.kind.first_seen(self.length) // self.group.tokens_per_block * self.group.tokens_per_block
        if keep > self.dropped:
            for table in self.tables:
                self.group.owner.drop_before(table, keep)
            self.dropped = keep

    def show(self) -> None:
        """All rows show their tables."""
        if self.window:
            for row, table in enumerate(self.tables):
                self.window.show(row, table)

    def recording(self) -> bool:
        """Are tokens kept that only a crop makes superfluous?"""
        return any(layer.record_past for layer in self.layers)

    def select(self, rows: list[int]) -> None:
        """Row i is what row rows[i] was. A row that several become is forked; nothing is copied."""
        owner, old = self.group.owner, self.tables
        kept: dict[int, int] = {}  # of each row that stays, the place that gets its table itself
        for i, row in enumerate(rows):
            if row not in kept or row == i:
                kept[row] = i
        with self.memory.owning():
            spare = [old[row] for row in range(len(old)) if row not in kept]
            for table in spare:
                owner.truncate(table, 0)
            self.tables = []
            for i, row in enumerate(rows):
                if kept[row] == i:
                    self.tables.append(old[row])
                else:
                    self.tables.append(owner.fork(old[row], spare.pop() if spare else self._new_table()))
        self._changed(len(rows))

    def _changed(self, batch: int) -> None:
        self.room = self.length
        self._open_window(batch)
        for layer in self.layers:
            layer.stale = True

    def can_crop(self, length: int) -> bool:
        """Is all there that a step after `length` tokens looks at?"""
        return length >= self.length or self.group.kind.first_seen(length) >= self.dropped

    def crop(self, length: int) -> None:
        """The sequences have so many tokens. pre: can_crop()."""
        if length < self.length:
            with self.memory.owning():
                for table in self.tables:
                    self.group.owner.truncate_tokens(table, length)
            self.length = length
            self._changed(len(self.tables))
        with self.memory.owning():
            self._drop()

    def clear(self) -> None:
        """No sequence has a token."""
        with self.memory.owning():
            for table in self.tables:
                self.group.owner.truncate(table, 0)
        self.show()
        self.tables = []  # the next batch may be of another size
        self.length = self.room = self.dropped = 0
        for layer in self.layers:
            layer.length, layer.is_initialized = 0, False


class _Layer(CacheLayerMixin):
    """K and V of one layer: a view of its rows' window."""

    is_compileable = False
    is_croppable = True
    supports_early_init = False

    def __init__(self, rows: _Rows, kind: _Kind) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.rows, self.kind = rows, kind
        self.is_sliding = kind.sliding is not None
        self.length = 0
        self.record_past = False
        self.stale = False
        self._keys: torch.Tensor | None = None
        self._values: torch.Tensor | None = None
        rows.layers.append(self)

    def place(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        """The layer's part of a new window: [batch, heads, tokens, head_dim]."""
        self._keys, self._values = keys, values

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        """The first K and V say how many rows there are."""
        rows, kind = self.rows, self.kind
        batch, heads, _, head_dim = key_states.shape
        if key_states.device.type != "cpu":
            raise _refuse(f"K and V are on {key_states.device}, and nodes have memory of the host only")
        if key_states.dtype != rows.memory.dtype:
            raise _refuse(f"K and V are {key_states.dtype}, and the memory is for {rows.memory.dtype}: open it with that dtype")
        if (heads, head_dim) != (kind.heads, kind.head_dim) or value_states.shape != key_states.shape:
            raise _refuse(f"K has {heads} heads of {head_dim} numbers, V {tuple(value_states.shape[1::2])}, and the model's config "
                          f"says {kind.heads} of {kind.head_dim}")
        known = len(rows.tables)
        if known and batch % known == 0 and not any(layer.is_initialized for layer in rows.layers):
            rows.select([row for row in range(known) for _ in range(batch // known)])  # as generate() repeats prompts
        elif known and known != batch:
            raise _refuse(f"the cache has {known} sequences, and the batch {batch}: batch_repeat_interleave() makes more of them")
        rows.begin(batch)
        self.dtype, self.device, self.is_initialized = key_states.dtype, key_states.device, True

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *_args: Any, **_kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Writes the new tokens, and returns all that attention looks at: views."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        count = key_states.shape[2]
        first = self.length
        end = first + count
        rows = self.rows
        if end > rows.room:
            rows.make_room(end)
        keys, values = self._keys, self._values
        keys.narrow(2, first, count).copy_(key_states)  # type: ignore[union-attr]
        values.narrow(2, first, count).copy_(value_states)  # type: ignore[union-attr]
        self.length = end
        self.stale = False
        seen = self.kind.first_seen(first)
        if self is rows.layers[-1]:
            rows.length = end
        return keys.narrow(2, seen, end - seen), values.narrow(2, seen, end - seen)  # type: ignore[union-attr]

    @property
    def keys(self) -> torch.Tensor | None:
        """K of the tokens that are kept, [batch, heads, tokens, head_dim]."""
        return self._seen(self._keys)

    @keys.setter
    def keys(self, value: torch.Tensor | None) -> None:
        self._assigned(value)

    @property
    def values(self) -> torch.Tensor | None:
        """V likewise."""
        return self._seen(self._values)

    @values.setter
    def values(self, value: torch.Tensor | None) -> None:
        self._assigned(value)

    def _assigned(self, value: torch.Tensor | None) -> None:
        if value is not None:
            raise _refuse("K and V lie in blocks and cannot be replaced: call update()")

    def _seen(self, view: torch.Tensor | None) -> torch.Tensor | None:
        if view is None or not self.is_initialized:
            return None
        if self.stale:
            self.rows.show()
            self.stale = False
        first = self.kind.first_seen(self.length)
        return view.narrow(2, first, self.length - first)

    def get_mask_sizes(self, query_length: int) -> tuple[int, int]:
        """Tokens that the next update returns, and the position of the first one."""
        first = self.kind.first_seen(self.length)
        return self.length - first + query_length, first

    def get_seq_length(self) -> int:
        """Tokens so far."""
        return self.length

    def get_max_length(self) -> int:
        """No limit but the model's; a sliding window's is its width."""
        return self.kind.sliding or -1

    @property
    def batch_size(self) -> int:
        """Sequences."""
        return len(self.rows.tables) or -1

    def activate_past_recording(self) -> None:
        """Keep what slides out of a window until a crop."""
        self.record_past = True

    def offload(self) -> None:
        """Not supported."""
        raise _refuse("its memory is the host's already, so there is nothing to offload to it: locus.Offload has tiers")

    prefetch = offload

    def _whole(self, what: str) -> Error:
        return _refuse(f"{what} is of all layers together: call the cache's own")

    def reset(self) -> None:
        """Of the whole cache only."""
        raise self._whole("reset")

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        """Of the whole cache only."""
        raise self._whole("reorder_cache")


class Cache(transformers.Cache):
    """A drop-in for DynamicCache, on a node. What it cannot serve it refuses."""

    def __init__(self, memory: Any, **options: Any) -> None:
        """`memory`: a Memory; or a model, and what Memory takes (by default room for one sequence as long as the model allows)."""
        if not isinstance(memory, Memory):
            if not ("tokens" in options or "blocks" in options):
                options["tokens"] = _longest(memory.config)
            memory = Memory(memory, **options)
        elif options:
            raise _refuse(f"{', '.join(options)}: that is Memory's to say")
        self.memory: Memory = memory
        self.rows = {group.kind: _Rows(group, memory) for group in memory.groups}
        self.own = [_Layer(self.rows[kind], kind) for kind in memory.kinds]
        super().__init__(layers=list(self.own))
        self._salt = 0
        self._finalizer = weakref.finalize(self, _leave, memory, list(self.rows.values()))
        self._finalizer.atexit = False

    def reorder_cache(self, beam_idx: torch.Tensor) -> None:
        """Sequence i goes on from what sequence beam_idx[i] was."""
        self._select(beam_idx.tolist())

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        """Only these sequences stay."""
        self._select(torch.arange(self.batch_size)[indices].tolist())

    def batch_repeat_interleave(self, repeats: int) -> None:
        """Each sequence so many times, side by side; they share their blocks."""
        self._select([row for row in range(max(self.batch_size, 0)) for _ in range(repeats)])

    def _select(self, rows: list[int]) -> None:
        for group in self.rows.values():
            if group.tables and rows != list(range(len(group.tables))):
                group.select(rows)

    def crop(self, tokens_to_remove: int) -> None:
        """Undoes the last tokens (a negative number), or keeps so many (a positive one, as older callers do)."""
        length = self.get_seq_length()
        length = min(length, tokens_to_remove) if tokens_to_remove > 0 else max(length + tokens_to_remove, 0)
        if not all(rows.can_crop(length) for rows in self.rows.values()):
            raise _refuse("what a sliding window has passed is gone: call activate_past_recording() before what may be undone")
        for rows in self.rows.values():
            rows.crop(length)
        for layer in self.own:
            layer.length = min(layer.length, length)

    def reset(self) -> None:
        """No sequence has a token, and all blocks are free."""
        for group in self.rows.values():
            group.clear()

    @property
    def bytes_used(self) -> int:
        """Of the blocks that its sequences hold, each counted once."""
        return sum(len({block for table in rows.tables for block in table.blocks if block}) * rows.group.block_bytes
                   for rows in self.rows.values())

    def fork(self) -> Cache:
        """A second cache with the same sequences, which shares their blocks."""
        other = Cache(self.memory)
        for kind, rows in self.rows.items():
            new = other.rows[kind]
            with self.memory.owning():
                new.tables = [rows.group.owner.fork(table) for table in rows.tables]
            new.length = new.room = rows.length
            new.dropped = rows.dropped
        for layer, twin in zip(self.own, other.own, strict=True):
            twin.length, twin.stale = layer.length, True
        return other

    def _match(self, input_ids: torch.Tensor, salt: int) -> None:
        """Takes what is known of the prompts: of all as many blocks as of the one that has the fewest."""
        if not self.memory.prefix:
            raise _refuse("the memory keeps no prompts: open it with prefix=True")
        self._salt = salt
        prompts = input_ids.tolist()
        now, found = self.memory.tick(), []
        for rows in self.rows.values():
            with self.memory.owning():
                rows.tables = [rows._new_table() for _ in prompts]  # noqa: SLF001
                for table, prompt in zip(rows.tables, prompts, strict=True):
                    assert rows.group.prefix
                    found.append(rows.group.prefix.match(table, prompt[:-1], salt=salt, now_ns=now) * rows.group.tokens_per_block)
        length = min(found)
        for rows in self.rows.values():
            with self.memory.owning():
                for table in rows.tables:
                    rows.group.owner.truncate_tokens(table, length)
            rows.length = rows.room = length
        for layer in self.own:
            layer.length, layer.stale = length, True

    def publish(self, input_ids: torch.Tensor) -> int:
        """Later prompts find the full blocks of these tokens, [batch, tokens]: those that were computed. How many are new."""
        published = 0
        length = self.get_seq_length()
        for rows in self.rows.values():
            if rows.group.prefix is None:
                raise _refuse("the memory keeps no prompts: open it with prefix=True")
            with self.memory.owning():
                for table, tokens in zip(rows.tables, input_ids[:, :length].tolist(), strict=True):
                    published += rows.group.prefix.publish(table, tokens, salt=self._salt)
        return published


def _leave(memory: Memory, all_rows: list[_Rows]) -> None:
    memory.leave([(rows.group, table) for rows in all_rows for table in rows.tables])
