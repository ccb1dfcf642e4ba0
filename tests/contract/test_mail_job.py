"""The mail job is the one of the contract: what its schema takes we take, and what it refuses we refuse."""

from __future__ import annotations

import json
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import ValidationError

from vacancy.model.mail_job import (
    MAIL_JOB_ID,
    VERIFICATION_JOB_ID,
    MailJob,
    VerificationJob,
    as_document,
    published,
    read_job,
    read_verification_job,
    schema_of,
)

ROOT: Final = Path(__file__).parents[2]
SEED: Final[dict[str, Any]] = json.loads((Path(__file__).parent / "data" / "seed_mail_job.schema.json").read_text())
OURS: Final = schema_of(MailJob, MAIL_JOB_ID)
VERIFICATION: Final = schema_of(VerificationJob, VERIFICATION_JOB_ID)

Json = dict[str, Any]


def _checker(schema: Json) -> Draft202012Validator:
    return Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER)


BY_SEED, BY_OURS, BY_VERIFICATION = _checker(SEED), _checker(OURS), _checker(VERIFICATION)

# -- documents --------------------------------------------------------------------------------------------------------

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
numbers = st.integers(-5, 200)
emails = st.from_regex(r"[a-z0-9.]{1,8}@[a-z]{1,6}\.example", fullmatch=True)
uris = st.from_regex(
    r"https?://[a-z]{1,8}\.example(:[0-9]{1,4})?(/[a-z0-9._~%-]{0,0}[A-Za-z0-9._~!$&'()*+,;=:@-]{0,6}){0,3}"
    r"(\?[A-Za-z0-9=&/?%]{0,0}[A-Za-z0-9=&/?]{0,8})?(#[a-z0-9/?=&]{0,6})?",
    fullmatch=True,
)
moments = st.datetimes().map(lambda at: at.isoformat(timespec="milliseconds") + "Z")
NOT_FORMATTED: Final = {
    "email": ["", "nobody", "a b c"],
    "uri": [
        "",
        "/just/a/path",
        "no scheme",
        "http://a b",
        "https://x.example/%zz",
        "https://x.example/<a>",
        "1http://x",
    ],
    "date-time": ["", "yesterday", "2026-01-05", "2026-01-05T12:00:00", "2026-13-05T12:00:00Z", "2026-01-05T25:00:00Z"],
}
NOT_TYPED: Final[dict[str, list[Any]]] = {
    "string": [None, 3, True, [], {}], "integer": [None, "3", True, 1.5, []], "array": [None, "x", {}],
    "object": [None, "x", [], 3],
}  # fmt: skip
junk: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(), texts, st.just([1]), st.just({"a": None})
)


def documents(schema: Json) -> st.SearchStrategy[Any]:
    """Everything that the schema takes, with every optional member there or not."""
    if "const" in schema:
        return st.just(schema["const"])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "string":
        return {"email": emails, "uri": uris, "date-time": moments}.get(schema.get("format", ""), texts)
    if schema["type"] == "integer":
        least = schema.get("minimum", -5)
        return st.one_of(st.integers(least, least + 500), st.integers(least, least + 9).map(float))
    if schema["type"] == "array":
        return st.lists(documents(schema["items"]), max_size=3)
    members = {name: documents(member) for name, member in schema["properties"].items()}
    required = schema.get("required", [])
    return st.fixed_dictionaries(
        {name: members[name] for name in required},
        optional={name: member for name, member in members.items() if name not in required},
    )


def _nodes(
    schema: Json, document: Any, path: tuple[str | int, ...] = ()
) -> Iterator[tuple[Json, tuple[str | int, ...]]]:
    yield schema, path
    if isinstance(document, dict):
        for name, member in schema["properties"].items():
            if name in document:
                yield from _nodes(member, document[name], (*path, name))
    if isinstance(document, list):
        for at, each in enumerate(document):
            yield from _nodes(schema["items"], each, (*path, at))


