"""Verbs: parse, then call. Nothing heavy is imported before a verb needs it, so that `--help` answers at once."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from vacancy import __version__
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
app.add_typer(targets, name="targets")
app.add_typer(events, name="events")
app.add_typer(subscriptions, name="subscriptions")
app.add_typer(db, name="db")

Json = Annotated[bool, typer.Option("--json", help="Machine-readable output.")]
Config = Annotated[
    Path | None, typer.Option("--config", envvar="VACANCY_CONFIG", help="A TOML file of settings.", show_default=False)
]
SourceName = Annotated[str, typer.Argument(help="The source, such as soc.")]
TargetKey = Annotated[str, typer.Argument(help="The target's key, such as 12025|NB; terms are read in any spelling.")]


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


def _call(module: str, verb: str, context: typer.Context, *arguments: Any, **options: Any) -> None:
    """Settings are read here, once for all verbs; a fault that a user can mend is one line and exit code 2."""
    run = getattr(importlib.import_module(f"vacancy.commands.{module}"), verb)
    code = run(context.obj, *arguments, **options)
    raise typer.Exit(code or 0)


@app.command()
def serve(
    context: typer.Context,
    only: Annotated[
        str, typer.Option(help="Parts to run, with commas: web, poll, fanout, deliver. All, if not given.")
    ] = "",
) -> None:
    """Poll, and serve pages and events, until stopped."""
    _call("serve", "serve", context, only)


@app.command()
def demo(
    context: typer.Context,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the page; 0 takes a free one.")] = 8000,
    scale: Annotated[
        float, typer.Option(min=0.01, max=1, help="Size of the make-believe university; 1 is a real one's.")
    ] = 0.05,
    keep: Annotated[Path | None, typer.Option(help="Keep the database here; else it is thrown away.")] = None,
) -> None:
    """See it work: a make-believe university, polled for real. No keys, no configuration."""
    _call("demo", "demo", context, host, port, scale, keep)


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
    _call("simulate", "simulate", context, host, port, seed, scale, terms, campuses, churn)


@app.command()
def poll(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Ask every target once, then end.")] = False,
    json: Json = False,
) -> None:
    """Ask every configured target once, now. For a steady watch, use `serve`."""
    _call("poll", "poll", context, once=once, json=json)


@app.command()
def deliver(
    context: typer.Context,
    once: Annotated[bool, typer.Option("--once", help="Send what may go now, then end.")] = False,
    json: Json = False,
) -> None:
    """Send everything that waits and may go now. For steady work, use `serve`."""
    _call("deliver", "deliver", context, once=once, json=json)


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
        _call("events", "show", context, follow=follow, last=last, source=source, closed=closed, json=json)


@events.command("add")
def add_event(
    context: typer.Context,
    source: SourceName,
    key: TargetKey,
    item: Annotated[str, typer.Argument(help="The item, such as a section's five-digit index.")],
    json: Json = False,
) -> None:
    """Record by hand that an item is open: the same path, the same care not to say it twice."""
    _call("events", "add", context, source, key, item, json=json)


@targets.command("list")
def list_targets(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Catalogues as well.")] = False,
    json: Json = False,
) -> None:
    """What is polled, and how fresh it is."""
    _call("targets", "show", context, everything=everything, json=json)


def _target_verb(name: str, help_text: str) -> None:
    @targets.command(name, help=help_text)
    def verb(context: typer.Context, source: SourceName, key: TargetKey, json: Json = False) -> None:
        _call("targets", "change", context, name, source, key, json=json)


_target_verb("pause", "Stop asking this target until it is resumed; all it knows is kept.")
_target_verb("resume", "Ask a paused target again, at once.")
_target_verb("poll", "Ask this target at once, whatever its schedule says.")
_target_verb("rebaseline", "Start over: the next like answers are a new baseline that tells nobody.")
_target_verb("release", "Believe the answer that is held back, now.")


@subscriptions.command("list")
def list_subscriptions(context: typer.Context, json: Json = False) -> None:
    """How many there are, by state and by source; no addresses."""
    _call("subscriptions", "show", context, json=json)


@subscriptions.command("export")
def export_subscriptions(
    context: typer.Context,
    to: Annotated[Path | None, typer.Argument(metavar="FILE", help="The file to write; it must not exist.")] = None,
) -> None:
    """Write them all as JSON lines, addresses and tokens among them, to a file or to standard output."""
    _call("subscriptions", "export", context, to)


@subscriptions.command("import")
def import_subscriptions(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `subscriptions export` wrote.")],
    json: Json = False,
) -> None:
    """Take in all lines of a file, or none if one of them is bad."""
    _call("subscriptions", "take_in", context, file, json=json)


@subscriptions.command("erase")
def erase_contact(
    context: typer.Context,
    address: Annotated[str, typer.Argument(help="The contact, such as a mail address.")],
    contact_type: Annotated[str, typer.Option("--contact-type", help="How it is reached.")] = "email",
    yes: Annotated[bool, typer.Option("--yes", help="Do it; without this, only say what it would do.")] = False,
    json: Json = False,
) -> None:
    """Delete everything of one contact: subscriptions, messages, audit."""
    _call("subscriptions", "erase", context, address, contact_type, yes=yes, json=json)


@db.command("upgrade")
def upgrade_database(context: typer.Context, json: Json = False) -> None:
    """Bring the database up to date. Every other command does so as well."""
    _call("db", "upgrade", context, json=json)


@db.command("check")
def check_database(context: typer.Context, json: Json = False) -> None:
    """Ask the database whether it is sound."""
    _call("db", "check", context, json=json)


@db.command("backup")
def back_up_database(
    context: typer.Context,
    to: Annotated[Path, typer.Argument(help="The file to write; it must not exist.")],
    json: Json = False,
) -> None:
    """Write a whole copy while everything runs."""
    _call("db", "backup", context, to, json=json)


@app.command()
def doctor(context: typer.Context, json: Json = False) -> None:
    """Look for what could keep openings from being noticed, and say what to do about it."""
    _call("doctor", "doctor", context, json=json)


@app.command()
def settings(context: typer.Context, json: Json = False) -> None:
    """Every setting, its value now and what it is for."""
    _call("settings", "settings", context, json=json)


def main() -> None:
    try:
        app()
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
