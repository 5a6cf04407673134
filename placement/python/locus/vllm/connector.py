# SPDX-License-Identifier: Apache-2.0
"""What vLLM loads: its own OffloadingConnector, with our index and worker, and with loads that may fail.

vLLM leaves two doors open. Behind the first, an OffloadingSpec, a load cannot fail: a job is a success or the worker's end. Behind
the second, a connector of one's own, one has to do again what vLLM's OffloadingConnector does: hold blocks until a store has read
them, know which layers slide, come through preemption. So this is a connector that extends vLLM's, and adds what it lacks: loads
that fail, orders to the workers, what they have lost, and figures by tier.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from vllm.distributed.kv_transfer.kv_connector.v1.base import (
    KVConnectorHandshakeMetadata,
    KVConnectorRole,
    KVConnectorTransferResults,
)
from vllm.distributed.kv_transfer.kv_connector.v1.offloading.common import OffloadingConnectorMetadata, OffloadingWorkerMetadata
from vllm.distributed.kv_transfer.kv_connector.v1.offloading_connector import OffloadingConnector
from vllm.logger import init_logger
from vllm.v1.kv_cache_interface import ChunkedLocalAttentionSpec, FullAttentionSpec, SlidingWindowSpec, iter_layer_specs
from vllm.v1.kv_offload.base import CanonicalKVCaches, OffloadingManager, OffloadingMetricMetadata, OffloadingSpec

from .index import Index, Order, TierFound
from .metrics import definitions
from .tiers import Int8, Opened, TierConfig, claim, own_node, refuse, tiers_of
from .whose import engine_of
from .worker import KvCache, Worker

if TYPE_CHECKING:
    from vllm.config import VllmConfig
    from vllm.v1.kv_cache_interface import KVCacheConfig
    from vllm.v1.kv_offload.config import OffloadingConfig

logger = init_logger("vllm.locus")


@dataclass
class Found(KVConnectorHandshakeMetadata):
    """What a worker has opened, for the scheduler."""

    tiers: list[TierFound]


@dataclass
class ToWorkers(OffloadingConnectorMetadata):
    """vLLM's jobs of a step, and the index's orders."""

    orders: list[Order] = field(default_factory=list)
    idle: bool = False


@dataclass
class ToScheduler(OffloadingWorkerMetadata):
    """vLLM's completed jobs of a step, and blocks that a worker has lost, by tier."""

    lost: list[tuple[int, bytes]] = field(default_factory=list)

    def aggregate(self, other: Any) -> ToScheduler:
        """Of all ranks."""
        both = super().aggregate(other)
        assert isinstance(both, OffloadingWorkerMetadata)
        return ToScheduler(both.completed_jobs, both.transfer_stats, [*self.lost, *getattr(other, "lost", [])])


