"""What a page's form sends: read whole, or refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import ClientDisconnect, Request

from vacancy.errors import UserError

_MOST_BYTES: Final = 16 * 1024
_MOST_FIELDS: Final = 64
_KIND: Final = "application/x-www-form-urlencoded"


async def read_form(request: Request) -> Mapping[str, str]:
    """The fields by name; of one that came twice, the first."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != _KIND:
        raise _refused(f"the form must come as {_KIND}")
    try:
        text = (await _body(request)).decode("utf-8", "replace")
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise _refused(f"the form must have at most {_MOST_FIELDS} fields") from error
    return {name: values[0] for name, values in fields.items()}


async def _body(request: Request) -> bytes:
    body = bytearray()
    try:
        async for chunk in request.stream():
            body += chunk
            if len(body) > _MOST_BYTES:
                raise _refused(f"the form must be at most {_MOST_BYTES} bytes")
    except ClientDisconnect as error:
        raise _refused("the form was cut off") from error
    return bytes(body)


def _refused(line: str) -> UserError:
    return UserError("validation_failed", line, [line])
