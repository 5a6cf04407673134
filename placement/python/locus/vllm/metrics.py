# SPDX-License-Identifier: Apache-2.0
"""What vLLM's metrics endpoint shows of the tiers, beside its own figures."""

from __future__ import annotations

from vllm.distributed.kv_transfer.kv_connector.v1.offloading.metrics import OffloadingConnectorStats
from vllm.v1.kv_offload.base import (
    OffloadingCounterMetadata,
    OffloadingGaugeMetadata,
    OffloadingHistogramMetadata,
    OffloadingMetricMetadata,
)

_SECONDS = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
_COUNTERS = {
    "hit_blocks": "Blocks that were found in this tier and loaded from it.",
    "sunk_blocks": "Blocks that came to this tier because the one above was full.",
    "dropped_blocks": "Blocks that left this tier and went to no other.",
    "refused_blocks": "Blocks that were not stored, because all others of the tiers were in use.",
    "lost_blocks": "Blocks that this tier could not take, keep or load: they are computed again.",
    "load_bytes": "Bytes loaded from this tier.",
    "store_bytes": "Bytes stored to this tier from vLLM's blocks.",
}
_GAUGES = {
    "blocks": "Blocks that this tier has.",
    "bytes": "Bytes that this tier has, as they are stored.",
    "queue": "Jobs that wait for this tier.",
}


def _name(what: str) -> str:
    return f"vllm:locus_tier_{what}"  # get_metrics() shows only what begins with vllm


def definitions() -> dict[str, OffloadingMetricMetadata]:
    """By name, each with the label `tier`."""
    found: dict[str, OffloadingMetricMetadata] = {}
    for what, told in _COUNTERS.items():
        found[_name(what)] = OffloadingCounterMetadata(documentation=told, labelnames=("tier",))
    for what, told in _GAUGES.items():
        found[_name(what)] = OffloadingGaugeMetadata(documentation=told, labelnames=("tier",))
    found[_name("load_seconds")] = OffloadingHistogramMetadata(
        documentation="Seconds that the blocks of one request took to load from this tier.", labelnames=("tier",), buckets=_SECONDS
    )
    return found


class Stats:
    """Figures since they were last taken. One thread at a time."""

    def __init__(self) -> None:
        self._now = OffloadingConnectorStats()
        self._shown: dict[tuple[str, str], float] = {}

    def count(self, what: str, more: float, tier: str) -> None:
        """Of a counter."""
        self._now.increase_counter(_name(what), more, (tier,))

    def gauge(self, what: str, value: float, tier: str) -> None:
        """Of a gauge, if it has changed."""
        if self._shown.get((what, tier)) != value:
            self._shown[what, tier] = value
            self._now.set_gauge(_name(what), value, (tier,))

    def observe(self, what: str, value: float, tier: str) -> None:
        """Of a histogram."""
        self._now.observe_histogram(_name(what), value, (tier,))

    def take(self) -> OffloadingConnectorStats | None:
        """Them, or None: nothing happened."""
        taken, self._now = self._now, OffloadingConnectorStats()
        return None if taken.is_empty() else taken
