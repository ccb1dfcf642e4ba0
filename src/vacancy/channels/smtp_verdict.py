"""What a mail server's answer means for the mail, and what of it may be repeated."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from vacancy.channels.attempt import Attempt
from vacancy.channels.mail import ErrorCode, SendResult
from vacancy.channels.smtp_session import Answer, Stage, Way
from vacancy.logs import MASK, redact_text

# A server that says how long to wait says it in prose.
RATE_WAIT_S: Final = 30.0
LONGEST_REPLY: Final = 200
_GOING_AWAY: Final = 421
_WANTS_LOGIN: Final = frozenset({530, 534, 535, 538})
_REFUSES_RECIPIENT: Final = range(550, 557)
_MOVED_OR_MISSPELT: Final = frozenset({551, 553})
# RFC 3463 and 7505: no such mailbox, no such host, no such spelling, moved without a word, takes no mail at all.
_NO_SUCH_ADDRESS: Final = frozenset({"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"})
_ENHANCED: Final = re.compile(r"([245]\.\d{1,3}\.\d{1,3})(?:[ -]|$)")
_REPEATED: Final = re.compile(r"\n[245]\.\d{1,3}\.\d{1,3}[ -]")
_DOING: Final = {
    Stage.CONNECT: "did not open a connection",
    Stage.HELLO: "refused the greeting",
    Stage.TLS: "gave no secure connection",
    Stage.LOGIN: "refused the login",
    Stage.RESET: "could not begin anew",
    Stage.SENDER: "refused the sender",
    Stage.RECIPIENT: "refused the recipient",
    Stage.DATA: "refused the message",
    Stage.CONTENT: "refused the message",
}


@dataclass(frozen=True, slots=True)
class Reply:
    code: int
    enhanced: str
    text: str

    @property
    def numbers(self) -> str:
        return f"{self.code} {self.enhanced}".strip() if self.code else ""

    @property
    def is_about_policy(self) -> bool:
        """Rates among it: X.7.Z of RFC 3463."""
        return self.enhanced[1:4] == ".7."


def judge(attempt: Attempt, way: Way, answer: Answer, recipient: str = "") -> SendResult:
    reply = read(answer, (recipient, recipient.rpartition("@")[0], way.username or "", way.password or ""))
    message = f"{way.host}:{way.port} {_DOING[answer.stage]}: {reply.numbers} {reply.text}".replace(":  ", ": ").strip()
    begun = answer.stage >= Stage.RECIPIENT
    if answer.lost:
        return attempt.retryable("network_error", message, begun=begun)
    if _is_before(answer):
        return _of_the_channel(attempt, answer, reply, message)
    return _of_the_mail(attempt, answer, reply, message)


def _is_before(answer: Answer) -> bool:
    """Whether it says nothing about this mail. Who goes away before the content would not have taken any other."""
    if answer.stage < Stage.RECIPIENT or answer.code in _WANTS_LOGIN:
        return True
    return answer.code == _GOING_AWAY and answer.stage < Stage.CONTENT


def _of_the_channel(attempt: Attempt, answer: Answer, reply: Reply, message: str) -> SendResult:
    if answer.code in _WANTS_LOGIN or (answer.stage is Stage.LOGIN and not 400 <= answer.code < 500):
        return attempt.failed("unauthorized", message, detail=reply.numbers, begun=False)
    if not 400 <= answer.code < 500:
        return attempt.failed("provider_error", message, detail=reply.numbers, begun=False)
    if reply.is_about_policy and answer.stage is not Stage.LOGIN:
        return attempt.retryable("rate_limited", message, detail=reply.numbers, after_s=RATE_WAIT_S, begun=False)
    code: ErrorCode = "network_error" if answer.code == _GOING_AWAY else "provider_error"
    return attempt.retryable(code, message, detail=reply.numbers, begun=False)


def _of_the_mail(attempt: Attempt, answer: Answer, reply: Reply, message: str) -> SendResult:
    if 400 <= answer.code < 500:
        return attempt.retryable("provider_error", message, detail=reply.numbers)
    if not 500 <= answer.code < 600:
        return attempt.failed("unknown", message, detail=reply.numbers)
    # Refused by policy, such as a relay that does not know us: the address may be as good as any.
    is_recipients = answer.stage is Stage.RECIPIENT and answer.code in _REFUSES_RECIPIENT and not reply.is_about_policy
    if not is_recipients:
        return attempt.failed("provider_error", message, detail=reply.numbers)
    bounced = reply.enhanced in _NO_SUCH_ADDRESS or (not reply.enhanced and reply.code in _MOVED_OR_MISSPELT)
    return attempt.failed("invalid_recipient", message, detail=reply.numbers, bounced=bounced)


def read(answer: Answer, private: Iterable[str]) -> Reply:
    """Servers repeat addresses, whole or in part; neither those nor a login's words are passed on."""
    found = _ENHANCED.match(answer.text) if answer.code else None
    enhanced = found[1] if found else ""
    # What was no text on the wire must be text when it is kept.
    text = _REPEATED.sub(" ", answer.text[len(enhanced) :].encode(errors="replace").decode())
    for word in sorted({word for word in private if word}, key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(word)}(?!\w)", MASK, text, flags=re.IGNORECASE)
    text = redact_text(" ".join(text.split()))
    return Reply(answer.code, enhanced, text[:LONGEST_REPLY])
