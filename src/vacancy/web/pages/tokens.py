"""Tokens out of links."""

from __future__ import annotations

import re
from typing import Final

from vacancy.errors import UserError

_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{16,128}")


def checked(token: str) -> str:
    """What cannot be a token is not looked for; a database refuses some of it with an error."""
    if not _TOKEN.fullmatch(token):
        raise UserError("subscription_not_found", "there is no such subscription, or the token is not its own")
    return token
