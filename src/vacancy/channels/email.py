"""Mail."""

from __future__ import annotations

import re
from email.utils import parseaddr
from functools import lru_cache
from typing import Final, Protocol

from email_validator import EmailNotValidError, validate_email

from vacancy.channels.base import Kit, Pace
from vacancy.channels.bucket import Bucket
from vacancy.channels.letters import Letters
from vacancy.channels.mail import MailMessage, MailSender, SendError, SendResult
from vacancy.channels.outbox import OutboxSender
from vacancy.channels.reliable import ReliableMailSender
from vacancy.channels.sendgrid import SendgridSender
from vacancy.channels.smtp import smtp_sender
from vacancy.model.messages import Blocked, Dead, Outcome, Parcel, Retry, Sent
from vacancy.settings_sections import EmailSettings

NAME = "email"
DRY_RUN: Final = "dry-run"
_LONGEST = 254
# Somebody's data cannot be helped; a template is ours.
_NOBODYS_FAULT: Final = frozenset({"invalid_recipient", "validation_error"})
# Nothing that could end a header or begin a second address.
_ADDRESS: Final = re.compile(r"[^\s<>,;:\"\x00-\x1f\x7f@]+@[^\s<>,;:\"\x00-\x1f\x7f@]+")
_UNNAMED: Final = SendError("unknown", "the provider gave no reason")


class Writer(Protocol):
    """Lays a parcel out as a mail, or says why no mail can be made of it."""

    def write(self, parcel: Parcel) -> MailMessage | Dead: ...


class Email:
    name = NAME
    verifies = True

    def __init__(self, letters: Writer, sender: MailSender, settings: EmailSettings, pace: Pace) -> None:
        self.pace = pace
        self._letters = letters
        self._sender = sender
        self._dry_run = settings.dry_run

    def contact(self, text: str) -> str:
        """`Name <A@B.example>` and `a@b.example` are one address: a name is dropped, the whole is lower-cased."""
        if len(text) > _LONGEST:
            raise ValueError(f"must be at most {_LONGEST} characters")
        try:
            # Whether the domain takes mail is found out by mailing, not by asking name servers for strangers.
            found = validate_email(text.strip(), allow_display_name=True, check_deliverability=False,
                                   test_environment=True)  # fmt: skip
        except EmailNotValidError as problem:
            raise ValueError(str(problem)) from problem
        return found.normalized.lower()

    async def send(self, parcel: Parcel) -> Outcome:
        message = self._letters.write(parcel)
        if isinstance(message, Dead):
            return message
        trouble = self._check(message)
        if trouble is not None:
            return trouble
        if self._dry_run:
            return Sent(self._sender.provider, DRY_RUN)
        return outcome_of(await self._sender.send(message), message)

    async def probe(self) -> Blocked | None:
        result = await self._sender.verify()
        return None if result.status == "sent" else _blocked(result, result.error or _UNNAMED)

    async def close(self) -> None:
        await self._sender.close()

    def _check(self, message: MailMessage) -> Dead | None:
        """What no provider would take, found before one is asked, and in a dry run too."""
        provider = self._sender.provider
        if not _ADDRESS.fullmatch(message.to):
            return Dead("invalid_recipient", "the recipient is not an address", provider=provider)
        for setting, text in (("sender", message.sender), ("reply_to", message.reply_to)):
            if text is not None and not _has_address(text):
                return Dead("validation_error", f"email.{setting} is not an address", alarm=True, provider=provider)
        return None


@lru_cache(maxsize=16)  # all mails of a house have one
def _has_address(text: str) -> bool:
    return _ADDRESS.fullmatch(parseaddr(text)[1]) is not None


def outcome_of(result: SendResult, message: MailMessage) -> Outcome:
    if result.status == "sent":
        return Sent(result.provider, result.provider_message_id or message.message_id)
    error = result.error or _UNNAMED
    if not result.begun:
        return _blocked(result, error)
    if result.status == "retryable":
        return Retry(error.code, error.message, result.retry_after_s, result.provider)
    return Dead(
        error.code,
        error.message,
        alarm=error.code not in _NOBODYS_FAULT,
        contact_is="bounced" if error.bounced else None,
        provider=result.provider,
    )


def _blocked(result: SendResult, error: SendError) -> Blocked:
    after_s = result.retry_after_s if error.code == "rate_limited" else None
    return Blocked(error.code, error.message, after_s, result.provider)


def build(kit: Kit) -> Email:
    return build_with(kit, Letters(kit.settings, kit.clock))


def build_with(kit: Kit, letters: Writer) -> Email:
    rate = kit.settings.delivery.email_per_second
    pace = Pace(rate, burst=max(1, round(rate)))
    bucket = Bucket(kit.clock, per_second=pace.per_second, burst=pace.burst)
    sender = ReliableMailSender(_provider(kit), kit.clock, kit.dice, bucket)
    return Email(letters, sender, kit.settings.email, pace)


def _provider(kit: Kit) -> MailSender:
    settings = kit.settings.email
    if settings.provider == "smtp":
        return smtp_sender(settings, kit.clock)
    if settings.provider == "sendgrid":
        key = settings.sendgrid_api_key
        return SendgridSender(
            kit.client,
            kit.clock,
            base_url=settings.sendgrid_base_url,
            api_key=key.get_secret_value() if key else "",
            timeout_s=settings.timeout_s,
        )
    return OutboxSender(kit.store, kit.clock)
