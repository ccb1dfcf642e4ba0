"""What is not everybody's: the admin API, which takes a token; the outbox, whose mails hold live links; and what other
processes of this house ask."""

from __future__ import annotations

import base64
import binascii
import ipaddress
import re
from typing import Annotated, Final
from urllib.parse import urlsplit

from fastapi import Header
from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.types import Scope

from vacancy.channels.outbox import PROVIDER
from vacancy.errors import UserError
from vacancy.settings import Settings
from vacancy.settings_sections import is_loopback_host
from vacancy.subscriptions.contacts import is_same
from vacancy.web.context import House, HouseDep

_BEARER: Final = re.compile(r"(?i)bearer +(\S.*)")
_BASIC: Final = re.compile(r"(?i)basic +(\S+)")
# Behind a proxy everybody comes from this machine; these are what a proxy adds.
_FORWARDED: Final = ("forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip")
_FORWARDED_PREFIX: Final = "x-forwarded-"
# Browsers have spoken 1.1 for decades; a proxy of few words, which adds no header, speaks 1.0 to what is behind it.
_OLD_HTTP: Final = "1.0"
_NOT_LET_IN: Final = "unauthorized"


def admin_only(
    request: Request,
    house: HouseDep,
    authorization: Annotated[str | None, Header(description="`Bearer` and `web.admin_token`.")] = None,
) -> None:
    """A dependency of every address below /api/admin."""
    _check(house, request.scope, bearer(authorization))


def services_only(
    request: Request,
    house: HouseDep,
    authorization: Annotated[str | None, Header(description="`Bearer` and `tasks.service_token`.")] = None,
) -> None:
    """A dependency of what other processes of this house ask."""
    check_service(house, request.scope, authorization)


def check_service(house: House, scope: Scope, authorization: str | None, code: str = _NOT_LET_IN) -> None:
    """UserError with this code. Without a token only those on this very machine may ask."""
    token = house.settings.tasks.service_token
    if token is None:
        if not is_at_this_machine(scope, house.settings):
            raise UserError(code, "Only this machine is served here, until tasks.service_token is set.")
        return
    _compare(house, scope, bearer(authorization), token, "tasks.service_token", code)


def check_outbox(request: Request, house: House) -> None:
    """UserError unless this request may read mails. Without a token, only whoever sits at this very machine may."""
    settings = house.settings
    if settings.email.provider != PROVIDER:
        raise UserError("not_found", "mails are not kept in the outbox here")
    if settings.web.admin_token is not None:
        _check(house, request.scope, _basic_password(request.headers))
    elif not is_at_this_machine(request.scope, settings):
        raise UserError("admin_closed", "the outbox is open on this machine alone, until web.admin_token is set")


def may_look(request: Request, house: House) -> bool:
    try:
        check_outbox(request, house)
    except UserError:
        return False
    return True


def bearer(authorization: str | None) -> str:
    """The token that was sent; nothing where there is none."""
    given = _BEARER.fullmatch(authorization.strip()) if authorization else None
    return given[1] if given else ""


def _check(house: House, scope: Scope, given: str) -> None:
    token = house.settings.web.admin_token
    if token is None:
        raise UserError("admin_closed", "web.admin_token is not set: set it to open what is the operator's")
    _compare(house, scope, given, token, "web.admin_token")


def _compare(
    house: House, scope: Scope, given: str, token: SecretStr, name: str, code: str = _NOT_LET_IN
) -> None:  # fmt: skip
    """The right one is let in whatever came before it: nobody is shut out by those who share his address."""
    if is_same(given, token.get_secret_value()):
        return
    if given:
        house.count_wrong_token(scope)
    raise UserError(code, f"{name} is needed here, and this is not it")


def _basic_password(headers: Headers) -> str:
    """Whatever the user's name; nothing where there is none, or none that can be read."""
    given = _BASIC.fullmatch(headers.get("authorization", "").strip())
    try:
        pair = base64.b64decode(given[1], validate=True).decode() if given else ""
    except (binascii.Error, UnicodeDecodeError):
        return ""
    return pair.partition(":")[2]


def is_at_this_machine(scope: Scope, settings: Settings) -> bool:
    """Not merely a loopback peer: whoever comes through a proxy on this machine is one, wherever he sits."""
    headers = Headers(scope=scope)
    return (
        _is_loopback_peer(scope)
        # A name that somebody else made point here would let his page read ours.
        and _is_loopback_name(headers.get("host", ""))
        and not any(name in _FORWARDED or name.startswith(_FORWARDED_PREFIX) for name in headers)
        and scope["http_version"] != _OLD_HTTP
        # A house that is known to be behind a proxy, or that the world knows by a name, is nobody's first try.
        and not settings.web.trusted_proxies
        and is_loopback_host(urlsplit(settings.base_url).hostname or "")
    )


def _is_loopback_peer(scope: Scope) -> bool:
    try:
        peer = ipaddress.ip_address(scope["client"][0] if scope.get("client") else "")
    except ValueError:
        return False
    mapped = peer.ipv4_mapped if isinstance(peer, ipaddress.IPv6Address) else None
    return (mapped or peer).is_loopback


def _is_loopback_name(host: str) -> bool:
    try:
        return is_loopback_host(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False
