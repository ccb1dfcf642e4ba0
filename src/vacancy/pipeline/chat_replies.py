"""What is answered in a chat: the rows of its subscriptions, in words. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from vacancy.channels.chat_words import CHAT_WORDS
from vacancy.channels.telegram_hearing import Reply
from vacancy.channels.told import tell, topic_title, web_link
from vacancy.channels.words import locale_of, moment, one_line
from vacancy.errors import UserError
from vacancy.model.availability import CLOSED, OPEN
from vacancy.model.messages import OpenItem
from vacancy.model.subscriptions import Status, Subscription
from vacancy.model.topics import Topic
from vacancy.subscriptions.chat_links import Claimed
from vacancy.subscriptions.chat_watch import Choices, Watched
from vacancy.subscriptions.chats import Own, Quiet
from vacancy.subscriptions.naming import Waited

_LONGEST_REASON: Final = 160
_KNOWN = {OPEN: "open", CLOSED: "closed"}


@dataclass(frozen=True, slots=True)
class Replies:
    """In one language. `page` is where people choose what to wait for; `zone_of` a source's place on the clock."""

    locale: str
    page: str
    zone_of: Callable[[str], str]

    def say(self, name: str, **facts: object) -> str:
        return CHAT_WORDS[locale_of(self.locale)][name].format(page=self.page, **facts)

    def welcome(self, chat: str) -> Reply:
        return Reply(f"{self.say('welcome', chat=chat)}\n\n{self.say('help')}")

    def linked(self, claimed: Claimed) -> Reply:
        first = self.say("linked" if claimed.created else "linked_already", what=self._what(claimed.waited))
        return Reply(f"{first}\n{self._now(claimed.waited)}")

    def refused(self, code: str) -> Reply:
        """Of a link, in the words of errors.py."""
        known = code if code in CHAT_WORDS[locale_of(self.locale)] else "refused"
        return Reply(self.say("section_not_found" if code == "validation_failed" else known))

    def watched(self, watched: Watched) -> Reply:
        said = {None: "linked", Status.PAUSED: "watched_again"}.get(watched.was, "linked_already")
        first = self.say(said, what=self._what(watched.waited))
        last = self.say("watch_end", number=watched.subscription.subscription_id)
        return Reply(f"{first}\n{self._now(watched.waited)}\n{last}")

    def choices(self, choices: Choices) -> Reply:
        lines = [_command(topic) for topic in choices.topics]
        return Reply("\n".join((self.say("watch_choose", what=choices.what), *lines)))

    def not_watched(self, error: UserError, words: str) -> Reply:
        if error.code == "validation_failed":
            why = one_line(error.message.removeprefix("topic: "))[:_LONGEST_REASON]
            return Reply(f"{why}\n{self.say('watch_how')}")
        if error.code == "section_conflict" and isinstance(error.details, Mapping):
            place, index = error.details, words[-5:]  # however it was asked for, the index came last
            command = f"/watch {place['term']} {place['campus']} {index}"
            return Reply(self.say("watch_elsewhere", command=command))
        names = {"section_not_found": "watch_unknown", "rate_limited": "watch_too_many"}
        return Reply(self.say(names.get(error.code, "refused")))

    def listed(self, own: Sequence[Own], now: datetime) -> Reply:
        if not own:
            return Reply(self.say("nothing"))
        lines = [self._line(each.subscription, each.waited, now) for each in own]
        return Reply("\n".join((self.say("list"), *lines, "", self.say("list_end"))))

    def stopped_all(self, count: int) -> Reply:
        return Reply(self.say("stopped_all", count=count) if count else self.say("stopped_none"))

    def unwatched(self, ended: Sequence[Own]) -> Reply:
        return Reply("\n".join(self.stopped(own).text for own in ended))

    def stopped(self, own: Own, *, edit: bool = False) -> Reply:
        return Reply(self.say("stopped", what=self._what(own.waited)), edit=edit)

    def quiet(self, quiet: Quiet) -> Reply:
        if quiet.until is None:
            return Reply(self.say("awake"))
        if not quiet.whose:
            return Reply(self.say("nothing"))
        return Reply(self.say("snoozed", when=self._when(quiet.until, quiet.whose[0])))

    def confirmed(self, own: Own) -> Reply:
        if not own.subscription.is_live:
            return Reply(self.say("has_ended"), edit=True)
        return Reply(self.say("confirmed", what=self._what(own.waited)), edit=True)

    def _line(self, found: Subscription, waited: Waited, now: datetime) -> str:
        standing = self._standing(found, waited, now)
        return self.say("list_line", number=found.subscription_id, what=self._what(waited), standing=standing)

    def _standing(self, found: Subscription, waited: Waited, now: datetime) -> str:
        if found.status in (Status.PAUSED, Status.PENDING):
            return self.say(f"is_{found.status}")
        if found.snooze_until is not None and found.snooze_until > now:
            return self.say("is_snoozed", when=self._when(found.snooze_until, found))
        return self.say(f"is_{_KNOWN.get(waited.status, 'unknown')}")

    def _now(self, waited: Waited) -> str:
        if waited.status != OPEN:
            return self.say(f"now_{_KNOWN.get(waited.status, 'unknown')}")
        link = waited.topic.link or web_link(waited.payload)
        return self.say("now_open_link", link=link) if link else self.say("now_open")

    def _when(self, until: datetime, found: Subscription) -> str:
        return moment(until, self.zone_of(found.source), locale_of(self.locale))

    def _what(self, waited: Waited) -> str:
        return _title(waited, locale_of(self.locale))


def _command(topic: Topic) -> str:
    """What asks for this and nothing else."""
    if topic.term_id is None or topic.campus_code is None:
        return f"/watch {topic.name}"
    what = topic.index_number or topic.name.partition(":course/")[2]
    return f"/watch {topic.term_id} {topic.campus_code} {what}"


def _title(waited: Waited, locale: str) -> str:
    topic = waited.topic
    if topic.item_key is None:
        return _wide_title(topic.name, waited.payload, locale)
    item = OpenItem(topic.item_key, 0, waited.payload, None, topic.term_id, topic.campus_code, topic.index_number)
    told = tell(topic.source, item, locale)
    # Without a name of its own, its address says more: term and campus too.
    return told.named(locale) if told.title and told.title != topic.item_key else topic_title(topic.name, locale)


def _wide_title(name: str, payload: Mapping[str, object], locale: str) -> str:
    title = one_line(payload.get("courseTitle") or payload.get("venueName") or "")
    address = topic_title(name, locale)
    return f"{title} ({address})" if title else address
