"""From an event to the last of 10,000 mails in a fast sink, every row of the queue durable on its way.

The references: sending alone, with the same mails as ready bytes over as many kept connections; and the way hobby bots
do it, a row, a template, a message and a connection at a time.
"""

from __future__ import annotations

import asyncio
import smtplib
import sqlite3
from collections.abc import Sequence
from email.message import EmailMessage
from pathlib import Path
from typing import Any, Final, cast

from aiosmtplib import SMTP
from jinja2 import Template

from bench.common import Cost, Row, Stopwatch, child, quiet_folder, typical
from bench.scene import SQLITE, Scene, opened
from vacancy.app import spare_the_collector
from vacancy.channels import email
from vacancy.channels.base import Channel, Kit
from vacancy.channels.letters import Letters
from vacancy.channels.mail import MailMessage
from vacancy.clock import Dice, SystemClock
from vacancy.model.messages import Outcome, Parcel, Sent
from vacancy.net.client import Client
from vacancy.runner import Stop
from vacancy.settings import Settings
from vacancy.settings_sections import DeliverySettings, EmailSettings
from vacancy.store.engine import connect_sqlite

PEOPLE: Final = 10_000
_ONE_BY_ONE: Final = 200
_TURNS: Final = 3
_TEXT: Final = """{{ courseTitle }} (index {{ sectionIndex }}) is open.
{% for link in links %}{{ link }}
{% endfor %}Manage: {{ manageUrl }}
"""
_HTML: Final = """<!doctype html><html><body style="font-family: sans-serif"><h1>{{ courseTitle }}</h1>
<p>Section {{ sectionIndex }} is <strong>open</strong>.</p><ul>{% for link in links %}
<li><a href="{{ link }}">{{ link }}</a></li>{% endfor %}</ul><p><a href="{{ manageUrl }}">Manage</a></p></body></html>
"""


def run() -> list[Row]:
    with quiet_folder("mails") as folder, child("-m", "bench.sink") as sink, opened(SQLITE, folder) as store:
        port = int(sink.line())
        scene = Scene(store)
        scene.invite(PEOPLE)
        scene.open()
        ready = _ready(scene, port)
        spare_the_collector()
        ours, sending, naive = [], [], []
        for _ in range(_TURNS):
            scene.forget()
            ours.append(asyncio.run(_told(scene, port)))
            sending.append(asyncio.run(_sent(ready, port)))
            naive.append(_one_by_one(folder, port))
    rate, most, bots = PEOPLE / typical(ours).wall, PEOPLE / typical(sending).wall, _ONE_BY_ONE / typical(naive).wall
    return [
        Row("mails, beside sending alone", rate, "/s", most, at_least=0.5),
        Row("mails, beside one at a time", rate, "/s", bots, at_least=8.0),
        Row("mails, CPU for each", typical(ours).cpu / PEOPLE * 1e6, "us", typical(sending).cpu / PEOPLE * 1e6),
    ]


def settings(port: int) -> Settings:
    return Settings(
        email=EmailSettings(provider="smtp", smtp_host="127.0.0.1", smtp_port=port, smtp_tls="none",
                            sender="Vacancy <alerts@vacancy.example>"),
        delivery=DeliverySettings(email_per_second=100_000),
    )  # fmt: skip


def mail_channel(port: int) -> Channel:
    clock = SystemClock()
    client = Client(clock, user_agent="vacancy/bench")
    return email.build(Kit(settings(port), clock, Dice(1), client, cast("Any", None), lambda _: b""))


async def _told(scene: Scene, port: int) -> Cost:
    channel = mail_channel(port)
    courier = scene.courier(channel)
    with Stopwatch() as watch:
        queued = scene.fan_out()
        await courier.once(Stop(scene.store.clock))
    await channel.close()
    assert scene.count("fanout_status = 'sent'") == queued == PEOPLE
    return watch.cost


class _Kept:
    """A channel that keeps what it would send."""

    def __init__(self, channel: Channel, letters: Letters) -> None:
        self.name, self.verifies, self.pace = channel.name, channel.verifies, channel.pace
        self.contact, self.probe, self.close = channel.contact, channel.probe, channel.close
        self.mails: list[MailMessage] = []
        self._letters = letters

    async def send(self, parcel: Parcel) -> Outcome:
        mail = self._letters.write(parcel)
        assert isinstance(mail, MailMessage), mail
        self.mails.append(mail)
        return Sent("bench", mail.message_id)


def _ready(scene: Scene, port: int) -> Sequence[MailMessage]:
    scene.again()
    kept = _Kept(mail_channel(port), Letters(settings(port), SystemClock()))
    asyncio.run(scene.courier(kept).once(Stop(scene.store.clock)))
    assert len(kept.mails) == PEOPLE
    return kept.mails


async def _sent(mails: Sequence[MailMessage], port: int) -> Cost:
    waiting = iter(mails)

    async def work() -> None:
        async with SMTP(hostname="127.0.0.1", port=port, use_tls=False, start_tls=False) as server:
            for mail in waiting:
                await server.sendmail("alerts@vacancy.example", [mail.to], mail.raw)

    with Stopwatch() as watch:
        await asyncio.gather(*(work() for _ in range(settings(port).email.smtp_connections)))
    return watch.cost


def _one_by_one(folder: Path, port: int) -> Cost:
    database = connect_sqlite(folder / "bots.db", read_only=False)
    database.execute("DROP TABLE IF EXISTS told")
    database.execute("CREATE TABLE told (who TEXT PRIMARY KEY, at TEXT NOT NULL)")
    with Stopwatch() as watch:
        for number in range(_ONE_BY_ONE):
            _tell_one(database, port, f"{number}@example.com")
    database.close()
    return watch.cost


def _tell_one(database: sqlite3.Connection, port: int, who: str) -> None:
    facts = {"courseTitle": "DATA STRUCTURES", "sectionIndex": "00007", "manageUrl": f"https://bot.example/{who}",
             "links": [f"https://sis.example/soc/{number}" for number in range(5)]}  # fmt: skip
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = "A seat is open", "alerts@vacancy.example", who
    message.set_content(Template(_TEXT).render(facts))
    message.add_alternative(Template(_HTML, autoescape=True).render(facts), subtype="html")
    with smtplib.SMTP("127.0.0.1", port) as server:
        server.send_message(message)
    database.execute("INSERT INTO told VALUES (?, datetime('now'))", (who,))
