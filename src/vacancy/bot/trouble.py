"""Troubles with the backend: each is told once, and its end. While it is away, one user asks for all."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import structlog

from vacancy.clock import Clock, Dice

LONGEST_REST_S: Final = 300.0
LONGEST_OUTAGE_REST_S: Final = 60.0
SLOW_S: Final = 1.0
# So many users in a row without an answer: it is not they.
OUTAGE_AFTER: Final = 3
REST_JITTER: Final = 0.3
_log = structlog.stdlib.get_logger(__name__)


@dataclass(slots=True)
class _User:
    told: str
    rest_s: float
    until: float = 0.0


@dataclass(slots=True)
class _Outage:
    since: float
    rest_s: float
    until: float
    asked_by: int | None = None


@dataclass(slots=True)
class Troubles:
    clock: Clock
    dice: Dice
    first_rest_s: float
    _users: dict[int, _User] = field(default_factory=dict)
    _without_answer: set[int] = field(default_factory=set)
    _outage: _Outage | None = None
    _slow: set[int] = field(default_factory=set)
    answers: int = 0  # how many there were, of all users

    def may_ask(self, user_id: int) -> bool:
        """While the backend is away one user asks for all, now and then."""
        now = self.clock.monotonic()
        if self._outage is not None:
            if self._outage.asked_by not in (None, user_id) or now < self._outage.until:
                return False
            self._outage.asked_by = user_id
            return True
        user = self._users.get(user_id)
        return user is None or now >= user.until

    def is_slow(self, user_id: int) -> bool:
        """Whose last question went wrong, or took long, must not take places away from the others."""
        return user_id in self._users or user_id in self._slow

    def gave_up(self, user_id: int) -> None:
        """The question was not asked after all."""
        if self._outage is not None and self._outage.asked_by == user_id:
            self._outage.asked_by = None

    def answered(self, user_id: int, took_s: float = 0.0) -> None:
        self._is_back()
        if took_s >= SLOW_S:
            self._slow.add(user_id)
        else:
            self._slow.discard(user_id)
        if self._users.pop(user_id, None) is not None:
            _log.info("events of a user again", user_id=user_id)

    def _is_back(self) -> None:
        self.answers += 1
        self._without_answer.clear()
        if self._outage is not None:
            _log.info("the backend answers again", after_s=round(self.clock.monotonic() - self._outage.since, 1))
            self._outage = None

    def failed(self, user_id: int, what: str, *, is_backend: bool, answers_before: int) -> None:
        """`is_backend`: no answer, or one that says nothing of the user. It says nothing of all others either, unless
        they fare the same and nobody was answered since the question was asked."""
        if not is_backend:
            self._is_back()
        elif self._outage is not None:
            self._still_away(self._outage)
            return
        elif answers_before == self.answers:
            self._without_answer.add(user_id)
        self._rest(user_id, what)
        if len(self._without_answer) >= OUTAGE_AFTER:
            _log.warning("the backend does not answer; it is asked for one user now and then", reason=what)
            self._outage = _Outage(self.clock.monotonic(), self.first_rest_s * 2, self._after(self.first_rest_s))

    def _rest(self, user_id: int, what: str) -> None:
        user = self._users.get(user_id)
        if user is None:
            user = self._users[user_id] = _User("", self.first_rest_s)
        if user.told != what:
            user.told = what
            _log.warning("no events for a user; trying again later", user_id=user_id, reason=what)
        user.until = self._after(user.rest_s)
        user.rest_s = min(user.rest_s * 2, LONGEST_REST_S)

    def _still_away(self, outage: _Outage) -> None:
        outage.asked_by = None
        outage.until = self._after(outage.rest_s)
        outage.rest_s = min(outage.rest_s * 2, LONGEST_OUTAGE_REST_S)

    def _after(self, rest_s: float) -> float:
        return self.clock.monotonic() + self.dice.jitter(rest_s, REST_JITTER)
