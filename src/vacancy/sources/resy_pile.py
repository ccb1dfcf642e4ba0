"""The pages for one party size as they come, unread for as long as they are the bytes that came the last time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import Final

import msgspec

from vacancy.model.availability import Failed, Trouble
from vacancy.sources.resy_listing import Listing
from vacancy.sources.resy_page import Reader

_DIGEST_BYTES: Final = 16
_Digests = Mapping[int, Sequence[bytes]]
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(dict[int, list[bytes]])


class Pile:
    """`known` are the digests of the pages of the last whole answer. Pages that begin like it go on like it: how many
    there are need not be read in them."""

    def __init__(self, reader: Reader, per_page: int, known: Sequence[bytes] = ()) -> None:
        self._reader = reader
        self._known = known
        self._listing = Listing(per_page)
        self._unread: list[bytes] = []
        self.digests: list[bytes] = []

    def add(self, body: bytes) -> Failed | None:
        self.digests.append(blake2b(body, digest_size=_DIGEST_BYTES).digest())
        self._unread.append(body)
        return None if self._goes_like_the_last() else self._read()

    @property
    def is_as_before(self) -> bool:
        return bool(self._known) and self.digests == self._known

    @property
    def is_over(self) -> bool:
        return self.is_as_before or self._listing.is_over

    def lack(self, reason: str) -> None:
        self._listing.lack(reason)

    def listing(self) -> Listing:
        """With all that came. What is unread yet could be read the last time."""
        self._read()
        return self._listing

    def _goes_like_the_last(self) -> bool:
        return self.digests == self._known[: len(self.digests)]

    def _read(self) -> Failed | None:
        unread, self._unread = self._unread, []
        for body in unread:
            page = self._reader.read(body)
            if isinstance(page, str):
                return Failed(Trouble.UNREADABLE, page)
            self._listing.add(page)
        return None


def write_mark(piles: Mapping[int, Pile]) -> bytes:
    """Of the bytes of all pages, for each party size."""
    return _ENCODER.encode({size: pile.digests for size, pile in piles.items()})


def read_mark(mark: bytes | None) -> _Digests:
    return _DECODER.decode(mark) if mark else {}
