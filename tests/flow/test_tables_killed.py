"""A table is for more people than before, and the process that saw it dies: who asked for as many hears of it, once."""

from __future__ import annotations

import asyncio
import signal
from datetime import datetime
from zoneinfo import ZoneInfo

import msgspec
import pytest
from sqlalchemy import select

from tests.flow.test_json_alerts import Home
from tests.flow.test_kills import environment, run
from tests.flow.victim import MOMENTS_OF_WORDS
from tests.simulator.harness import running
from tests.web.calling import begin
from vacancy.app import engine
from vacancy.settings import load
from vacancy.simulator.resy_world import FIRST_NUMBER
from vacancy.store.engine import Tx
from vacancy.store.schema import open_event_notifications
from vacancy.web.app import create_app
from vacancy.web.context import House

TIME = "20:30"
TOPIC = f"resy:venue/{FIRST_NUMBER}"


def statuses(tx: Tx) -> list[str]:
    return list(tx.execute(select(open_event_notifications.c.fanout_status)).scalars())


@pytest.mark.parametrize("moment", MOMENTS_OF_WORDS)
def test_killed_between_the_new_words_and_those_who_wait_for_them(database_url: str, moment: str) -> None:
    day = datetime.now(ZoneInfo("America/New_York")).date().isoformat()

    async def story() -> None:
        async with running() as rig:
            simulator, tables = rig.simulator, rig.simulator.resy.tables
            tables.close_all(day, FIRST_NUMBER)
            resy = {"enabled": True, "base_url": simulator.resy_url, "time_slots": [TIME], "window_days": 1}
            settings = load(None, {}, {
                "database_url": database_url, "secret_key": "a key for tests", "resy": resy,
                "subscriptions.verify": False,
            })  # fmt: skip
            async with engine(settings) as parts:
                house = House(parts.store, settings, parts.clock, parts.desk(), dict, intervals=parts.intervals)
                app = create_app(house)
                home = Home(parts, app, rig)
                try:
                    for _ in range(3):
                        await home.poll()
                    wish = {"topic": TOPIC, "contactType": "email", "contactValue": "ada@example.com",
                            "preferences": {"partySize": 4}}  # fmt: skip
                    said = {"content-type": "application/json"}
                    answer = await begin(app, "/api/subscribe", "POST", said, msgspec.json.encode(wish)).answer()
                    assert answer.status == 201, answer.error
                    tables.open(day, FIRST_NUMBER, TIME)
                    tables._sizes[day, FIRST_NUMBER, TIME] = (2,)
                    await home.poll()
                    assert await home.deliver() == {}
                    assert parts.store.read_now(statuses) == ["skipped"]
                    tables._sizes[day, FIRST_NUMBER, TIME] = (2, 4)
                    env = environment(parts.store, simulator, VACANCY_RESY__ENABLED="true", VACANCY_SOC__TERMS="",
                                      VACANCY_RESY__BASE_URL=simulator.resy_url, VACANCY_RESY__TIME_SLOTS=TIME,
                                      VACANCY_RESY__WINDOW_DAYS="1", VACANCY_SECRET_KEY="a key for tests")  # fmt: skip
                    assert await run(env, "-m", "tests.flow.victim", moment) == -signal.SIGKILL
                    left = parts.store.read_now(statuses)
                    assert left == ["skipped" if moment == "inside_the_new_words" else "pending"]
                    await home.poll()
                    mails = await home.deliver()
                    assert list(mails) == ["ada@example.com"]
                    assert "8:30 PM" in mails["ada@example.com"].text
                    await home.poll()
                    await home.deliver()
                    assert parts.store.read_now(statuses) == ["sent"]
                finally:
                    app.state.feed.close()

    asyncio.run(story())
