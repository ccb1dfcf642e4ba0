"""Contacts and tokens: what identifies a person is kept where it is needed, compared as a keyed hash, never logged."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from vacancy.channels.base import Channel
from vacancy.errors import UserError
from vacancy.model.subscriptions import Contact


class Secret:
    """The server's key. Without it the hash of an address could be found by trying addresses."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def hash_contact(self, value: str) -> str:
        return hmac.new(self._key, value.strip().lower().encode(), hashlib.sha256).hexdigest()

    def derive(self, purpose: str) -> bytes:
        """A key of its own for each purpose, so that what signs one thing cannot be made to sign another."""
        return hmac.new(self._key, f"vacancy {purpose}".encode(), hashlib.sha256).digest()


def read_contact(secret: Secret, channel: Channel, text: str) -> Contact:
    try:
        value = channel.contact(text)
    except ValueError as problem:
        line = f"contactValue: {problem}"
        raise UserError("invalid_contact", line, [line]) from problem
    return Contact(channel.name, value, secret.hash_contact(value))


def masked(value: str) -> str:
    """Enough for its owner to know it by, and for nobody to write to."""
    name, at, domain = value.rpartition("@")
    # Behind the @ of a URL there may be tokens.
    return f"{name[:1]}…@{domain}" if at and "://" not in value else f"{value[:1]}…"


def masked_contact(channel: str, value: str | None) -> str | None:
    """The same for any channel: only of a mail address may more be shown, its domain. None where it was erased."""
    if value is None:
        return None
    return masked(value) if channel == "email" else masked(value[:1])


def new_token() -> str:
    """32 hex digits that nobody guesses."""
    return secrets.token_hex(16)


def is_same(given: str, kept: str) -> bool:
    """In a time that tells nothing of how much of it was right."""
    return hmac.compare_digest(given.encode(), kept.encode())
