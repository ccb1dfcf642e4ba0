"""`/api/admin`: what an operator sees and does about delivery. Everything here needs `web.admin_token`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Body, Depends, Path, Query, Request
from starlette.responses import Response

from vacancy.clock import iso
from vacancy.errors import UserError
from vacancy.store import outbox, queue_view, requeue, sending
from vacancy.store.engine import Tx
from vacancy.store.outbox import Kept
from vacancy.store.queue_view import STATUSES, Message, Note, Outside
from vacancy.store.requeue import Verdict
from vacancy.store.sending import Halt
from vacancy.subscriptions.standing import NOT_REQUEUED, shown, shown_halt, shown_note
from vacancy.web.api.admin_bodies import (
    ChannelName,
    MailPage,
    MailWhole,
    MessagePage,
    MessageShown,
    MessageWhole,
    RequeueAsked,
    RequeuedShown,
    SendingShown,
    Status,
    StopAsked,
)
from vacancy.web.context import HouseDep
from vacancy.web.errors import documented
from vacancy.web.operators import admin_only
from vacancy.web.trace import trace_id

_LARGEST: Final = 2**63 - 1
_ID = Annotated[int, Path(ge=1, le=_LARGEST)]
_Limit = Annotated[int, Query(ge=1, le=200, description="How many at most.")]
_BODY: Final[dict[int | str, dict[str, Any]]] = {400: documented("validation_failed")[422]}

router = APIRouter(
    prefix="/api/admin",
    tags=["admin"],
    dependencies=[Depends(admin_only)],
    responses=documented("unauthorized", "admin_closed", "validation_failed", "rate_limited"),
)


@router.get("/queue", summary="Messages that wait, failed, or are done", response_model=MessagePage)
async def queue_page(
    house: HouseDep,
    status: Annotated[Status | None, Query(description="Only those in this state.")] = None,
    channel: Annotated[ChannelName | None, Query(description="Only those of this channel.")] = None,
    limit: _Limit = 50,
    after_id: Annotated[int, Query(ge=0, le=_LARGEST, description="The last one you have.")] = 0,
) -> Response:
    """In order of their numbers. `standing` says of each what it waits for, or why it failed."""
    statuses = STATUSES if status is None else (status,)
    found, outside = await house.store.read(_page, statuses, channel, limit, after_id)
    items = [shown(each, outside) for each in found]
    return _json({"items": items, "nextAfterId": found[-1].notification_id if found else after_id})


# Before the address of one message, which would take `requeue` for a number.
@router.post("/queue/requeue", summary="All dead letters from the start", response_model=RequeuedShown,
             responses=_BODY)  # fmt: skip
async def requeue_dead(
    request: Request, house: HouseDep, asked: Annotated[RequeueAsked | None, Body()] = None
) -> Response:  # fmt: skip
    """Of one channel or of all, that failed with this code or with any. Without a body, all of them."""
    wanted = asked or RequeueAsked()
    count = await house.store.write(_requeue_dead, wanted.channel, wanted.code)
    return _json({"requeued": count, "traceId": trace_id(request.scope)})


@router.get("/queue/{notification_id}", summary="One message, with its audit", response_model=MessageWhole,
            responses=documented("message_not_found"))  # fmt: skip
async def queue_one(house: HouseDep, notification_id: _ID) -> Response:
    return _json(await house.store.read(_whole, notification_id))


@router.post("/queue/{notification_id}/requeue", summary="One message from the start", response_model=MessageShown,
             responses=documented("message_not_found", "message_in_hand", "message_sent"))  # fmt: skip
async def requeue_one(house: HouseDep, notification_id: _ID) -> Response:
    """As if it had never been tried: pending, no attempts, no error, at once. One that was sent is not sent again
    (`message_sent`), one that is being sent is left alone (`message_in_hand`)."""
    return _json(await house.store.write(_requeue, notification_id))


@router.get("/sending", summary="Whether anything goes out", response_model=SendingShown)
async def sending_state(house: HouseDep) -> Response:
    return _json(shown_halt(await house.store.read(sending.halt)))


@router.post("/sending/stop", summary="Stop all sending", response_model=SendingShown, responses=_BODY)
async def stop_sending(house: HouseDep, asked: Annotated[StopAsked | None, Body()] = None) -> Response:
    """No row is lost: what waits goes on waiting. What is being sent this moment is seen to its end."""
    return _json(shown_halt(await house.store.write(_stop, (asked or StopAsked()).reason)))


@router.post("/sending/resume", summary="Let sending go on", response_model=SendingShown)
async def resume_sending(house: HouseDep) -> Response:
    """What closed meanwhile is told to nobody. To resume what was not stopped changes nothing."""
    await house.store.write(sending.resume)
    return _json(shown_halt(None))


@router.get("/outbox", summary="Mails that are kept in the outbox", response_model=MailPage)
async def outbox_page(
    house: HouseDep,
    limit: _Limit = 50,
    before_id: Annotated[int | None, Query(ge=1, le=_LARGEST, description="The oldest one you have.")] = None,
) -> Response:
    """Newest first."""
    kept = await house.store.read(outbox.latest, limit, before_id)
    oldest = kept[-1].outbox_id if len(kept) == limit else None
    return _json({"items": [_mail(each) for each in kept], "nextBeforeId": oldest})


@router.get("/outbox/{outbox_id}", summary="One mail, whole", response_model=MailWhole,
            responses=documented("mail_not_found"))  # fmt: skip
async def outbox_one(house: HouseDep, outbox_id: _ID) -> Response:
    """Its links are live: whoever reads it may confirm and unsubscribe."""
    kept = await house.store.read(outbox.find, outbox_id)
    if kept is None:
        raise UserError("mail_not_found", f"there is no mail {outbox_id} in the outbox; it may have been pruned")
    return _json({**_mail(kept), "traceId": kept.mail.trace_id, "text": kept.mail.text, "html": kept.mail.html})


def _page(
    tx: Tx, statuses: Sequence[str], channel: str | None, limit: int, after_id: int
) -> tuple[Sequence[Message], Outside]:
    return queue_view.messages(tx, statuses, channel, limit, after_id), queue_view.outside(tx)


def _whole(tx: Tx, notification_id: int) -> dict[str, Any]:
    found = _message(tx, notification_id)
    mail = outbox.find_sent(tx, found.provider_message_id) if found.provider_message_id else None
    notes: Sequence[Note] = queue_view.audit_of(tx, found.subscription_id)
    return {
        **shown(found, queue_view.outside(tx)), "dedupeKey": found.dedupe_key, "outboxId": mail,
        "audit": [shown_note(note) for note in notes],
    }  # fmt: skip


def _requeue(tx: Tx, notification_id: int) -> dict[str, Any]:
    verdict = requeue.requeue(tx, tx.now(), notification_id)
    if verdict is not Verdict.REQUEUED:
        code, line = NOT_REQUEUED[verdict]
        raise UserError(code, line.format(number=notification_id))
    return shown(_message(tx, notification_id), queue_view.outside(tx))


def _message(tx: Tx, notification_id: int) -> Message:
    found = queue_view.message(tx, notification_id)
    if found is None:
        code, line = NOT_REQUEUED[Verdict.MISSING]
        raise UserError(code, line.format(number=notification_id))
    return found


def _requeue_dead(tx: Tx, channel: str | None, code: str | None) -> int:
    return requeue.requeue_dead(tx, tx.now(), channel, code)


def _stop(tx: Tx, reason: str) -> Halt:
    return sending.stop(tx, tx.now(), reason)


def _mail(kept: Kept) -> dict[str, Any]:
    mail = kept.mail
    return {
        "outboxId": kept.outbox_id, "createdAt": iso(kept.created_at), "toAddress": mail.to_address,
        "subject": mail.subject, "templateId": mail.template_id, "locale": mail.locale, "messageId": mail.message_id,
    }  # fmt: skip


def _json(body: Any) -> Response:
    return Response(msgspec.json.encode(body), media_type="application/json", headers={"Cache-Control": "no-store"})
