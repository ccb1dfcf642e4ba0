"""`/tasks`: one wish, one reply, which says how the task stands now. Only the backend's own yes is told as a yes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from vacancy.bot.answers import explain, mapping, reading, sequence
from vacancy.bot.backend import Answer, Backend, Lost
from vacancy.bot.feed import moment_of
from vacancy.bot.render import LONGEST_COMMENT, LONGEST_TITLE, clip, heading, status_of
from vacancy.bot.task_wishes import LONGEST_TEXT, Act, Everything, Help, History, One, Update, Wrong, read_wish
from vacancy.bot.words import say
from vacancy.channels.telegram_api import whole
from vacancy.model.bot import Event

MOST_TASKS: Final = 20
_MOST_LINES: Final = 30
_LONGEST_IN_LIST: Final = 80


class TaskDesk:
    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    async def reply(self, user_id: int, text: str, locale: str) -> str:
        match read_wish(text):
            case Everything():
                return await self._list(user_id, locale)
            case Help():
                return say(locale, "tasks_help")
            case One(number):
                return await self._show(user_id, number, locale)
            case History(number):
                return await self._history(user_id, number, locale)
            case Update(number, changes):
                answer = await self._backend.change(user_id, number, changes)
                return await self._done(user_id, number, answer, "update", locale)
            case Act() as act:
                return await self._act(user_id, act, locale)
            case Wrong(word, number, action):
                return say(locale, word, number=number, action=action, most=LONGEST_TEXT)

    async def _list(self, user_id: int, locale: str) -> str:
        answer = await self._backend.tasks(user_id, MOST_TASKS)
        tasks = sequence(answer)
        if tasks is None:
            return explain(reading(answer), locale)
        lines = [_line(task, locale) for task in tasks[:MOST_TASKS]]
        return "\n".join((say(locale, "tasks"), *lines)) if lines else say(locale, "tasks_none")

    async def _show(self, user_id: int, number: int, locale: str) -> str:
        answer = await self._backend.task(user_id, number)
        task = mapping(answer)
        if task is None:
            return explain(reading(answer), locale, number)
        lines = [say(locale, "task", number=number, title=_title(task, LONGEST_TITLE, locale))]
        description = clip(task.get("description"), LONGEST_COMMENT)
        if description:
            lines.append(description)
        lines.append(say(locale, "status", status=_status(task, locale)))
        actions = task.get("allowed_actions")
        words = [clip(each, 32) for each in actions if isinstance(each, str)] if isinstance(actions, list) else []
        if words:
            lines.append(say(locale, "actions", actions=", ".join(words)))
        return "\n".join(lines)

    async def _history(self, user_id: int, number: int, locale: str) -> str:
        answer = await self._backend.history(user_id, number)
        events = sequence(answer)
        if events is None:
            return explain(reading(answer), locale, number)
        lines = [_past(each, locale) for each in events[-_MOST_LINES:]]
        return (
            "\n".join((say(locale, "history", number=number), *lines))
            if lines
            else say(locale, "history_none", number=number)
        )

    async def _act(self, user_id: int, act: Act, locale: str) -> str:
        given = {"report_link": act.link} if act.link else {}
        if act.comment:
            given["current_comment"] = act.comment
        answer = await self._backend.act(user_id, act.number, act.action, given)
        said = [await self._done(user_id, act.number, answer, act.action, locale)]
        if act.link:
            said.append(say(locale, "your_link", link=act.link))
        if act.comment:
            said.append(say(locale, "your_comment", comment=clip(act.comment, LONGEST_COMMENT)))
        return "\n".join(said)

    async def _done(self, user_id: int, number: int, answer: Answer, action: str, locale: str) -> str:
        if isinstance(answer, Lost) or not answer.is_good:
            return explain(answer, locale, number)
        status = status_of((mapping(answer) or {}).get("status_code"), locale)
        if not status:
            task = mapping(await self._backend.task(user_id, number))
            status = _status(task or {}, locale)
        return say(locale, f"did_{action}", number=number, status=status)


def _line(task: Mapping[str, Any], locale: str) -> str:
    number = whole(task.get("task_id")) or 0
    title = _title(task, _LONGEST_IN_LIST, locale)
    return say(locale, "task_line", number=number, title=title, status=_status(task, locale))


def _past(event: Mapping[str, Any], locale: str) -> str:
    payload = event.get("payload")
    facts = payload if isinstance(payload, dict) else {}
    kind = event.get("event_type")
    when = moment_of(event.get("created_at"))
    what = heading(Event(1, kind if isinstance(kind, str) else ""), locale)
    parts = (f"{when:%Y-%m-%d %H:%M UTC}" if when else "", what, status_of(facts.get("status_to"), locale),
             clip(facts.get("current_comment"), _LONGEST_IN_LIST))  # fmt: skip
    return " · ".join(part for part in parts if part)


def _title(task: Mapping[str, Any], most: int, locale: str) -> str:
    return clip(task.get("title"), most) or say(locale, "no_title")


def _status(task: Mapping[str, Any], locale: str) -> str:
    return status_of(task.get("status_code"), locale) or say(locale, "unknown_status")
