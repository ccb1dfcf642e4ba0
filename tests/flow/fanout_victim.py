"""A process that fans out what there is, a line for each chunk, until nothing is left or somebody kills it."""

from __future__ import annotations

import sys

from vacancy.clock import SystemClock
from vacancy.pipeline.fanout import fan_out_some
from vacancy.store.engine import Store


def main(url: str, chunk: int) -> None:
    store = Store(url, SystemClock())
    while True:
        fanned = store.write_now(fan_out_some, chunk)
        print(fanned.queued, flush=True)  # noqa: T201
        if not fanned.more:
            return


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
