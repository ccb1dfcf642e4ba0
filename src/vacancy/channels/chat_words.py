"""What the bot says in a chat, in every language that we speak."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_ENGLISH: Final = MappingProxyType({
    "linked": "You hear of it here: {what}.",
    "linked_already": "This chat waits for it already: {what}.",
    "now_open": "It is open right now. That is not told again: you hear of the next opening.",
    "now_open_link": "It is open right now: {link}\nThat is not told again: you hear of the next opening.",
    "now_closed": "It is closed right now. The moment it opens, a message comes.",
    "now_unknown": "Whether it is open is not known yet. The moment it opens, a message comes.",
    "link_expired": "This link is too old, or was used already. Get a new one: {page}",
    "section_not_found": "What this link asks for is not watched here any more. Choose another: {page}",
    "section_conflict": "This section belongs to another campus now. Choose it there: {page}",
    "rate_limited": "There are too many subscriptions, in this chat or for this section. /list shows yours; end one "
                    "with /stop and its number, then open the link again.",
    "refused": "This cannot be done here. Look at {page}",
    "welcome": "Here you hear the moment something opens. Choose it at {page} and press the button for Telegram, or "
               "write /watch and the index of a section. This chat's number is {chat}.",
    "help": "/watch 12345: wait for section 12345\n/list: what this chat waits for\n/stop 12: end number 12; /stop "
            "alone: end all\n/unwatch 12345: end section 12345\n/snooze 1h: silence for 30m, 8h, 2d; /snooze off: end "
            "it\n/help: this",
    "watched_again": "This chat waits for it again: {what}.",
    "watch_end": "/stop_{number} ends it.",
    "watch_choose": "Which {what} do you mean? Send the line with its term and campus:",
    "watch_how": "Write /watch and the five digits of a section, such as /watch 12345; with its term and campus, such "
                 "as /watch 12025 NB 12345; or a topic, such as /watch resy:venue/834.",
    "watch_unknown": "That is not watched here. Choose something else: {page}",
    "watch_elsewhere": "This section is at another campus. Send: {command}",
    "watch_too_many": "There are too many subscriptions, in this chat or for this section. /list shows yours; end one "
                      "with /stop and its number, then write /watch again.",
    "watch_too_often": "This chat asks too often. Wait some minutes, then try again.",
    "unwatch_how": "Write /unwatch and a number of /list, or the five digits of a section.",
    "nothing": "This chat waits for nothing. Choose something: {page}",
    "list": "This chat waits for:",
    "list_line": "{number}: {what} ({standing}) /stop_{number}",
    "list_end": "/stop with a number ends one, /stop alone ends all.",
    "is_open": "open now",
    "is_closed": "closed now",
    "is_unknown": "not known yet",
    "is_paused": "paused",
    "is_pending": "waits for your confirmation",
    "is_snoozed": "silent until {when}",
    "stopped_none": "This chat waits for nothing, so there is nothing to stop.",
    "stopped_all": "Stopped: {count}. You get no more alerts here.",
    "stopped": "Stopped: {what}. You get no more alerts for it.",
    "no_number": "This chat has no number {number}. /list shows what it waits for.",
    "snoozed": "Silence until {when}.",
    "awake": "The silence is over. You hear of openings again.",
    "snooze_how": "Write a time such as /snooze 30m, /snooze 1h or /snooze 2d, at most 30 days; /snooze off ends it.",
    "got_it": "Good. You hear no more of this opening.",
    "confirmed": "Confirmed. You hear the moment it opens: {what}.",
    "has_ended": "This has ended already. Subscribe anew to hear of it.",
    "not_yours": "This button belongs to somebody else.",
    "no_button": "This button is not known any more.",
})  # fmt: skip
_CHINESE: Final = MappingProxyType({
    "linked": "有空位时会在这里通知您：{what}。",
    "linked_already": "此聊天已在等待：{what}。",
    "now_open": "现在就有空位。这一次不再另行通知，下次有空位时会通知您。",
    "now_open_link": "现在就有空位：{link}\n这一次不再另行通知，下次有空位时会通知您。",
    "now_closed": "目前没有空位。一有空位就会通知您。",
    "now_unknown": "目前是否有空位尚不清楚。一有空位就会通知您。",
    "link_expired": "此链接已过期或已被使用。请重新获取：{page}",
    "section_not_found": "此链接所指的内容已不再监测。请另选：{page}",
    "section_conflict": "该班级现属于另一校区。请到那里选择：{page}",
    "rate_limited": "此聊天或该班级的订阅过多。用 /list 查看，用 /stop 加编号结束一个，然后再次打开链接。",
    "refused": "此处无法完成。请查看 {page}",
    "welcome": "一有空位，就会在这里通知您。请在 {page} 选择，然后按 Telegram 按钮，或写 /watch 加班级编号。"
               "此聊天的号码是 {chat}。",
    "help": "/watch 12345：等待班级 12345\n/list：此聊天在等待什么\n/stop 12：结束第 12 号；只写 /stop：全部结束\n"
            "/unwatch 12345：不再等待班级 12345\n/snooze 1h：静音，也可写 30m、8h、2d；/snooze off：取消静音\n"
            "/help：本说明",
    "watched_again": "此聊天又在等待：{what}。",
    "watch_end": "/stop_{number} 结束它。",
    "watch_choose": "您指的是哪一个 {what}？请发送带有学期和校区的一行：",
    "watch_how": "请写 /watch 和班级的五位编号，例如 /watch 12345；也可加上学期和校区，例如 /watch 12025 NB 12345；"
                 "或写一个主题，例如 /watch resy:venue/834。",
    "watch_unknown": "这里没有监测该内容。请另选：{page}",
    "watch_elsewhere": "该班级在另一校区。请发送：{command}",
    "watch_too_many": "此聊天或该班级的订阅过多。用 /list 查看，用 /stop 加编号结束一个，然后再写 /watch。",
    "watch_too_often": "此聊天请求过于频繁。请几分钟后再试。",
    "unwatch_how": "请写 /unwatch 和 /list 中的编号，或班级的五位编号。",
    "nothing": "此聊天没有等待任何内容。请选择：{page}",
    "list": "此聊天正在等待：",
    "list_line": "{number}：{what}（{standing}） /stop_{number}",
    "list_end": "/stop 加编号结束一个，只写 /stop 全部结束。",
    "is_open": "现在有空位",
    "is_closed": "现在没有空位",
    "is_unknown": "尚不清楚",
    "is_paused": "已暂停",
    "is_pending": "等待您确认",
    "is_snoozed": "静音至 {when}",
    "stopped_none": "此聊天没有等待任何内容，无需停止。",
    "stopped_all": "已停止 {count} 项。此处不会再收到提醒。",
    "stopped": "已停止：{what}。您不会再收到它的提醒。",
    "no_number": "此聊天没有编号 {number}。用 /list 查看。",
    "snoozed": "静音至 {when}。",
    "awake": "静音已结束，有空位时会再次通知您。",
    "snooze_how": "请写一个时间，例如 /snooze 30m、/snooze 1h 或 /snooze 2d，最长 30 天；/snooze off 取消静音。",
    "got_it": "好的，这次空位不再通知您。",
    "confirmed": "已确认。一有空位就会通知您：{what}。",
    "has_ended": "这项订阅已结束。如需提醒，请重新订阅。",
    "not_yours": "这个按钮属于别人。",
    "no_button": "这个按钮已失效。",
})  # fmt: skip
CHAT_WORDS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({"en-US": _ENGLISH, "zh-CN": _CHINESE})
