"""`vacancy outbox …`: the mails that are kept here instead of being sent."""

from __future__ import annotations

from pathlib import Path

from rich.markup import escape
from rich.table import Table

from vacancy.clock import iso
from vacancy.commands.common import ERR, OUT, as_json, opened, prepare
from vacancy.errors import UserError, VacancyError
from vacancy.store import outbox
from vacancy.store.outbox import Kept
from vacancy.subscriptions.standing import at


def show(config: Path | None, limit: int, *, json: bool) -> int:
    settings = prepare(config)
    with opened(settings) as store:
        kept = store.read_now(outbox.latest, limit)
    if json:
        as_json({"items": [_facts(each) for each in kept]})
        return 0
    if not kept:
        OUT.print("The outbox is empty: no mail was written yet.")
    else:
        table = Table("N", "Written", "To", "Subject", box=None, pad_edge=False)
        for each in kept:
            table.add_row(str(each.outbox_id), at(each.created_at), escape(each.mail.to_address),
                          escape(each.mail.subject))  # fmt: skip
        OUT.print(table)
        OUT.print("`vacancy outbox show N` shows one; the page /outbox shows them as their readers see them.")
    if settings.email.provider != "outbox":
        ERR.print(f"New mails are not kept here: email.provider is {settings.email.provider}.")
    return 0


def show_one(config: Path | None, number: int, html: Path | None, *, json: bool) -> int:
    with opened(prepare(config)) as store:
        kept = store.read_now(outbox.find, number)
    if kept is None:
        raise UserError("mail_not_found", f"there is no mail {number} in the outbox; see `vacancy outbox list`")
    if html is not None:
        _write(html, kept.mail.html)
        ERR.print(f"Mail {number} is in {html}.", markup=False, soft_wrap=True)
    elif json:
        as_json({**_facts(kept), "text": kept.mail.text, "html": kept.mail.html})
    else:
        for name, value in (("To", kept.mail.to_address), ("Subject", kept.mail.subject), ("Date", at(kept.created_at)),
                            ("Message-ID", kept.mail.message_id)):  # fmt: skip
            OUT.print(f"{name}: {value}", markup=False, soft_wrap=True)
        OUT.print(f"\n{kept.mail.text}", markup=False, soft_wrap=True)
    return 0


def _write(to: Path, html: str) -> None:
    try:
        with to.open("x", encoding="utf-8") as file:
            file.write(html)
    except FileExistsError as error:
        raise VacancyError(f"{to} exists already; a mail never overwrites a file") from error
    except OSError as error:
        raise VacancyError(f"cannot write {to}: {error.strerror}") from error


def _facts(kept: Kept) -> dict[str, object]:
    mail = kept.mail
    return {
        "outboxId": kept.outbox_id, "createdAt": iso(kept.created_at), "toAddress": mail.to_address,
        "subject": mail.subject, "templateId": mail.template_id, "locale": mail.locale, "messageId": mail.message_id,
        "traceId": mail.trace_id,
    }  # fmt: skip
