"""What the bot says, in every language that we speak."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from vacancy.channels.words import locale_of

_ENGLISH: Final = MappingProxyType({
    # An event
    "type_REPORT_SUBMITTED": "Report submitted",
    "type_APPROVED": "Approved",
    "type_REJECTED": "Rejected",
    "type_ARCHIVED": "Archived",
    "type_other": "Update",
    "of_task": "{what} · task #{number}",
    "status": "Status: {status}",
    "link": "Link: {link}",
    "comment": "Comment: {comment}",
    "actions": "You can: {actions}",
    "status_IN_PROGRESS": "in progress",
    "status_WAITING_REPORT": "waits for a report",
    "status_WAITING_APPROVAL": "waits for approval",
    "status_DONE": "done",
    "status_REJECTED": "rejected",
    "status_ARCHIVED": "archived",
    "unknown_status": "not known",
    # Binding
    "welcome": "This bot brings you the events of your tasks. Get a code where you work on them and write /bind CODE "
               "here.",
    "bind_how": "Write /bind and your code, such as /bind 1A2B-3C4D.",
    "bound": "Bound to {who}. Events from now on come to this chat.",
    "bound_later": "Bound to {who}. Events come once the backend answers again; what happened before that is not told.",
    "bound_group": "Everybody in this group now reads and acts as {who}. Delete the message with the code: codes are "
                   "no business of others.",
    "code_group": "Delete the message with the code: whoever reads it could use it.",
    "code_invalid": "This code is wrong, too old or was used already. Get a new one and write /bind CODE.",
    "code_often": "Too many wrong codes. Try again in {minutes} min.",
    "unbound": "Unbound from {who}. No more events come to this chat.",
    "not_bound": "This chat is not bound to anybody. Write /bind CODE.",
    "whoami": "{who}, role {role}.",
    "whoami_short": "{who}.",
    "still_bound": "This chat is bound to {who}.",
    "user": "user {number}",
    # Answers that are none
    "unreachable": "The backend cannot be reached right now. Nothing was done; try again later.",
    "unsure": "No answer came from the backend. Whether it was done is not known: look at /tasks {number}.",
    "unsure_code": "No answer came from the backend. Write /whoami to see whether this chat is bound, else try again.",
    "error_401": "The backend does not accept this chat's user or the bot's token. Ask whoever runs the bot.",
    "error_403": "You may not do that.",
    "error_404": "Task #{number} was not found, or you may not see it.",
    "error_404_plain": "The backend does not know that.",
    "error_409": "That is not possible now.",
    "error_422": "The backend does not take that.",
    "error_5xx": "The backend has a fault of its own ({status}). Try again later.",
    "error_other": "The backend answered {status}.",
    "garbled": "The backend's answer cannot be read. Try again later.",
    "with_detail": "{message} {detail}",
    "now_status": "Task #{number} is: {status}.",
    # Tasks
    "tasks_none": "You have no tasks.",
    "tasks": "Your tasks:",
    "task_line": "#{number} {title} ({status})",
    "task": "Task #{number}: {title}",
    "no_title": "no title",
    "history": "What happened to task #{number}:",
    "history_none": "Nothing has happened to task #{number} yet.",
    "did_update": "Task #{number} is changed. Status: {status}.",
    "did_report": "The report on task #{number} is sent. Status: {status}.",
    "did_approve": "Task #{number} is approved. Status: {status}.",
    "did_reject": "Task #{number} is rejected. Status: {status}.",
    "your_comment": "Your comment: {comment}",
    "your_link": "Your link: {link}",
    "bad_number": "A task's number is digits, such as /tasks 12. /tasks help shows all.",
    "bad_action": "There is no action {action}. /tasks help shows all.",
    "bad_link": "The report needs an address that starts with http:// or https://.",
    "bad_update": "Say what to change: /tasks {number} update title=… desc=…",
    "long_text": "That is too long: at most {most} characters.",
    "tasks_help": "/tasks: your tasks\n/tasks 12: one of them\n/tasks 12 history: what happened to it\n"
                  "/tasks 12 update title=… desc=…\n/tasks 12 report https://… comment\n/tasks 12 approve comment\n"
                  "/tasks 12 reject comment",
    # Events
    "events_none": "There are no such events.",
    "events": "The newest events:",
    "events_how": "Write /events, /events 20, /events approved or /events rejected 20. Types: {types}. At most {most}.",
    "events_cut": "({count} older ones do not fit here)",
    "events_far": "(there may be others further back)",
    # The rest
    "pong": "Here. {events} {chat}",
    "polling": "Events are looked for every {seconds} s.",
    "not_polling": "Events are not looked for: the backend did not pass the check at the start. Once it does, whoever "
                   "runs the bot starts it again.",
    "help": "/bind CODE: bind this chat to you\n/unbind: end that\n/whoami: who you are here\n/tasks: your tasks; "
            "/tasks help: what can be done\n/events: the newest events\n/ping: whether the bot is well\n\n"
            "Alerts when something opens: /watch, /unwatch, /list, /snooze, /stop",
    "unknown": "There is no command {name}.",
    "alerts_away": "Alerts cannot be reached right now. Try again later.",
    "alerts_none": "There are no alerts here.",
})  # fmt: skip
_CHINESE: Final = MappingProxyType({
    "type_REPORT_SUBMITTED": "已提交报告",
    "type_APPROVED": "已批准",
    "type_REJECTED": "已退回",
    "type_ARCHIVED": "已归档",
    "type_other": "更新",
    "of_task": "{what} · 任务 #{number}",
    "status": "状态：{status}",
    "link": "链接：{link}",
    "comment": "备注：{comment}",
    "actions": "您可以：{actions}",
    "status_IN_PROGRESS": "进行中",
    "status_WAITING_REPORT": "等待报告",
    "status_WAITING_APPROVAL": "等待审批",
    "status_DONE": "已完成",
    "status_REJECTED": "已退回",
    "status_ARCHIVED": "已归档",
    "unknown_status": "未知",
    "welcome": "此机器人为您送来任务动态。请在任务系统中获取代码，然后在此写 /bind 代码。",
    "bind_how": "请写 /bind 加您的代码，例如 /bind 1A2B-3C4D。",
    "bound": "已绑定：{who}。从现在起，动态会发到此聊天。",
    "bound_later": "已绑定：{who}。后端恢复后会开始发送动态，在此之前发生的不再通知。",
    "bound_group": "本群所有人现在都以 {who} 的身份查看和操作。请删除含有代码的消息，代码不应让他人看到。",
    "code_group": "请删除含有代码的消息，看到的人可能会使用它。",
    "code_invalid": "代码有误、已过期或已被使用。请重新获取，然后写 /bind 代码。",
    "code_often": "错误代码过多。请在 {minutes} 分钟后再试。",
    "unbound": "已解除与 {who} 的绑定。此聊天不再收到动态。",
    "not_bound": "此聊天尚未绑定。请写 /bind 代码。",
    "whoami": "{who}，角色：{role}。",
    "whoami_short": "{who}。",
    "still_bound": "此聊天已绑定：{who}。",
    "user": "用户 {number}",
    "unreachable": "目前无法连接后端，什么都没有改变。请稍后再试。",
    "unsure": "后端没有回答，不清楚是否已完成。请用 /tasks {number} 查看。",
    "unsure_code": "后端没有回答。请用 /whoami 查看此聊天是否已绑定，否则请再试一次。",
    "error_401": "后端不接受此聊天的用户或机器人的令牌。请联系机器人的管理者。",
    "error_403": "您无权这样做。",
    "error_404": "没有找到任务 #{number}，或您无权查看。",
    "error_404_plain": "后端没有这项内容。",
    "error_409": "现在无法这样做。",
    "error_422": "后端不接受该内容。",
    "error_5xx": "后端出现故障（{status}）。请稍后再试。",
    "error_other": "后端的回答是 {status}。",
    "garbled": "无法读懂后端的回答。请稍后再试。",
    "with_detail": "{message}{detail}",
    "now_status": "任务 #{number} 的状态：{status}。",
    "tasks_none": "您没有任务。",
    "tasks": "您的任务：",
    "task_line": "#{number} {title}（{status}）",
    "task": "任务 #{number}：{title}",
    "no_title": "无标题",
    "history": "任务 #{number} 的经过：",
    "history_none": "任务 #{number} 尚无动态。",
    "did_update": "任务 #{number} 已修改。状态：{status}。",
    "did_report": "任务 #{number} 的报告已发送。状态：{status}。",
    "did_approve": "任务 #{number} 已批准。状态：{status}。",
    "did_reject": "任务 #{number} 已退回。状态：{status}。",
    "your_comment": "您的备注：{comment}",
    "your_link": "您的链接：{link}",
    "bad_number": "任务编号是数字，例如 /tasks 12。用 /tasks help 查看全部。",
    "bad_action": "没有 {action} 这个操作。用 /tasks help 查看全部。",
    "bad_link": "报告需要以 http:// 或 https:// 开头的地址。",
    "bad_update": "请写明要改什么：/tasks {number} update title=… desc=…",
    "long_text": "太长了，最多 {most} 个字符。",
    "tasks_help": "/tasks：您的任务\n/tasks 12：其中一个\n/tasks 12 history：它的经过\n"
                  "/tasks 12 update title=… desc=…\n/tasks 12 report https://… 备注\n/tasks 12 approve 备注\n"
                  "/tasks 12 reject 备注",
    "events_none": "没有这样的动态。",
    "events": "最新动态：",
    "events_how": "请写 /events、/events 20、/events approved 或 /events rejected 20。类型：{types}。最多 {most} 条。",
    "events_cut": "（另有 {count} 条较早的放不下）",
    "events_far": "（更早可能还有）",
    "pong": "在。{events}{chat}",
    "polling": "每 {seconds} 秒查看一次动态。",
    "not_polling": "目前不查看动态：启动时后端未通过检查。后端恢复后，请管理者重新启动机器人。",
    "help": "/bind 代码：把此聊天绑定到您\n/unbind：解除绑定\n/whoami：您在这里是谁\n"
            "/tasks：您的任务；/tasks help：可以做什么\n/events：最新动态\n/ping：机器人是否正常\n\n"
            "空位提醒：/watch、/unwatch、/list、/snooze、/stop",
    "unknown": "没有 {name} 这个命令。",
    "alerts_away": "目前无法使用空位提醒。请稍后再试。",
    "alerts_none": "这里没有空位提醒。",
})  # fmt: skip
WORDS: Final[Mapping[str, Mapping[str, str]]] = MappingProxyType({"en-US": _ENGLISH, "zh-CN": _CHINESE})


def say(locale: str, name: str, /, **facts: object) -> str:
    return WORDS[locale_of(locale)][name].format(**facts)


def has(locale: str, name: str) -> bool:
    return name in WORDS[locale_of(locale)]
