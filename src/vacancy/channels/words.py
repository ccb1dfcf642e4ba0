"""What messages are made of, in every language that we speak: locales, moments, and the few words that are not in a
template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from types import MappingProxyType
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from babel.dates import format_datetime

from vacancy.model.terms import CAMPUS_NAMES, term_name

LOCALES: Final = ("en-US", "zh-CN")
DEFAULT_LOCALE: Final = LOCALES[0]

_BY_LANGUAGE: Final = MappingProxyType({locale.partition("-")[0]: locale for locale in reversed(LOCALES)})
_PATTERNS: Final = MappingProxyType({"en-US": "EEE, MMM d, h:mm a", "zh-CN": "M月d日 EEE HH:mm"})
# The noncharacters U+FDD0 and on are for a program's own use: no value has one, so nobody can write our marks.
# Line ends of any kind would make one value two lines; marks of direction would turn the text after them around.
_BREAKS: Final = re.compile(r"[\s\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_UNSEEN: Final = re.compile(
    r"[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\ufffb\ufdd0-\ufdef\ufffe\uffff]"
)
_SEASONS_ZH: Final = MappingProxyType({"Winter": "冬季", "Spring": "春季", "Summer": "夏季", "Fall": "秋季"})

_ENGLISH: Final = MappingProxyType({
    "open": "See it and register",
    "open_other": "See it and book",
    "open_verification": "Confirm",
    "manage": "Manage",
    "got_it": "Got it",
    "snooze_1h": "Snooze for 1 hour",
    "stop": "Stop",
    "unsubscribe": "Unsubscribe",
    "one_open": "Open: {what}",
    "some_open": "{count} are open: {what}",
    "some_open_mixed": "{count} are open",
    "section": "section {section}",
    "index": "index {index}",
    "a_section": "section {index}",
    "for_people": "for {sizes}",
    "or": " or ",
    "a_venue": "venue {venue}",
    "a_bucket": "tables around {when}",
    "seen": "Seen open {when}. It may be gone already.",
    "seen_some": "Seen open {when}. They may be gone already.",
    "last": "This was the last alert that you asked for, and alerts are paused now. Go to Manage to get more.",
    "verification": "Confirm this contact",
    "verification_line": "Somebody, hopefully you, asked for alerts to be sent here. Confirm it, and they begin.",
    "verification_good_for": "The link is good for {hours} hours. If it was not you, do nothing.",
    "ended": "It ended: {title}",
    "ended_line": "You get no more alerts for it.",
    "source_unreadable": "We cannot look: {what}",
    "source_unreadable_since": "Since {since} we get no answer from it.",
    "source_unreadable_line": "We keep trying. Until it is back, an opening may pass unseen.",
    "source_readable": "We can look again: {what}",
    "source_readable_line": "It answers again, and you hear of the next opening.",
    "trouble": "Trouble: {what}",
    "trouble_over": "Over: {what}",
    "test": "This is a test",
    "test_line": "Whoever runs Vacancy wanted to see whether its messages arrive here. Nothing has opened.",
    "test_sent": "Sent {when}.",
    "since": "Since {since}.",
    "began": "It began {since}.",
    "mail_why": "You get this mail because you asked to be told.",
    "mail_manage": "Manage your alerts",
    "mail_unsubscribe": "Unsubscribe",
    "mail_colon": ": ",
    "reason_term_over": "The term is over.",
    "reason_day_over": "The day is over.",
    "reason_retired": "It is not offered any more.",
    "reason_elsewhere": "Its index belongs to another campus: subscribe to it there.",
})  # fmt: skip
_CHINESE: Final = MappingProxyType({
    "open": "查看并选课",
    "open_other": "查看并预订",
    "open_verification": "确认",
    "manage": "管理",
    "got_it": "已抢到",
    "snooze_1h": "暂停 1 小时",
    "stop": "停止提醒",
    "unsubscribe": "退订",
    "one_open": "有空位了：{what}",
    "some_open": "{count} 个有空位了：{what}",
    "some_open_mixed": "{count} 个有空位了",
    "section": "{section} 班",
    "index": "索引号 {index}",
    "a_section": "索引号 {index}",
    "for_people": "{sizes} 人",
    "or": " 或 ",
    "a_venue": "餐厅 {venue}",
    "a_bucket": "{when} 前后的餐位",
    "seen": "{when} 看到有空位，现在可能已经没有了。",
    "seen_some": "{when} 看到有空位，现在可能已经没有了。",
    "last": "这是您要求的最后一次提醒，提醒现已暂停。如需继续，请前往“管理”。",
    "verification": "请确认此联系方式",
    "verification_line": "有人（希望是您本人）要求把提醒发送到这里。确认后即开始提醒。",
    "verification_good_for": "链接在 {hours} 小时内有效。如果不是您本人，请忽略。",
    "ended": "已结束：{title}",
    "ended_line": "您不会再收到它的提醒。",
    "source_unreadable": "暂时无法查看：{what}",
    "source_unreadable_since": "自 {since} 起没有得到回应。",
    "source_unreadable_line": "我们会继续尝试。恢复之前，可能会错过空位。",
    "source_readable": "已恢复查看：{what}",
    "source_readable_line": "它已恢复回应，下次有空位时会通知您。",
    "trouble": "故障：{what}",
    "trouble_over": "故障已排除：{what}",
    "test": "这是一条测试消息",
    "test_line": "Vacancy 的管理员想确认消息能否送达这里。没有新的空位。",
    "test_sent": "发送于 {when}。",
    "since": "自 {since} 起。",
    "began": "始于 {since}。",
    "mail_why": "您收到此邮件，是因为您要求得到通知。",
    "mail_manage": "管理提醒",
    "mail_unsubscribe": "退订",
    "mail_colon": "： ",
    "reason_term_over": "本学期已结束。",
    "reason_day_over": "这一天已过去。",
    "reason_retired": "该项已不再开设。",
    "reason_elsewhere": "该编号属于另一个校区，请在那里重新订阅。",
})  # fmt: skip
WORDS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({"en-US": _ENGLISH, "zh-CN": _CHINESE})


@lru_cache(maxsize=256)
def locale_of(wanted: str) -> str:
    """The one of ours that is nearest: `zh`, `zh_TW` and `zh-Hant-HK` -> zh-CN; what we do not speak -> en-US."""
    language, _, rest = wanted.strip().replace("_", "-").partition("-")
    exact = f"{language.lower()}-{rest.upper()}"
    return exact if exact in LOCALES else _BY_LANGUAGE.get(language.lower(), DEFAULT_LOCALE)


def one_line(value: object) -> str:
    """Any value as one line of text that every channel can carry; whitespace is one space, nothing hides."""
    text = str(value).encode("utf-8", "replace").decode("utf-8")  # half a surrogate pair cannot be sent
    return _BREAKS.sub(" ", _UNSEEN.sub("", text)).strip()


@lru_cache(maxsize=512)
def moment(at: datetime, time_zone: str, locale: str) -> str:
    """`Mon, Jan 5, 7:00 AM EST`, by the clock on the wall where it opened."""
    there = at.astimezone(_zone(time_zone))
    name = there.tzname() or "UTC"
    text = format_datetime(there, _PATTERNS[locale], tzinfo=there.tzinfo, locale=locale.replace("-", "_"))
    # CLDR parts time and AM with a narrow space that old mail clients and terminals show as a box.
    return f"{text} {name if name[0].isalpha() else 'UTC' + name}".replace("\u202f", " ")


def wall_moment(date: str, time: str, locale: str) -> str:
    """`Sat, Feb 28, 8:30 PM`, for what was given as a day and an hour; else their own words."""
    try:
        at = datetime.fromisoformat(f"{date}T{time}")
    except ValueError:
        return one_line(f"{date} {time}")
    return format_datetime(at, _PATTERNS[locale], locale=locale.replace("-", "_")).replace("\u202f", " ")


def fact_moment(value: object, time_zone: str, locale: str) -> str:
    """A fact that should be a time, be it a datetime or written down; else its own words."""
    try:
        at = value if isinstance(value, datetime) else datetime.fromisoformat(str(value))
    except ValueError:
        return one_line(value)
    return moment(at if at.tzinfo else at.replace(tzinfo=UTC), time_zone, locale)


def reason(code: str, locale: str) -> str:
    """Known reasons in the reader's language; any other as it is."""
    return WORDS[locale].get(f"reason_{code}") or one_line(code)


def term(code: str, locale: str) -> str:
    season, _, year = term_name(code).partition(" ")
    return f"{year} 年{_SEASONS_ZH[season]}" if locale == "zh-CN" else f"{season} {year}"


def campus(code: str) -> str:
    return CAMPUS_NAMES.get(code, one_line(code))


@lru_cache(maxsize=64)
def _zone(name: str) -> tzinfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return UTC
