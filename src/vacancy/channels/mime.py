"""A mail laid out once for many: what is the same for all lies ready as bytes, with slots for what is a person's own.

A slot in the words is a mark of noncharacters, which no value can have (see `words.one_line`). In the encoded body it
is `=[name]`, which quoted-printable cannot produce: there a `=` is followed by two hex digits or by a line's end.
"""

from __future__ import annotations

import binascii
import html
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email import policy
from email.header import Header
from email.mime.multipart import MIMEMultipart
from email.mime.nonmultipart import MIMENonMultipart
from email.utils import formataddr, parseaddr
from hashlib import sha256
from typing import Final, cast

from vacancy.channels.mail_templates import Words

_OPEN, _CLOSE = "\ufdd0", "\ufdd1"
_SLOT: Final = re.compile(f"{_OPEN}([a-z]+){_CLOSE}")
_ENCODED_SLOT: Final = re.compile(rb"=\[((?:text|html):[a-z]+)\]")
# Longer subjects are encoded, and with that folded, even where they are ASCII.
_LONGEST_PLAIN: Final = 60
_POLICY: Final = policy.compat32.clone(linesep="\r\n", mangle_from_=False)


def slot(name: str) -> str:
    return f"{_OPEN}{name}{_CLOSE}"


@dataclass(frozen=True, slots=True)
class Layout:
    """Pieces and names of slots in turn; the first and the last are pieces."""

    subject: str
    text: tuple[str, ...]
    html: tuple[str, ...]
    head: bytes
    body: tuple[bytes | str, ...]

    def text_for(self, values: Mapping[str, str]) -> str:
        return "".join(piece if at % 2 == 0 else values[piece] for at, piece in enumerate(self.text))

    def html_for(self, values: Mapping[str, str]) -> str:
        return "".join(piece if at % 2 == 0 else html.escape(values[piece]) for at, piece in enumerate(self.html))

    def raw_for(self, headers: Mapping[str, str], values: Mapping[str, str]) -> bytes:
        """`headers` are a person's own; whoever gives them has made sure that each is one line of ASCII."""
        own = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        filled = [piece if isinstance(piece, bytes) else _filling(piece, values) for piece in self.body]
        return b"".join((own.encode("ascii"), self.head, *filled))


def lay_out(words: Words, headers: Mapping[str, str]) -> Layout:
    subtype = MIMEMultipart("alternative", boundary=_boundary(words), policy=_POLICY)
    for name, value in headers.items():
        subtype[name] = value
    subtype["Subject"] = cast("str", _subject(words.subject))
    subtype.attach(_part("plain", "text", words.text))
    subtype.attach(_part("html", "html", words.html))
    # Apart, because a subject may well have the letters of an encoded slot in it.
    head, _, body = subtype.as_bytes(policy=_POLICY).partition(b"\r\n\r\n")
    pieces = _ENCODED_SLOT.split(body)
    return Layout(
        words.subject,
        tuple(_SLOT.split(words.text)),
        tuple(_SLOT.split(words.html)),
        head + b"\r\n\r\n",
        tuple(piece if at % 2 == 0 else piece.decode() for at, piece in enumerate(pieces)),
    )


def sender_header(sender: str) -> str:
    """`Name <a@b.example>` in any alphabet, as a header has it. ValueError when there is no address in it."""
    name, address = parseaddr(sender)
    if not is_mailable(address):
        raise ValueError("must be a mail address, such as Vacancy <alerts@example.org>")
    return formataddr((name, address), "utf-8")


def is_mailable(address: str) -> bool:
    """Whether it can stand bare in a header and in SMTP's own lines."""
    return re.fullmatch(r"[^@\x00-\x20\x7f-\U0010ffff<>()\[\],;:\\\"]+@[A-Za-z0-9.\-]+", address) is not None


def _part(subtype: str, kind: str, words: str) -> MIMENonMultipart:
    part = MIMENonMultipart("text", subtype, policy=_POLICY, charset="utf-8")
    del part["MIME-Version"]
    part["Content-Transfer-Encoding"] = "quoted-printable"
    part.set_payload("".join(_encoded_pieces(kind, _SLOT.split(words))))
    return part


def _encoded_pieces(kind: str, pieces: list[str]) -> Iterator[str]:
    """A soft line break before and after each slot: the piece after it begins a line, so no line grows too long."""
    for at, piece in enumerate(pieces):
        yield _quoted(piece).decode("ascii") if at % 2 == 0 else f"=\n=[{kind}:{piece}]=\n"


def _filling(name: str, values: Mapping[str, str]) -> bytes:
    kind, _, slot_name = name.partition(":")
    value = values[slot_name]
    return _quoted(html.escape(value) if kind == "html" else value).replace(b"\n", b"\r\n")


def _quoted(text: str) -> bytes:
    return binascii.b2a_qp(text.encode("utf-8"), quotetabs=False, istext=True, header=False)


def _subject(subject: str) -> Header:
    """Encoded whenever a reader could take it for something else: folded, or encoded already."""
    plain = subject.isascii() and len(subject) <= _LONGEST_PLAIN and "=?" not in subject
    return Header(subject, "us-ascii" if plain else "utf-8", header_name="Subject")


def _boundary(words: Words) -> str:
    """`=_` cannot be in quoted-printable, so neither body has it; no chance is needed."""
    digest = sha256(f"{words.text}\0{words.html}".encode()).hexdigest()
    return f"=_{digest[:24]}"