def _replaced(document: Any, path: tuple[str | int, ...], value: Any) -> Any:
    if not path:
        return value
    document = deepcopy(document)
    holder = document
    for step in path[:-1]:
        holder = holder[step]
    holder[path[-1]] = value
    return document


def _at(document: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        document = document[step]
    return document


@st.composite
def mutated(draw: st.DrawFn, schema: Json) -> Any:
    """One thing at one place is changed; often it is wrong after that, and sometimes it is still right."""
    document = draw(documents(schema))
    node, path = draw(st.sampled_from(list(_nodes(schema, document))))
    here = _at(document, path)
    kind = node.get("type", "string")
    ways = ["type"]
    if kind == "object":
        ways += ["drop", "drop", "add", "add"]
    if kind == "integer":
        ways += ["size", "size"]
    if "format" in node:
        ways += ["format", "format"]
    if "enum" in node or "const" in node:
        ways += ["other"]
    way = draw(st.sampled_from(ways))
    if way == "drop" and here:
        gone = draw(st.sampled_from(sorted(here)))
        return _replaced(document, path, {name: value for name, value in here.items() if name != gone})
    if way == "add":
        return _replaced(document, path, {**here, draw(st.sampled_from(["extra", "Version", "x-y"])): draw(junk)})
    if way == "size":
        return _replaced(document, path, draw(st.integers(node.get("minimum", 0) - 3, node.get("minimum", 0) + 1)))
    if way == "format":
        return _replaced(document, path, draw(st.sampled_from(NOT_FORMATTED[node["format"]])))
    if way == "other":
        return _replaced(document, path, draw(st.sampled_from(["", "Open-Seat", "2.0", "1", "sms", "deleted"])))
    return _replaced(document, path, draw(st.sampled_from(NOT_TYPED[kind])))


def _taken(document: Any, model: type[MailJob | VerificationJob]) -> bool:
    try:
        model.model_validate(document)
    except ValidationError:
        return False
    return True


# -- what the contract says -------------------------------------------------------------------------------------------


def _plain(schema: Any) -> Any:
    """Where one thing can be written in two ways, one of them."""
    if isinstance(schema, list):
        return [_plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    plain = {key: _plain(value) for key, value in schema.items()}
    if isinstance(plain.get("enum"), list) and len(plain["enum"]) == 1:
        plain["const"] = plain.pop("enum")[0]
    if plain.get("type") == "object" and "properties" in plain:
        plain.setdefault("additionalProperties", True)
    if isinstance(plain.get("required"), list):
        plain["required"] = sorted(plain["required"])
    return plain


def test_our_schema_is_the_contracts() -> None:
    assert _plain(OURS) == _plain(SEED)


@settings(max_examples=150, deadline=None)
@given(documents(SEED))
def test_what_the_contract_takes_we_take(document: Json) -> None:
    assert BY_SEED.is_valid(document)
    assert BY_OURS.is_valid(document)
    assert as_document(MailJob.model_validate(document)) == document


@settings(max_examples=150, deadline=None)
@given(documents(OURS))
def test_what_we_take_the_contract_takes(document: Json) -> None:
    assert BY_OURS.is_valid(document)
    assert BY_SEED.is_valid(document)
    assert _taken(document, MailJob)


@settings(max_examples=600, deadline=None)
@given(mutated(SEED))
def test_all_three_agree_on_what_is_wrong(document: Any) -> None:
    verdicts = {
        "seed": BY_SEED.is_valid(document),
        "ours": BY_OURS.is_valid(document),
        "model": _taken(document, MailJob),
    }
    assert len(set(verdicts.values())) == 1, verdicts


@settings(max_examples=300, deadline=None)
@given(mutated(VERIFICATION))
def test_the_verification_job_and_its_schema_agree(document: Any) -> None:
    assert BY_VERIFICATION.is_valid(document) == _taken(document, VerificationJob)


@settings(max_examples=400, deadline=None)
@given(
    st.one_of(uris, st.text(st.sampled_from("abZ09-._~:/?#@!$&'()*+,;=% <>^|\\é"), max_size=20).map("http:".__add__))
)
def test_an_address_is_what_the_contracts_checker_calls_one(text: str) -> None:
    schema = {"type": "string", "format": "uri"}
    links = {"manageUrl": text}
    document = {**_job(), "links": links}
    assert _taken(document, MailJob) == _checker(schema).is_valid(text)


@pytest.mark.parametrize("name", sorted(published()))
def test_the_published_files_are_current(name: str) -> None:
    text = (ROOT / "docs" / "contracts" / name).read_text("utf-8")
    assert text == published()[name]
    Draft202012Validator.check_schema(json.loads(text))


# -- versions ---------------------------------------------------------------------------------------------------------


def _job() -> Json:
    return {
        "version": "1.0", "notificationId": 1, "openEventId": 2, "subscriptionId": 3, "dedupeKey": "k",
        "locale": "en-US", "recipient": {"email": "ada@example.com"},
        "template": {"id": "open-seat", "variables": {
            "courseTitle": "Data Structures", "courseString": "01:198:112", "sectionIndex": "12345",
            "sectionNumber": "03", "meetingSummary": "TBA", "manageUrl": "https://v.example/manage"}},
        "event": {"termId": "12025", "campusCode": "NB", "indexNumber": "12345", "statusAfter": "Open",
                  "eventAt": "2026-01-05T12:00:00.000Z"},
        "links": {},
    }  # fmt: skip


def test_a_job_reads_as_it_was_written() -> None:
    assert as_document(read_job(_job())) == _job()


def test_a_later_minor_version_is_read_without_what_is_new() -> None:
    later = _job() | {"version": "1.7", "priority": 5}
    later["recipient"]["pronoun"] = "she"
    later["template"]["variables"]["seats"] = 4
    job = read_job(later)
    assert as_document(job) == {**_job(), "template": later["template"]}
    assert later["recipient"]["pronoun"] == "she"


def test_a_later_minor_version_is_still_checked() -> None:
    broken = _job() | {"version": "1.7", "priority": 5, "notificationId": 0}
    with pytest.raises(ValueError, match="notificationId: "):
        read_job(broken)


@pytest.mark.parametrize("version", ["2.0", "0.9", "10.0"])
def test_another_major_version_is_refused(version: str) -> None:
    with pytest.raises(ValueError, match=f"version: {version} is of another major version"):
        read_job(_job() | {"version": version})


@pytest.mark.parametrize("version", ["1", "1.x", "01.0", "1.0 ", "", None, 1.0])
def test_what_is_no_version_is_refused(version: object) -> None:
    with pytest.raises(ValueError, match=r"version: must be MAJOR\.MINOR"):
        read_job(_job() | {"version": version})


def test_what_is_wrong_is_said_without_the_contact() -> None:
    with pytest.raises(ValueError, match=r"recipient\.email: ") as refused:
        read_job(_job() | {"recipient": {"email": "ada at example.com"}})
    assert "ada" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_null_is_not_absence() -> None:
    with pytest.raises(ValueError, match="traceId: "):
        read_job(_job() | {"traceId": None})


def test_the_verification_job_has_its_own_schema() -> None:
    document = {
        "version": "1.0", "notificationId": 1, "subscriptionId": 3, "dedupeKey": "k", "locale": "zh-CN",
        "recipient": {"email": "ada@example.com"},
        "template": {"id": "verification", "variables": {
            "verificationUrl": "https://v.example/verify", "expirationMinutes": 1440,
            "contactValue": "ada@example.com"}},
    }  # fmt: skip
    assert as_document(read_verification_job(document)) == document
    assert VERIFICATION["$id"] != OURS["$id"]
    assert set(VERIFICATION["required"]) == set(document)
