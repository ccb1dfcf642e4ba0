"""Verbs: parse, then call. Nothing heavy is imported before a verb needs it, so that `--help` answers at once."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from vacancy import __version__, cli_bot, cli_delivery, cli_tasks
from vacancy.cli_common import Json, call
from vacancy.errors import VacancyError

app = typer.Typer(
    name="vacancy",
    help="Tells people the moment something opens.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
targets = typer.Typer(help="What is polled: list it, pause it, ask it now, start it over.", no_args_is_help=True)
events = typer.Typer(help="Openings: the last ones, as they come, or one recorded by hand.")
subscriptions = typer.Typer(
    help="Who waits for what: how many, all of them out or in, one contact away.", no_args_is_help=True
)
db = typer.Typer(help="The database: bring it up to date, check it, back it up.", no_args_is_help=True)
check = typer.Typer(help="What a source would see this moment, and why; nothing is written.", no_args_is_help=True)
app.add_typer(targets, name="targets")
app.add_typer(check, name="check")
app.add_typer(events, name="events")
app.add_typer(subscriptions, name="subscriptions")
app.add_typer(db, name="db")

Config = Annotated[
    Path | None, typer.Option("--config", envvar="VACANCY_CONFIG", help="A TOML file of settings.", show_default=False)
]
SourceName = Annotated[str, typer.Argument(help="The source, such as soc.")]
TargetKey = Annotated[
    str, typer.Argument(help="Its key: 12025|NB (terms in any spelling), 2026-02-28_20:30, or all of an endpoint.")
]


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"vacancy {__version__}")
        raise typer.Exit


@app.callback()
def _everywhere(
    context: typer.Context,
    config: Config = None,
    _version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Say the version.")
    ] = False,
) -> None:
    context.obj = config


@app.command()
def serve(
    context: typer.Context,
    only: Annotated[
        str, typer.Option(help="Parts to run, with commas: web, poll, fanout, deliver. All, if not given.")
    ] = "",
) -> None:
    """Poll, and serve pages and events, until stopped."""
    call("serve", "serve", context, only)


@app.command()
def demo(
    context: typer.Context,
    host: Annotated[str | None, typer.Option(help="Address to listen on; web.host, if not given.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Port of the page; 0 takes a free one; web.port, if not given.")
    ] = None,
    scale: Annotated[
        float, typer.Option(min=0.01, max=1, help="Size of the make-believe university; 1 is a real one's.")
    ] = 0.05,
    keep: Annotated[Path | None, typer.Option(help="Keep the database here; else it is thrown away.")] = None,
) -> None:
    """See it work: a make-believe university, polled for real. No keys, no configuration."""
    call("demo", "demo", context, host, port, scale, keep)


@app.command()
def simulate(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Loopback address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port; 0 takes a free one.")] = 8099,
    seed: Annotated[int, typer.Option(help="The same seed makes the same university.")] = 1,
    scale: Annotated[float, typer.Option(min=0.001, max=1, help="Its size; 1 is a real one's.")] = 1.0,
    terms: Annotated[str, typer.Option(help="Terms, with commas.")] = "12025",
    campuses: Annotated[str, typer.Option(help="Campuses, with commas.")] = "NB,NK,CM",
    churn: Annotated[float, typer.Option(help="Seats that open, and that close, in a minute and campus.")] = 20.0,
) -> None:
    """Run the simulated upstream alone, with faults on demand."""
    call("simulate", "simulate", context, host, port, seed, scale, terms, campuses, churn)


@app.command()
def poll(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Ask every target once, then end.")] = False,
    json: Json = False,
) -> None:
    """Ask every configured target once, now. For a steady watch, use `serve`."""
    call("poll", "poll", context, once=once, json=json)


@app.command()
def deliver(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Send what may go now, then end.")] = False,
    json: Json = False,
) -> None:
    """Send everything that waits and may go now. For steady work, use `serve`."""
    call("deliver", "deliver", context, once=once, json=json)


@events.callback(invoke_without_command=True)
def list_events(
    context: typer.Context,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on, and show openings as they come.")] = False,
    last: Annotated[int, typer.Option(min=0, max=1000, help="How many of the past to show first.")] = 10,
    source: Annotated[str | None, typer.Option(help="Only of this source.")] = None,
    closed: Annotated[bool, typer.Option("--closed", help="Show closings as well.")] = False,
    json: Json = False,
) -> None:
    """The last openings; with --follow, as they come."""
    if context.invoked_subcommand is None:
        call("events", "show", context, follow=follow, last=last, source=source, closed=closed, json=json)


@events.command("add")
def add_event(
    context: typer.Context,
    source: SourceName,
    key: TargetKey,
    item: Annotated[str, typer.Argument(help="The item, such as a section's five-digit index.")],
    json: Json = False,
) -> None:
    """Record by hand that an item is open: the same path, the same care not to say it twice."""
    call("events", "add", context, source, key, item, json=json)


@targets.command("list")
def list_targets(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Catalogues as well.")] = False,
    json: Json = False,
) -> None:
    """What is polled, and how fresh it is."""
    call("targets", "show", context, everything=everything, json=json)


def _target_verb(name: str, help_text: str) -> None:
    @targets.command(name, help=help_text)
    def verb(context: typer.Context, source: SourceName, key: TargetKey, json: Json = False) -> None:
        call("targets", "change", context, name, source, key, json=json)


_target_verb("pause", "Stop asking this target until it is resumed; all it knows is kept.")
_target_verb("resume", "Ask a paused target again, at once.")
_target_verb("poll", "Ask this target at once, whatever its schedule says.")
_target_verb("rebaseline", "Start over: the next like answers are a new baseline that tells nobody.")
_target_verb("release", "Believe the answer that is held back, now.")


@check.command("json")
def check_json(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The `name` of one of the [[json]] tables.")],
    json: Json = False,
) -> None:
    """Ask a JSON endpoint once: its items, which are open and by which part of the rule, and what is wrong."""
    call("check", "check_json", context, name, json=json)


@subscriptions.command("list")
def list_subscriptions(context: typer.Context, json: Json = False) -> None:
    """How many there are, by state and by source; no addresses."""
    call("subscriptions", "show", context, json=json)


@subscriptions.command("export")
def export_subscriptions(
    context: typer.Context,
    to: Annotated[Path | None, typer.Argument(metavar="FILE", help="The file to write; it must not exist.")] = None,
) -> None:
    """Write them all as JSON lines, addresses and tokens among them, to a file or to standard output."""
    call("subscriptions", "export", context, to)


@subscriptions.command("import")
def import_subscriptions(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `subscriptions export` wrote.")],
    json: Json = False,
) -> None:
    """Take in all lines of a file, or none if one of them is bad."""
    call("subscriptions", "take_in", context, file, json=json)


@subscriptions.command("erase")
def erase_contact(
    context: typer.Context,
    address: Annotated[str, typer.Argument(help="The contact, such as a mail address.")],
    contact_type: Annotated[str, typer.Option("--contact-type", help="How it is reached.")] = "email",
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only say what it would do.")] = False,
    json: Json = False,
) -> None:
    """Delete everything of one contact: subscriptions, messages, audit."""
    call("subscriptions", "erase", context, address, contact_type, yes=yes, json=json)


@db.command("upgrade")
def upgrade_database(context: typer.Context, json: Json = False) -> None:
    """Bring the database up to date. Every other command does so as well."""
    call("db", "upgrade", context, json=json)


@db.command("check")
def check_database(context: typer.Context, json: Json = False) -> None:
    """Ask the database whether it is sound."""
    call("db", "check", context, json=json)


@db.command("backup")
def back_up_database(
    context: typer.Context,
    to: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
    json: Json = False,
) -> None:
    """Write a whole copy while everything runs."""
    call("db", "backup", context, to, json=json)


@app.command()
def doctor(context: typer.Context, json: Json = False) -> None:
    """Look for what could keep openings from being noticed, or people from hearing of them, and say what to do."""
    call("doctor", "doctor", context, json=json)


@app.command()
def settings(context: typer.Context, json: Json = False) -> None:
    """Every setting, its value now and what it is for."""
    call("settings", "settings", context, json=json)


cli_delivery.add_to(app)
cli_tasks.add_to(app)
cli_bot.add_to(app)


def _config_first(arguments: Sequence[str]) -> list[str]:
    """`--config` may stand anywhere; it is the program's and no verb's, and is looked for before the verb alone."""
    named: list[str] = []
    others: list[str] = []
    words = iter(arguments)
    for word in words:
        if word == "--":
            others += [word, *words]
        elif word == "--config":
            value = next(words, None)
            if value is None:
                return [word]
            named += [word, value]
        else:
            (named if word.startswith("--config=") else others).append(word)
    return [*named, *others]


def main() -> None:
    try:
        app(_config_first(sys.argv[1:]))
    except VacancyError as error:
        for line in str(error).splitlines():
            sys.stderr.write(f"vacancy: {line}\n")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # Whoever read our output had enough of it; what is still buffered has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
