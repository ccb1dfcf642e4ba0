"""Verbs of the bot."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from vacancy.cli_common import Json, call

_LARGEST: Final = 2**63 - 1

bot = typer.Typer(help="The Telegram bot: run it, or bind chats by hand.")

Chat = Annotated[
    int, typer.Option("--chat", min=-_LARGEST, max=_LARGEST, help="The chat's number; groups are below 0.")
]


def add_to(app: typer.Typer) -> None:
    app.add_typer(bot, name="bot")


@bot.callback(invoke_without_command=True)
def run_bot(context: typer.Context) -> None:
    """Bring task events to Telegram chats, and answer commands there, until stopped."""
    if context.invoked_subcommand is None:
        call("bot", "run", context)


@bot.command("bind")
def bind_chat(
    context: typer.Context,
    chat: Chat,
    user: Annotated[int, typer.Option("--user", min=1, max=_LARGEST, help="The backend's number of the user.")],
    json: Json = False,
) -> None:
    """Bind a chat to a user, from now on. What was there before is not told."""
    call("bot", "bind", context, chat, user, json=json)


@bot.command("unbind")
def unbind_chat(context: typer.Context, chat: Chat, json: Json = False) -> None:
    """Nothing more goes to this chat."""
    call("bot", "unbind", context, chat, json=json)


@bot.command("chats")
def list_chats(context: typer.Context, json: Json = False) -> None:
    """Every chat: whose it is, how far it has read, and why it was unbound."""
    call("bot", "chats", context, json=json)
