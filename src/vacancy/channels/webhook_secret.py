"""What signs a webhook's messages. Its owner is told it with the tokens of the subscription."""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Callable
from typing import Final

_PURPOSE: Final = "webhook signing"


def signing_secret(derive: Callable[[str], bytes], contact_hash: str, subscription_id: int) -> str:
    """Each subscription has its own. Were it the address's, whoever knows an address could subscribe it once more,
    be told its secret, and sign in our name from then on."""
    about = f"{contact_hash}|{subscription_id}".encode()
    return "whsec_" + base64.b64encode(hmac.new(derive(_PURPOSE), about, hashlib.sha256).digest()).decode()
