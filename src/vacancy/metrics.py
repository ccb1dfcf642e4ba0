"""What is counted, under one prefix. Never labelled by section, address or user: that would grow without end."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import datetime
from importlib.metadata import version
from typing import Final

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

CONTENT_TYPE: Final = CONTENT_TYPE_LATEST
_PREFIX: Final = "vacancy"
_POLL_BUCKETS: Final = (0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30, 60, 120)
_TOLD_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200)

# A second series beside every counter, which nobody reads.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Metrics:
    """Made once by the composition root, for whoever counts. Its registry is its own, so that tests can have many."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._polls = self._counter("polls", "Polls, by how they ended.", "source", "outcome")
        self._poll_duration = Histogram(
            "poll_duration_seconds", "How long a poll took, from question to answer.", ["source"],
            namespace=_PREFIX, registry=self.registry, buckets=_POLL_BUCKETS,
        )  # fmt: skip
        self._polled: dict[tuple[str, str], tuple[Counter, Histogram]] = {}
        self._events = self._counter("events", "Events raised, by the state they lead to.", "source", "status")
        self._queued = self._counter("notifications_queued", "Rows that fan-out put into the queue.")
        self._delivered = self._counter("deliveries", "Messages, by how a try of them ended.", "channel", "outcome")
        self._deliveries: dict[tuple[str, str], Counter] = {}
        self._told: dict[str, Histogram] = {}
        self._told_after = Histogram(
            "opened_to_sent_seconds", "From an opening being seen to a message of it being taken.", ["channel"],
            namespace=_PREFIX, registry=self.registry, buckets=_TOLD_BUCKETS,
        )  # fmt: skip
        self._waiting = self._gauge("queue_pending", "Messages that wait.", "channel")
        self._oldest = self._gauge("queue_oldest_seconds", "How long the oldest that may go now has waited.", "channel")
        self._broken = self._gauge("channel_broken", "1 while a channel does not work.", "channel")
        self._requests = self._counter("http_requests", "Requests answered.", "route", "status")
        self._last_complete = self._gauge(
            "last_complete_timestamp_seconds", "When a target last gave a whole answer.", "source", "key"
        )
        self._open_items = self._gauge("open_items", "Items open in a target now.", "source", "key")
        self._streams = self._gauge("streams", "Event streams open now.")
        Info("build", "What is running.", namespace=_PREFIX, registry=self.registry).info(
            {"version": version("vacancy"), "python": platform.python_version()}
        )
        ProcessCollector(namespace=_PREFIX, registry=self.registry)

    def polled(self, source: str, outcome: str, seconds: float) -> None:
        # Looked up once: on a poll with nothing new, finding the series costs more than counting.
        found = self._polled.get((source, outcome))
        if found is None:
            found = self._polled[source, outcome] = (
                self._polls.labels(source, outcome),
                self._poll_duration.labels(source),
            )
        polls, duration = found
        polls.inc()
        duration.observe(seconds)

    def raised(self, source: str, status: str, count: int) -> None:
        self._events.labels(source, status).inc(count)

    def queued(self, count: int) -> None:
        self._queued.inc(count)

    def delivered(self, channel: str, outcome: str, count: int = 1) -> None:
        found = self._deliveries.get((channel, outcome))
        if found is None:
            found = self._deliveries[channel, outcome] = self._delivered.labels(channel, outcome)
        found.inc(count)

    def deliveries_of(self, channel: str) -> Mapping[str, int]:
        """How many tries of this process ended in which way."""
        samples = (sample for metric in self._delivered.collect() for sample in metric.samples)
        return {
            sample.labels["outcome"]: int(sample.value) for sample in samples if sample.labels["channel"] == channel
        }

    def told_after(self, channel: str, seconds: float) -> None:
        found = self._told.get(channel)
        if found is None:
            found = self._told[channel] = self._told_after.labels(channel)
        found.observe(seconds)

    def broken(self, channel: str, is_broken: bool) -> None:
        self._broken.labels(channel).set(int(is_broken))

    def forget_queue(self) -> None:
        self._waiting.clear()
        self._oldest.clear()

    def queue(self, channel: str, pending: int, oldest_s: float) -> None:
        self._waiting.labels(channel).set(pending)
        self._oldest.labels(channel).set(oldest_s)

    def served(self, route: str, status: int) -> None:
        self._requests.labels(route, str(status)).inc()

    def forget_targets(self) -> None:
        """Before the gauges of all targets are set anew: one that is gone must not be shown for ever."""
        self._last_complete.clear()
        self._open_items.clear()

    def target(self, source: str, key: str, open_items: int, last_complete_at: datetime | None) -> None:
        self._open_items.labels(source, key).set(open_items)
        if last_complete_at is not None:
            self._last_complete.labels(source, key).set(last_complete_at.timestamp())

    def streaming(self, streams: int) -> None:
        self._streams.set(streams)

    def text(self) -> bytes:
        return generate_latest(self.registry)

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(name, what, labels, namespace=_PREFIX, registry=self.registry)

    def _gauge(self, name: str, what: str, *labels: str) -> Gauge:
        return Gauge(name, what, labels, namespace=_PREFIX, registry=self.registry)
