"""The course catalogue of a term and campus: what each index of an open list stands for.

20 MB that change a little every few minutes. They are cut into pieces of whole courses in a worker thread; a course
whose bytes are stored already is passed over by its hash, and only what is left is decoded.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlencode

import msgspec

from vacancy.model.availability import Claim, Failed, Policy, Question, Trouble, Unchanged
from vacancy.model.catalogue import CatalogueAnswer, CatalogueOutcome, Course, Known, Section
from vacancy.net.client import Client, Reach, Response
from vacancy.net.headers import observed_at
from vacancy.sources.soc_courses import RULES, MalformedError, fingerprint, read_course
from vacancy.sources.soc_split import NotJsonError, pieces
from vacancy.sources.upstream import fetch
from vacancy.store import catalogue
from vacancy.store.catalogue_plan import without
from vacancy.store.engine import Store

NAME: Final = "soc_catalogue"
BUDGET: Final = "soc"
MAX_BYTES: Final = 64 << 20
_CONNECT_TIMEOUT_S: Final = 10


class SocCatalogue:
    name = NAME
    budget = BUDGET

    def __init__(
        self,
        store: Store,
        client: Client,
        *,
        base_url: str,
        terms: Sequence[str],
        campuses: Sequence[str],
        interval_s: float = 600,
        jitter: float = 0.3,
        timeout_s: float = 120,
    ) -> None:
        self._store = store
        self._client = client
        self._base_url = base_url.rstrip("/")
        self._keys = tuple(f"{term}|{campus}" for term in terms for campus in campuses)
        self.policy = Policy(interval_s=interval_s, jitter=jitter, fetch_timeout_s=timeout_s, ratio_gate=False)

    def questions(self) -> Sequence[Question]:
        return [Question(NAME, key, self._question_hash(key)) for key in self._keys]

    async def ask(self, claim: Claim, last_digest: bytes | None) -> CatalogueOutcome:
        term, _, campus = claim.key.partition("|")
        response = await fetch(
            self._client,
            self._url(term, campus),
            reach=Reach.UPSTREAM,
            timeout_s=self.policy.fetch_timeout_s,
            connect_timeout_s=_CONNECT_TIMEOUT_S,
            max_bytes=MAX_BYTES,
        )
        if isinstance(response, Failed):
            return response
        digest = await asyncio.to_thread(_digest, response.body)
        if digest == last_digest:
            return Unchanged()
        known = await self._store.read(catalogue.known_hashes, term, campus, RULES)
        if (known.body_hash, known.rules) == (digest.hex(), RULES):
            return Unchanged()
        return await _read(term, campus, response, digest, known)

    def _url(self, term: str, campus: str) -> str:
        query = urlencode({"year": term[1:], "term": term[0], "campus": campus})
        return f"{self._base_url}/courses.json?{query}"

    def _question_hash(self, key: str) -> str:
        return hashlib.sha256(f"{self._base_url}|{key}|{RULES}".encode()).hexdigest()[:32]


def _digest(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()


async def _read(term: str, campus: str, response: Response, digest: bytes, known: Known) -> CatalogueOutcome:
    reading = Reading(known.hashes)
    try:
        members = pieces(response.body)
        while await asyncio.to_thread(reading.take_next, members):
            pass  # a thread for each piece: the loop has its turn in between, and a stop is heeded
        courses = await asyncio.to_thread(reading.courses)
    except (NotJsonError, MalformedError) as error:
        return Failed(Trouble.UNREADABLE, f"catalogue {term} {campus}: {error}")
    return CatalogueAnswer(
        term=term,
        campus=campus,
        courses=courses,
        kept=frozenset(reading.kept),
        base=known.body_hash,
        body_hash=digest.hex(),
        rules=RULES,
        observed_at=observed_at(response.headers, response.received_at),
        digest=digest,
    )


class Reading:
    """A catalogue on its way in: what is known is counted, what is new is decoded."""

    def __init__(self, known: frozenset[str]) -> None:
        self._known = known
        self.kept: set[str] = set()
        self._changed: dict[str, Course] = {}

    def take_next(self, members: Iterator[Sequence[msgspec.Raw]]) -> bool:
        piece = next(members, None)
        for raw in piece or ():
            content_hash = fingerprint(raw)
            if content_hash in self._known:
                self.kept.add(content_hash)
            elif content_hash not in self._changed:
                self._changed[content_hash] = read_course(raw, content_hash)
        return piece is not None

    def courses(self) -> tuple[Course, ...]:
        """In an order of their own, so that the upstream's order decides nothing. A section belongs to one course."""
        owners: dict[str, Section] = {}
        return tuple(_without_shared(course, owners) for course in sorted(self._changed.values(), key=_order))


def _order(course: Course) -> tuple[str, str, str, str]:
    first = min((section.index for section in course.sections), default="")
    return course.course_string, course.variant, first, course.content_hash


def _without_shared(course: Course, owners: dict[str, Section]) -> Course:
    elsewhere = []
    for section in course.sections:
        other = owners.setdefault(section.index, section)
        if other is section:
            continue
        if other != section:
            raise MalformedError(
                f"course {course.course_string}: section {section.index} stands in another course, unlike"
            )
        elsewhere.append(section.index)
    return without(course, elsewhere) if elsewhere else course
