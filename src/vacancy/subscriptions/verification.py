"""Double opt-in: a signed link that only its owner has, good for a day and for one time, confirmed by a POST."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from itsdangerous import BadSignature, SignatureExpired, TimestampSigner, URLSafeTimedSerializer

from vacancy.clock import Clock
from vacancy.errors import UserError
from vacancy.model.subscriptions import Contact, Status, Subscription
from vacancy.store import ids, notifications
from vacancy.store import subscriptions as rows
from vacancy.store.engine import Tx
from vacancy.subscriptions.contacts import Secret, is_same
from vacancy.subscriptions.rules import CONFIRM_WITHIN, Desk
from vacancy.subscriptions.running import look_again
from vacancy.subscriptions.subscribe import ask_to_confirm

_PURPOSE: Final = "verification link"
_LONGEST: Final = 512


class Links:
    """Signs and reads links by our clock."""

    def __init__(self, secret: Secret, clock: Clock) -> None:
        self._serializer = URLSafeTimedSerializer(
            secret.derive(_PURPOSE), salt=_PURPOSE, signer=_signer(clock), signer_kwargs={"key_derivation": "hmac"}
        )

    def sign(self, subscription: Subscription) -> str:
        return self.sign_for(subscription.subscription_id, subscription.verification_nonce or "")

    def sign_for(self, subscription_id: int, nonce: str) -> str:
        token: str = self._serializer.dumps([subscription_id, nonce])
        return token

    def read(self, token: str) -> tuple[int, str]:
        try:
            said: Any = self._serializer.loads(token[:_LONGEST], max_age=int(CONFIRM_WITHIN.total_seconds()))
        except SignatureExpired as error:
            raise UserError("link_expired", "this link is older than a day; ask for a new one") from error
        except BadSignature as error:
            raise UserError("link_invalid", "this link is not one of ours; it may have been cut off") from error
        return int(said[0]), str(said[1])


def _signer(clock: Clock) -> type[TimestampSigner]:
    class OurClock(TimestampSigner):
        def get_timestamp(self) -> int:
            return int(clock.now().timestamp())

    return OurClock


def verify(tx: Tx, desk: Desk, subscription_id: int, nonce: str) -> Sequence[Subscription]:
    """The link proves the address, not one wish: everything that it asked for begins, even if the one that the link
    was made for has been left since."""
    ids.hold_edges_off(tx)
    named = rows.find(tx, subscription_id)
    kept = named.verification_nonce if named is not None else None
    if named is None or not kept or not is_same(nonce, kept):
        raise _used_up()
    verified = confirm(tx, desk, named.contact_hash, named.contact_type)
    if not verified:
        raise _used_up()
    rows.forget_link(tx, subscription_id)
    return verified


def confirm(tx: Tx, desk: Desk, contact_hash: str, channel: str) -> Sequence[Subscription]:
    """The caller knows that this contact itself wants it, and holds edges off. What began by it."""
    now = tx.now()
    verified = []
    for subscription in rows.of_contact(tx, contact_hash, channel):
        if subscription.status != Status.PENDING:
            continue
        rows.move(tx, now, subscription, Status.ACTIVE, event="verified", reason="confirmed by its owner",
                  is_verified=True, verification_nonce=None)  # fmt: skip
        begun = rows.read(tx, subscription.subscription_id)
        notifications.drop_verification(tx, begun.subscription_id)
        look_again(tx, now, desk, begun)
        verified.append(begun)
    return verified


def _used_up() -> UserError:
    return UserError("link_expired", "this link was used already, or the subscription has ended")


def ask_again(tx: Tx, contact: Contact) -> None:
    """The same answer whether or not anybody waits: it tells nothing of who has subscribed."""
    waiting = [row for row in rows.of_contact(tx, contact.hash, contact.channel) if row.status == Status.PENDING]
    if waiting:
        ask_to_confirm(tx, tx.now(), waiting[-1])