class LocusSpec(OffloadingSpec):
    """The tiers of `kv_connector_extra_config`."""

    vllm_config: VllmConfig | None = None

    @classmethod
    def build_metric_definitions(cls, extra_config: dict[str, Any]) -> dict[str, OffloadingMetricMetadata]:
        """Ours, by tier."""
        return definitions()

    def __init__(self, config: OffloadingConfig) -> None:
        super().__init__(config)
        self.tiers = tiers_of(self.extra_config)
        self.policy = str(self.extra_config.get("policy", "chain"))
        if self.blocks_per_chunk != 1:
            raise refuse("an object is one block of vLLM's: leave block_size and blocks_per_chunk out, and give vLLM --block-size")
        self.offload_prompt_only = bool(self.extra_config.get("offload_prompt_only", False))

    def get_manager(self) -> OffloadingManager:
        """The index."""
        hashes = {group.group_id: group.tokens_per_block // self.tokens_per_hash for group in self.config.groups}
        return Index(self.tiers, self.policy, hashes)

    def get_worker(self, kv_caches: CanonicalKVCaches) -> Worker:
        """Opens the tiers: after vLLM has moved the process's pages to its node."""
        assert self.vllm_config is not None, "LocusSpec is LocusConnector's: name that as kv_connector"
        node = own_node()
        sizes = KvCache(kv_caches).block_bytes
        tiers = [self._open(tier, sizes, node) for tier in self.tiers]
        return Worker(tiers, kv_caches)

    def _open(self, wanted: TierConfig, sizes: list[int], node: int | None) -> Opened:
        assert self.vllm_config is not None
        if wanted.kind == "file":
            wanted = replace(wanted, path=wanted.path + self._rank())
        tier = Int8(wanted, sizes, node, self._dtype()) if wanted.kind == "int8" else Opened(wanted, sizes, node)
        with tier.lock:
            if wanted.kind == "file":
                new = claim(tier, engine_of(self.vllm_config, self.config, sizes))
                count = len(tier.objects()) - 1
                logger.info("rank %d: tier file: %s, %s", self.config.parallel.rank, wanted.path,
                            "new" if new else f"{count} blocks of an earlier engine")
            elif (placed := tier.placement()) is not None:
                logger.info("rank %d: tier %s: %.2f GiB requested on node %s, granted %s %s, verified %s pages by node",
                            self.config.parallel.rank, tier.name, wanted.size / (1 << 30), tier.node, placed.granted_policy,
                            list(placed.granted_nodes), placed.on)
        return tier

    def _rank(self) -> str:
        """Behind a file's path: each rank has one."""
        parallel = self.config.parallel
        replica = f".dp{parallel.data_parallel_index}" if parallel.data_parallel_size > 1 else ""
        return replica + (f".{parallel.rank}" if parallel.world_size > 1 else "")

    def _dtype(self) -> Any:
        import torch  # noqa: PLC0415

        return getattr(torch, self.config.model.dtype, self.config.model.dtype)


class LocusConnector(OffloadingConnector):
    """`--kv-transfer-config '{"kv_connector": "LocusConnector", "kv_connector_module_path": "locus.vllm", ...}'`."""

    def __init__(self, vllm_config: VllmConfig, role: KVConnectorRole, kv_cache_config: KVCacheConfig) -> None:
        transfer = vllm_config.kv_transfer_config
        assert transfer is not None
        _name_spec(transfer.kv_connector_extra_config)
        _supported(kv_cache_config)
        transfer.kv_load_failure_policy = "recompute"  # vLLM's default ends a request whose load has failed
        super().__init__(vllm_config, role, kv_cache_config)
        if self.connector_worker is not None:
            spec = self.connector_worker.spec
            assert isinstance(spec, LocusSpec)
            spec.vllm_config = vllm_config

    @classmethod
    def build_prom_metrics(cls, vllm_config: VllmConfig, *more: Any) -> Any:
        """vLLM's, with ours."""
        assert vllm_config.kv_transfer_config is not None
        _name_spec(vllm_config.kv_transfer_config.kv_connector_extra_config)
        return super().build_prom_metrics(vllm_config, *more)

    # --- the scheduler's side

    @property
    def _index(self) -> Index:
        manager = self.scheduler.manager
        assert isinstance(manager, Index)
        return manager

    def set_xfer_handshake_metadata_pp_aware(self, metadata: dict[tuple[int, int], Any]) -> None:
        """The workers' tiers are open."""
        self._index.open([metadata[rank].tiers for rank in sorted(metadata)])

    def get_num_new_matched_tokens(self, request: Any, num_computed_tokens: int) -> tuple[int | None, bool]:
        """vLLM's, once the policies have seen the request."""
        self._index.see(request)
        return super().get_num_new_matched_tokens(request, num_computed_tokens)

    def build_connector_meta(self, scheduler_output: Any) -> ToWorkers:
        """The jobs that vLLM has for a step, with the index's orders."""
        meta = super().build_connector_meta(scheduler_output)
        assert isinstance(meta, OffloadingConnectorMetadata)
        return ToWorkers(meta.load_jobs, meta.store_jobs, meta.jobs_to_flush, self._index.take_orders(),
                         not scheduler_output.total_num_scheduled_tokens)

    def update_connector_output(self, connector_output: Any) -> None:
        """What is lost is forgotten before a job with it is complete."""
        meta = connector_output.kv_connector_worker_meta
        if isinstance(meta, ToScheduler):
            self._index.lost(meta.lost)
        for request in connector_output.failed_recving:
            self._store_again(request)
        super().update_connector_output(connector_output)

    def _store_again(self, request: str) -> None:
        """What a request has loaded counts as stored, and this one will compute it."""
        status = self.scheduler._req_status.get(request)  # noqa: SLF001
        for state in status.group_states if status else ():
            state.next_stored_chunk_idx = 0

    # --- the worker's side

    @property
    def _worker(self) -> Worker:
        assert self.connector_worker is not None
        worker = self.connector_worker.worker
        assert isinstance(worker, Worker)
        return worker

    def get_handshake_metadata(self) -> Found | None:
        """What this worker has opened."""
        return Found(self._worker.found()) if self.connector_worker is not None else None

    def _obey(self, metadata: Any) -> None:
        assert isinstance(metadata, ToWorkers)
        if metadata.orders:
            self._worker.obey(metadata.orders)
            metadata.orders = []

    def handle_preemptions(self, kv_connector_metadata: Any) -> None:
        """vLLM's, after the orders that made room for its jobs."""
        self._obey(kv_connector_metadata)
        super().handle_preemptions(kv_connector_metadata)

    def start_load_kv(self, forward_context: Any, **kwargs: Any) -> None:
        """Likewise."""
        metadata = self._get_connector_metadata()
        self._obey(metadata)
        super().start_load_kv(forward_context, **kwargs)

    def get_transfer_results(self, finished_req_ids: set[str]) -> KVConnectorTransferResults:
        """vLLM's, with the requests whose load has failed."""
        if getattr(self._get_connector_metadata(), "idle", False):
            self._worker.rest()
        sent, received = self.get_finished(finished_req_ids)
        return KVConnectorTransferResults(sent, received, self._worker.take_failed())

    def build_connector_worker_meta(self) -> ToScheduler | None:
        """vLLM's, with what is lost."""
        meta = super().build_connector_worker_meta()
        lost = self._worker.take_lost()
        if meta is None and not lost:
            return None
        return ToScheduler(meta.completed_jobs, meta.transfer_stats, lost) if meta else ToScheduler(lost=lost)

    def get_kv_connector_stats(self) -> Any:
        """Of either side."""
        return super().get_kv_connector_stats() if self.connector_worker is None else self._worker.take_stats()


def _name_spec(extra: dict[str, Any]) -> None:
    """Of the spec that vLLM makes."""
    extra["spec_name"], extra["spec_module_path"] = LocusSpec.__name__, "locus.vllm"


def _supported(config: KVCacheConfig) -> None:
    known = (FullAttentionSpec, SlidingWindowSpec, ChunkedLocalAttentionSpec)
    for group in config.kv_cache_groups:
        for spec in iter_layer_specs(group.kv_cache_spec):
            if not isinstance(spec, known):
                raise refuse(f"the model has layers with a {type(spec).__name__}, which was never tried: run it without "
                             "--kv-transfer-config")
