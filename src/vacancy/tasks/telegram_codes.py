"""A code that makes a chat a user's: short, for a person types it; once, and for half an hour."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from vacancy.model.tasks import User
from vacancy.store import people, telegram_codes
from vacancy.store.engine import Tx
from vacancy.tasks import refusals
from vacancy.tasks.refusals import refusal
from vacancy.tasks.workflow import caller

GOOD_FOR: Final = timedelta(minutes=30)
PURPOSE: Final = "telegram code"
_BYTES: Final = 4
_NOT_TYPED: Final = re.compile(r"[\s-]+")


class Issued(NamedTuple):
    code: str
    expires_at: datetime


def issue(tx: Tx, key: bytes, user_id: int) -> Issued:
    """The user's last code is good no more."""
    user, expires_at = caller(tx, user_id), tx.now() + GOOD_FOR
    code = _new()
    while telegram_codes.is_taken(tx, _hash(key, code)):
        code = _new()
    telegram_codes.put(tx, user.user_id, _hash(key, code), expires_at)
    return Issued(f"{code[:4]}-{code[4:]}", expires_at)


def consume(tx: Tx, key: bytes, typed: str) -> User:
    """Whose it is. All that is not good has one answer: it tells nobody that a code was nearly right."""
    user_id = telegram_codes.use(tx, tx.now(), _hash(key, _NOT_TYPED.sub("", typed).upper()))
    user = None if user_id is None else people.find_user(tx, user_id)
    if user is None or not user.is_active:
        raise refusal(refusals.CODE_INVALID)
    return user


def _new() -> str:
    return secrets.token_hex(_BYTES).upper()


def _hash(key: bytes, code: str) -> str:
    # Keyed: 32 bits are found by trying them all.
    return hmac.new(key, code.encode(), hashlib.sha256).hexdigest()
