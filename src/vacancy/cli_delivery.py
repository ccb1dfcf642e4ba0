"""Verbs of the operator's side of delivery: the queue, the switch, the outbox, and why somebody heard nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer

from vacancy.cli_common import Json, call

_STATUSES: Final = "pending, sent, skipped, failed or expired"

queue = typer.Typer(help="Messages: what waits and why, what failed, one more chance for it.", no_args_is_help=True)
sending = typer.Typer(help="One switch for all that goes out; nothing is lost by it.", no_args_is_help=True)
outbox = typer.Typer(help="Mails that are kept here instead of being sent.", no_args_is_help=True)

ChannelName = Annotated[str | None, typer.Option("--channel", help="Only this channel, such as email.")]
Number = Annotated[int, typer.Argument(metavar="N", min=1, max=2**63 - 1, help="Its number.")]


def add_to(app: typer.Typer) -> None:
    app.add_typer(queue, name="queue")
    app.add_typer(sending, name="sending")
    app.add_typer(outbox, name="outbox")
    app.command("why")(why)
    app.command("send-test")(send_test)


@queue.command("list")
def list_queue(
    context: typer.Context,
    status: Annotated[str | None, typer.Option(help=f"Only these: {_STATUSES}.")] = None,
    channel: ChannelName = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 50,
    json: Json = False,
) -> None:
    """How many there are of each, and what waits or failed, with the reason. Contacts are masked."""
    call("queue", "show", context, status=status, channel=channel, limit=limit, json=json)


@queue.command("show")
def show_message(context: typer.Context, number: Number, json: Json = False) -> None:
    """Everything of one message. Its contact is masked."""
    call("queue", "show_one", context, number, json=json)


@queue.command("requeue")
def requeue_messages(
    context: typer.Context,
    numbers: Annotated[
        list[int] | None, typer.Argument(metavar="N...", min=1, max=2**63 - 1, help="Messages, by their numbers.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="All that failed for good.")] = False,
    channel: ChannelName = None,
    code: Annotated[str | None, typer.Option(help="With --failed: only what failed with this code.")] = None,
    json: Json = False,
) -> None:
    """From the start, as if they had never been tried. Not what was sent, or is being sent this moment."""
    if failed == bool(numbers) or (numbers and (channel or code)):
        raise typer.BadParameter("give numbers, or --failed; --channel and --code go with --failed")
    if numbers:
        call("queue", "requeue_some", context, numbers, json=json)
    call("queue", "requeue_failed", context, channel, code, json=json)


@sending.command("stop")
def stop_sending(
    context: typer.Context,
    reason: Annotated[str, typer.Argument(help="Why; shown to whoever wonders.")] = "by hand",
    json: Json = False,
) -> None:
    """Nothing goes out from now on, through any channel. No message is lost."""
    call("sending", "stop", context, reason, json=json)


@sending.command("resume")
def resume_sending(context: typer.Context, json: Json = False) -> None:
    """Let it go on, at once."""
    call("sending", "resume", context, json=json)


@sending.command("status")
def sending_status(context: typer.Context, json: Json = False) -> None:
    """Whether it is stopped, since when and why, and how many messages wait."""
    call("sending", "status", context, json=json)


@outbox.command("list")
def list_outbox(
    context: typer.Context,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="How many at most.")] = 20,
    json: Json = False,
) -> None:
    """The last mails, newest first."""
    call("outbox", "show", context, limit, json=json)


@outbox.command("show")
def show_mail(
    context: typer.Context,
    number: Number,
    html: Annotated[
        Path | None, typer.Option("--html", metavar="FILE", help="Write its HTML to this file; it must not exist.")
    ] = None,
    json: Json = False,
) -> None:
    """One mail as text. Its links work: whoever reads it may confirm and unsubscribe."""
    call("outbox", "show_one", context, number, html, json=json)


def why(
    context: typer.Context,
    address: Annotated[str, typer.Argument(help="The contact, such as a mail address.")],
    contact_type: Annotated[str, typer.Option("--contact-type", help="How it is reached.")] = "email",
    event: Annotated[
        int | None, typer.Option("--event", min=1, max=2**63 - 1, help="Only about this event, by its number.")
    ] = None,
    json: Json = False,
) -> None:
    """Why somebody did or did not get a message."""
    call("why", "why", context, address, contact_type, event, json=json)


def send_test(
    context: typer.Context,
    channel: Annotated[str, typer.Argument(help="Such as email, telegram or webhook.")],
    contact: Annotated[str, typer.Argument(help="To whom: an address, a chat's number, a URL.")],
    locale: Annotated[str, typer.Option(help="Its language: en-US or zh-CN.")] = "en-US",
    json: Json = False,
) -> None:
    """Send a message that tells of nothing, and show what the provider truly answered."""
    call("send_test", "send_test", context, channel, contact, locale, json=json)
