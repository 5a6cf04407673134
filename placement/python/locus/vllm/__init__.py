# SPDX-License-Identifier: Apache-2.0
"""Tiers for the prefixes of an unmodified vLLM: what leaves its KV cache is found again, also by the next process.

connector.py   what vLLM loads, by `--kv-transfer-config`; README.md has the line to copy
index.py       the scheduler's side: which block is in which tier, and what sinks or is dropped when one is full
worker.py      the worker's side: two threads move blocks while vLLM computes
tiers.py       the tiers: how they are configured and opened
whose.py       whose blocks a file has
metrics.py     what vLLM's endpoint shows of the tiers
region.py      vLLM's own KV cache in memory on the worker's node (a plug-in, off by default)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .connector import LocusConnector, LocusSpec

__all__ = ["LocusConnector", "LocusSpec"]


def __getattr__(name: str) -> Any:
    """Both are imported when vLLM asks for them: its plug-ins are loaded before it is ready for that."""
    if name not in __all__:
        raise AttributeError(name)
    from . import connector  # noqa: PLC0415

    return getattr(connector, name)
