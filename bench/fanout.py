"""One event to 100,000 subscriptions, in chunks that survive a crash, beside one bare INSERT ... SELECT."""

from __future__ import annotations

from typing import Final

from sqlalchemy import text

from bench.common import Cost, Row, Stopwatch, quiet_folder, typical
from bench.scene import KEY, POSTGRES, SQLITE, TOPIC, Scene, opened
from vacancy.app import spare_the_collector

SUBSCRIBERS: Final = 100_000
_OTHERS: Final = 20_000
_TURNS: Final = 5
_BARE: Final = text(
    "INSERT INTO open_event_notifications (open_event_id, subscription_id, dedupe_key, channel, contact_hash, "
    "created_at) "
    "SELECT :event, subscription_id, 'key', contact_type, contact_hash, created_at FROM subscriptions "
    "WHERE topic = :topic AND status IN ('active', 'pending') AND last_known_section_status <> 'Open'"
)


def run() -> list[Row]:
    return [*_run(SQLITE, 0.55), *_run(POSTGRES, 0.75)]


def _run(kind: str, bar: float) -> list[Row]:
    with quiet_folder("fanout") as folder, opened(kind, folder) as store:
        scene = Scene(store)
        scene.invite(SUBSCRIBERS)
        scene.invite(_OTHERS, f"soc:{KEY}:00008", first=SUBSCRIBERS)
        scene.open()
        ours, bare = [], []
        for turn in range(_TURNS + 1):
            if turn == 1:
                spare_the_collector()
            one, other = _fan_out(scene), _insert(scene)
            if turn:
                ours.append(one)
                bare.append(other)
    mine, least = typical(ours).wall, typical(bare).wall
    return [Row(f"fanout, {kind}", SUBSCRIBERS / mine, "/s", SUBSCRIBERS / least, at_least=bar)]


def _fan_out(scene: Scene) -> Cost:
    scene.forget()
    with Stopwatch() as watch:
        queued = scene.fan_out()
    assert queued == scene.count() == SUBSCRIBERS
    return watch.cost


def _insert(scene: Scene) -> Cost:
    scene.forget()
    with Stopwatch() as watch:
        scene.store.write_now(lambda tx: tx.execute(_BARE, {"topic": TOPIC, "event": scene.event}))
    assert scene.count() == SUBSCRIBERS
    return watch.cost
