"""An endpoint of somebody's own, that takes webhooks and checks what signs them, as Standard Webhooks tells it to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from aiohttp import web
from standardwebhooks import Webhook, WebhookVerificationError

from vacancy.simulator.provider import Provider

PATH: Final = "/hook"


class Hooks(Provider):
    """Every path takes posts. With a secret it refuses what is not signed with it."""

    def __init__(self, secret: str | None = None) -> None:
        super().__init__()
        self.secret = secret
        # By `webhook-id`, as a good receiver keeps them: a message that comes again is known and not done again.
        self.taken: dict[str, Any] = {}

    @property
    def url(self) -> str:
        return self.origin + PATH

    def routes(self) -> Sequence[web.RouteDef]:
        return (web.post("/{path:.*}", self._take),)

    def clear(self) -> None:
        super().clear()
        self.taken.clear()

    async def _take(self, request: web.Request) -> web.Response:
        body = await request.read()
        headers = {name.lower(): value for name, value in request.headers.items()}
        if self.secret is not None:
            try:
                Webhook(self.secret).verify(body, headers)
            except WebhookVerificationError as wrong:
                return web.json_response({"error": str(wrong)}, status=401)
        self.taken[headers.get("webhook-id", "")] = await request.json()
        return web.Response(status=204)
