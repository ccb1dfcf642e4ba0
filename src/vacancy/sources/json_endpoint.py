"""Any JSON endpoint that the settings describe: a source for each, one target in it, an item for each that it lists."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha1, sha256
from typing import Final

from vacancy.errors import SettingsError
from vacancy.model.availability import Claim, Complete, Failed, Item, Policy, PollOutcome, Question, Unchanged
from vacancy.model.events import Description
from vacancy.model.topics import ItemName, Topic
from vacancy.net.client import Client, Reach
from vacancy.settings import Settings
from vacancy.settings_json import JsonSettings
from vacancy.settings_sections import least_interval_s
from vacancy.sources import json_topics
from vacancy.sources.base import ReferenceSource, Source
from vacancy.sources.json_plan import Plan, make_plan
from vacancy.sources.json_reader import Entry, read
from vacancy.sources.upstream import fetch
from vacancy.store.engine import Store, Tx

NAME: Final = "json"
_MAX_BYTES: Final = 4 * 1024 * 1024
# A larger one would keep everybody else waiting; nearly all of the work lets others in between.
_READ_AT_ONCE: Final = 65_536
_LONGEST_BUDGET: Final = 64


class JsonEndpoint:
    detected_by = NAME

    def __init__(self, settings: JsonSettings, plan: Plan, client: Client) -> None:
        self.name = f"{NAME}:{settings.name}"
        self.budget = budget_of(settings.host)
        self._plan = plan
        self._client = client
        self.policy = Policy(
            settings.interval_s,
            settings.jitter,
            settings.fetch_timeout_s,
            misses_to_close=settings.misses_to_close,
            time_zone=settings.time_zone,
            least_s=least_interval_s(settings.url),
        )

    def questions(self) -> Sequence[Question]:
        return [Question(self.name, json_topics.TARGET, self._plan.question())]

    async def ask(self, claim: Claim, last_mark: bytes | None) -> PollOutcome:
        body = await ask_endpoint(self._plan, self._client)
        if isinstance(body, Failed):
            return body
        mark = sha256(body).digest()
        if mark == last_mark:
            return Unchanged()
        if len(body) <= _READ_AT_ONCE:
            return _outcome(self._plan, body, mark)
        return await asyncio.to_thread(_outcome, self._plan, body, mark)

    def is_item_key(self, text: str) -> bool:
        return json_topics.is_item_key(text)

    def known(self, tx: Tx, key: str) -> frozenset[str] | None:
        return None

    def describe(self, tx: Tx, key: str, items: Sequence[Item]) -> Mapping[str, Description]:
        return json_topics.describe(tx, self.name, key, items)

    def topic(self, name: str) -> Topic:
        return json_topics.read_topic(self.name, name)

    def section_of(self, tx: Tx, topic: Topic) -> int | None:
        return None

    def items_of(self, tx: Tx, topic: Topic) -> Sequence[ItemName]:
        return json_topics.items_of(tx, topic)

    def dedupe_key(
        self, key: str, item_key: str, status_after: str, episode: int, windows: int, *, at: datetime
    ) -> str:
        named = f"{self.name}|{item_key}|{status_after}|{episode}:{windows}"
        return sha1(named.encode(), usedforsecurity=False).hexdigest()


async def ask_endpoint(plan: Plan, client: Client) -> bytes | Failed:
    answer = await fetch(
        client,
        plan.url,
        reach=Reach.UPSTREAM,
        timeout_s=plan.timeout_s,
        max_bytes=_MAX_BYTES,
        headers=plan.headers,
        secrets=plan.secrets,
        any_json=True,
    )
    return answer if isinstance(answer, Failed) else answer.body


def budget_of(host: str) -> str:
    """A host is one upstream, however many of its addresses are watched."""
    named = f"{NAME}:{host}"
    return (
        named if len(named) <= _LONGEST_BUDGET else f"{NAME}:{sha1(host.encode(), usedforsecurity=False).hexdigest()}"
    )


def _outcome(plan: Plan, body: bytes, mark: bytes) -> Complete | Failed:
    entries = read(plan, body)
    return entries if isinstance(entries, Failed) else _complete(plan, entries, mark)


def _complete(plan: Plan, entries: Sequence[Entry], mark: bytes) -> Complete:
    items = {entry.key: Item(entry.key, entry.group, entry.payload()) for entry in entries if entry.is_open}
    # Without a rule only what is open is listed. Where nothing is an answer as any other, it counts as a listed one.
    listed = len(entries) if plan.rule else None
    if plan.empty_is_valid:
        listed = max(1, len(entries))
    return Complete(frozenset(items), items, mark, listed)


def build(settings: Settings, client: Client, _store: Store) -> tuple[list[Source], list[ReferenceSource]]:
    """What is wrong with any of them is said at once."""
    sources: list[Source] = []
    problems: list[str] = []
    for endpoint in settings.json_endpoints:
        try:
            sources.append(JsonEndpoint(endpoint, make_plan(endpoint), client))
        except SettingsError as wrong:
            problems.append(str(wrong))
    if problems:
        raise SettingsError("\n".join(problems))
    return sources, []
