"""The open lists of the Schedule of Classes: a target is a term and a campus, an item a section's five-digit index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha1
from typing import Final

import msgspec

from vacancy.model.availability import (
    Claim,
    Complete,
    Failed,
    Flips,
    Item,
    Policy,
    PollOutcome,
    Question,
    Reference,
    ReferenceOutcome,
    Taken,
    Trouble,
    Unchanged,
)
from vacancy.model.catalogue import CatalogueAnswer, Refused, SectionFacts
from vacancy.model.events import Description
from vacancy.model.topics import ItemName, Topic
from vacancy.net.client import Client, Reach
from vacancy.settings import Settings
from vacancy.settings_sections import SocSettings, least_interval_s
from vacancy.sources import soc_catalogue, soc_topics
from vacancy.sources.base import ReferenceSource, Source
from vacancy.sources.soc_catalogue import SocCatalogue
from vacancy.sources.upstream import fetch
from vacancy.store import catalogue, section_status
from vacancy.store.engine import Store, Tx

NAME: Final = "soc"
_MAX_BYTES: Final = 10 * 1024 * 1024
# What the answer is read into; a change of it is a changed question.
_NORMALISER: Final = 1
_DECODER: Final = msgspec.json.Decoder(list[str])


class Soc:
    name = NAME
    budget = NAME
    detected_by = "open_sections"

    def __init__(self, settings: SocSettings, client: Client) -> None:
        self._settings = settings
        self._client = client
        self.policy = Policy(
            settings.interval_s,
            settings.jitter,
            settings.fetch_timeout_s,
            time_zone="America/New_York",
            least_s=least_interval_s(settings.base_url),
        )

    def questions(self) -> Sequence[Question]:
        return [Question(NAME, key, question_hash(self._settings, key)) for key in target_keys(self._settings)]

    async def ask(self, claim: Claim, last_mark: bytes | None) -> PollOutcome:
        url = address(self._settings, "openSections.json", claim.key)
        answer = await fetch(
            self._client, url, reach=Reach.UPSTREAM, timeout_s=self.policy.fetch_timeout_s, max_bytes=_MAX_BYTES
        )
        if isinstance(answer, Failed):
            return answer
        # Never the ETag: the upstream's servers give the same bytes different ones.
        return Unchanged() if answer.body == last_mark else read_open_list(answer.body)

    def is_item_key(self, text: str) -> bool:
        return _is_index(text)

    def known(self, tx: Tx, key: str) -> frozenset[str] | None:
        term, campus = key.split("|")
        return catalogue.known_indexes(tx, term, campus) or None

    def describe(self, tx: Tx, key: str, items: Sequence[Item]) -> Mapping[str, Description]:
        term, campus = key.split("|")
        indexes = [item.key for item in items]
        facts = catalogue.describe(tx, term, campus, indexes)
        return {index: _description(term, campus, index, facts.get(index)) for index in indexes}

    def topic(self, name: str) -> Topic:
        return soc_topics.read_topic(self._settings, name)

    def section_of(self, tx: Tx, topic: Topic) -> int | None:
        return soc_topics.section_of(tx, topic)

    def items_of(self, tx: Tx, topic: Topic) -> Sequence[ItemName]:
        return soc_topics.items_of(tx, topic)

    def dedupe_key(
        self, key: str, item_key: str, status_after: str, episode: int, windows: int, *, at: datetime
    ) -> str:
        term, campus = key.split("|")
        named = f"{term}|{campus}|{item_key}|{status_after}|{episode}:{windows}"
        return sha1(named.encode(), usedforsecurity=False).hexdigest()


def read_open_list(body: bytes) -> Complete | Failed:
    """A flat list of five-digit strings, in any order; one member that is not rejects the whole."""
    try:
        members = _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return Failed(Trouble.UNREADABLE, f"the open list cannot be read: {error}")
    if not _are_indexes(members):
        odd = next(member for member in members if not _is_index(member))
        return Failed(Trouble.UNREADABLE, f"the open list has a member that is no five-digit index: {odd[:20]!r}")
    return Complete(frozenset(members), mark=body)


def target_keys(settings: SocSettings) -> list[str]:
    return [f"{term}|{campus}" for term in settings.terms for campus in settings.campuses]


def question_hash(settings: SocSettings, key: str) -> str:
    asked = f"{_NORMALISER}|{address(settings, 'openSections.json', key)}"
    return sha1(asked.encode(), usedforsecurity=False).hexdigest()


def address(settings: SocSettings, page: str, key: str) -> str:
    term, campus = key.split("|")
    return f"{settings.base_url.rstrip('/')}/{page}?year={term[1:]}&term={term[0]}&campus={campus}"


def _are_indexes(members: Sequence[str]) -> bool:
    """Over the whole list at once: asking each member would cost more than reading them."""
    joined = ",".join(members).encode(errors="replace")
    commas = len(members) - 1
    every_sixth = joined[5::6] == b"," * commas and joined.count(b",") == commas and len(joined) == 6 * len(members) - 1
    return not members or (every_sixth and joined.replace(b",", b"").isdigit())


def _is_index(member: str) -> bool:
    return len(member) == 5 and member.isascii() and member.isdigit()


def _description(term: str, campus: str, index: str, facts: SectionFacts | None) -> Description:
    topics = [f"{NAME}:{term}:{campus}:{index}"]
    payload = {"term": term, "campus": campus, "index": index, "link": soc_topics.section_link(term, index)}
    if facts is None:
        return Description(tuple(topics), payload, None, term, campus, index)
    topics.append(f"{NAME}:{term}:{campus}:course/{facts.course_string}")
    payload |= {
        "sectionNumber": facts.section_number,
        "courseString": facts.course_string,
        "courseTitle": facts.course_title,
        "subject": facts.subject,
        "meetingSummary": facts.meeting_summary,
        "instructors": facts.instructors,
        "credits": facts.credits,
    }
    return Description(tuple(topics), payload, facts.section_id, term, campus, index)


class Catalogues:
    """What the items of the open lists are: the catalogue's reader, as the engine polls it."""

    name = soc_catalogue.NAME
    budget = NAME
    describes = NAME

    def __init__(self, reader: SocCatalogue) -> None:
        self._reader = reader
        self.policy = reader.policy

    def questions(self) -> Sequence[Question]:
        return self._reader.questions()

    async def ask(self, claim: Claim, last_mark: bytes | None) -> ReferenceOutcome:
        answer = await self._reader.ask(claim, last_mark)
        return Reference(answer, answer.digest) if isinstance(answer, CatalogueAnswer) else answer

    def take_in(self, tx: Tx, key: str, reference: Reference, *, anew: bool) -> Taken | Failed:
        answer: CatalogueAnswer = reference.content
        swap = catalogue.swap(tx, tx.now(), answer, despite_shrinking=anew)
        if isinstance(swap, Refused):
            return Failed(Trouble.IMPLAUSIBLE, f"the catalogue of {key} is not taken in: {swap.message}")
        return Taken(len(catalogue.known_indexes(tx, answer.term, answer.campus)))

    def flips_since(self, tx: Tx, key: str, since: datetime) -> Flips:
        term, campus = key.split("|")
        return section_status.flips_since(tx, term, campus, since)


def build(settings: Settings, client: Client, store: Store) -> tuple[list[Source], list[ReferenceSource]]:
    """Both share one budget: the upstream does not care which of its pages we ask for."""
    soc = settings.soc
    reader = SocCatalogue(
        store,
        client,
        base_url=soc.base_url,
        terms=soc.terms,
        campuses=soc.campuses,
        interval_s=soc.catalogue_interval_s,
        jitter=soc.jitter,
        timeout_s=soc.catalogue_timeout_s,
    )
    return [Soc(soc, client)], [Catalogues(reader)]
