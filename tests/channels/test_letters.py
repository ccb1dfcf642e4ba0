"""Mails as a mail program reads them: parsed back from their bytes, nothing lost, nothing let in."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from hashlib import sha256
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.channels.letter_parcels import (
    ADA,
    BASE,
    FACTS,
    TABLE,
    alert,
    every_kind,
    notice,
    section,
    trouble,
    unknown_section,
    verification,
)
from tests.support.clock import START, ManualClock
from vacancy.channels.letters import Letters
from vacancy.channels.mail import MailMessage
from vacancy.channels.mail_templates import ROOT, TEMPLATES
from vacancy.channels.words import LOCALES, one_line
from vacancy.errors import SettingsError
from vacancy.model.messages import Dead, Kind, Parcel
from vacancy.settings import Settings
from vacancy.settings_sections import EmailSettings

SENDER: Final = "Vacancy <alerts@vacancy.example.org>"
CHINESE: Final = ADA._replace(locale="zh-CN")


def letters(clock: ManualClock | None = None, root: Path | None = None, **email: Any) -> Letters:
    chosen = Settings(base_url=BASE, email=EmailSettings(**{"sender": SENDER, "reply_to": "help@example.org", **email}))
    return Letters(chosen, clock or ManualClock(), root)


LETTERS: Final = letters()


def written(parcel: Parcel, by: Letters = LETTERS) -> MailMessage:
    mail = by.write(parcel)
    assert isinstance(mail, MailMessage), mail
    return mail


def refused(parcel: Parcel, by: Letters = LETTERS) -> Dead:
    answer = by.write(parcel)
    assert isinstance(answer, Dead)
    return answer


def parsed(mail: MailMessage) -> EmailMessage:
    message = BytesParser(policy=policy.default).parsebytes(mail.raw)
    assert isinstance(message, EmailMessage)
    assert not any(part.defects for part in message.walk())
    return message


def body(message: EmailMessage, kind: str) -> str:
    part = message.get_body((kind,))
    assert isinstance(part, EmailMessage)
    return str(part.get_content()).replace("\r\n", "\n")


class _Seen(HTMLParser):
    """What a reader of the HTML sees, and where its links go."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.links += [value or "" for name, value in attrs if name == "href"]

    def handle_data(self, data: str) -> None:
        self.words.append(data)


# -- one mail ---------------------------------------------------------------------------------------------------------


def test_the_headers_of_an_alert() -> None:
    mail = written(alert())
    message = parsed(mail)
    digest = sha256(b"edge-key/3").hexdigest()[:32]
    assert dict(message.items()) == {
        "From": SENDER,
        "To": "ada@example.com",
        "Reply-To": "help@example.org",
        "Subject": "Open: Data Structures, section 03 (12345)",
        "Date": "Mon, 05 Jan 2026 12:00:00 +0000",
        "Message-ID": f"<{digest}@vacancy.example.org>",
        "Auto-Submitted": "auto-generated",
        "X-Trace-Id": "0123456789abcdef" * 2,
        "Content-Language": "en-US",
        "List-Unsubscribe": f"<{ADA.unsubscribe_url}>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
        "MIME-Version": "1.0",
        "Content-Type": message["Content-Type"],
    }
    assert mail.message_id == f"{digest}@vacancy.example.org"
    assert {name: message[name] for name in mail.headers} == dict(mail.headers)
    assert (mail.dedupe_key, mail.template_id, mail.template_version) == ("edge-key/3", "open-seat", "v1")
    assert mail.metadata == {"subscriptionId": "3", "openEventId": "5", "term": "12025", "campus": "NB"}


def test_an_alert_says_what_when_and_where() -> None:
    text = written(alert()).text
    for said in ("Index 12345", "Data Structures, section 03", "01:198:112 · New Brunswick, Spring 2025",
                 "M H 14:10-15:30 TIL 232", "DOE, JANE", "Seen open Mon, Jan 5, 7:00 AM EST. It may be gone already.",
                 ADA.manage_url, ADA.unsubscribe_url):  # fmt: skip
        assert said in text
    seen = _Seen(written(alert()).html)
    assert seen.links == ["https://sis.example/soc/#keyword=12345&semester=12025", ADA.manage_url, ADA.unsubscribe_url]
    assert "12345" in seen.words
    assert "img" not in seen.tags


def test_several_sections_are_one_mail() -> None:
    mail = written(alert(section(), section("00042", sectionNumber="04"), unknown_section()))
    assert mail.subject == "3 sections are open"
    assert [text in mail.text for text in ("Index 12345", "Index 00042", "Index 54321")] == [True] * 3
    assert sum("sis.example" in link for link in _Seen(mail.html).links) == 3


def test_the_last_alert_offers_to_go_on() -> None:
    ordinary, last = written(alert()), written(alert(is_last=True))
    assert "last alert" not in ordinary.text + ordinary.html
    assert "last alert" in last.text
    assert _Seen(last.html).links.count(ADA.manage_url) == 2


def test_another_source_has_its_own_words() -> None:
    mail = written(alert(TABLE, source="resy"))
    assert (mail.template_id, mail.subject) == ("opening", "Open: Carbone")
    assert "https://book.example/834?d=1&s=2" in _Seen(mail.html).links
    assert "sis.example" not in mail.html


def test_a_verification_is_no_list_mail() -> None:
    mail = written(verification())
    assert ADA.verify_url in mail.text
    assert _Seen(mail.html).links == [ADA.verify_url] * 2
    assert "24 hours" in mail.text
    assert "ada@example.com" in mail.text
    assert "List-Unsubscribe" not in parsed(mail)
    assert ADA.manage_url not in mail.text


def test_notices_tell_their_facts() -> None:
    ended = written(notice("ended"))
    assert ended.subject == "Your alerts ended: Data Structures"
    assert "The term is over." in ended.text
    assert parsed(ended)["List-Unsubscribe"] == f"<{ADA.unsubscribe_url}>"
    assert "Mon, Jan 5, 7:00 AM EST" in written(notice("source_unreadable")).text
    told = written(trouble())
    assert "no answer within 15 s" in told.text
    assert _Seen(told.html).links == []
    assert "List-Unsubscribe" not in parsed(told)


@pytest.mark.parametrize("locale", LOCALES)
def test_every_mail_can_be_read_back(locale: str) -> None:
    for parcel in every_kind(locale):
        mail = written(parcel)
        message = parsed(mail)
        assert message["Subject"] == mail.subject
        assert body(message, "plain") == mail.text
        assert body(message, "html") == mail.html
        assert message["Content-Language"] == locale
        assert f'<html lang="{locale}"' in mail.html
        assert "\ufdd0" not in mail.text + mail.html + mail.subject
        assert "class=" not in mail.text
        assert "\n\n\n" not in mail.text


def test_chinese_mails_have_the_same_links() -> None:
    for english, chinese in zip(every_kind("en-US"), every_kind("zh-CN"), strict=True):
        ours, theirs = written(english), written(chinese)
        assert _Seen(ours.html).links == _Seen(theirs.html).links
        urls = re.compile(r"https?://\S+")
        assert urls.findall(ours.text) == urls.findall(theirs.text)
        assert ours.subject != theirs.subject


@pytest.mark.parametrize("locale", ["zh", "zh_TW", "zh-Hant"])
def test_any_chinese_is_answered_in_chinese(locale: str) -> None:
    assert written(alert(person=ADA._replace(locale=locale))).locale == "zh-CN"


def test_the_styles_are_in_the_elements() -> None:
    page = written(alert()).html
    assert re.search(r'<a class="button" href="[^"]+" style="[^"]*background-color: #b3123a', page)
    assert "prefers-color-scheme: dark" in page


# -- many mails -------------------------------------------------------------------------------------------------------


def test_each_gets_what_is_his_own() -> None:
    by = letters()
    for number in range(1, 40):
        person = ADA._replace(
            subscription_id=number, contact=f"p{number}@example.com", manage_url=f"{BASE}/manage/{number}",
            unsubscribe_url=f"{BASE}/unsubscribe?token={'u' * number}",
        )  # fmt: skip
        mail = written(alert(person=person)._replace(key=f"key-{number}"), by)
        message = parsed(mail)
        assert message["To"] == mail.to == person.contact
        assert message["List-Unsubscribe"] == f"<{person.unsubscribe_url}>"
        assert _Seen(body(message, "html")).links[1:] == [person.manage_url, person.unsubscribe_url]
        assert body(message, "plain") == mail.text


def test_what_closed_in_between_is_not_told() -> None:
    by = letters()
    assert "00042" in written(alert(section(), section("00042")), by).text
    assert "00042" not in written(alert(section()), by).text
    assert "Calculus" in written(alert(section(courseTitle="Calculus")), by).subject


def test_a_retry_has_the_same_id() -> None:
    clock = ManualClock()
    by = letters(clock)
    first = written(alert(), by)
    clock.pass_time(90)
    again = written(alert()._replace(attempt=2), by)
    assert again.message_id == first.message_id
    assert parsed(again)["Date"].datetime - parsed(first)["Date"].datetime == timedelta(seconds=90)
    assert written(alert()._replace(key="other"), by).message_id != first.message_id


def test_many_openings_are_not_all_kept() -> None:
    by = letters()
    for event in range(200):
        written(alert(event=event + 1), by)
    assert len(by._kept) <= 64


# -- what anybody could write -----------------------------------------------------------------------------------------

NASTY: Final = (
    "<script>alert(1)</script>", 'quote " and \' and &amp;', "Subject\r\nBcc: eve@example.com", "a\n\n.\n\nb",
    "=[text:manage]", "\ufdd0manage\ufdd1", "=?utf-8?q?Bcc=3A?=", "{{ manageUrl }}{% raw %}", "x" * 3000, "课" * 400,
    "=" * 200, ". " * 90, "From here", "--=_boundary", "tail \u2028 end", "e\u0301" * 60, "\u202egnp.exe", "a\ud800b",
    "\x00\x1b[31m", "😀" * 50,
)  # fmt: skip


def _with_examples(test: Callable[..., None]) -> Callable[..., None]:
    for text in NASTY:
        test = example(text)(test)
    return test


@_with_examples
@settings(max_examples=300, deadline=None)
@given(st.text())
def test_whatever_a_title_is_the_mail_stays_whole(title: str) -> None:
    mail = written(alert(section(courseTitle=title, meetingSummary=f"M {title}", instructors=[title])))
    message = parsed(mail)
    said = one_line(title)
    assert sorted(message.keys()) == sorted(parsed(written(alert())).keys())
    assert message["Subject"] == mail.subject
    assert said[:120] in mail.subject
    assert body(message, "plain") == mail.text
    assert body(message, "html") == mail.html
    assert f"M {said}".rstrip() in mail.text
    assert html.escape(said, quote=False) in mail.html.replace("&#34;", '"').replace("&#39;", "'")
    word = "x" if said else ""
    assert set(_Seen(mail.html).tags) == set(
        _Seen(written(alert(section(courseTitle=word, instructors=[word]))).html).tags
    )
    lines = mail.raw.split(b"\r\n")
    assert max(map(len, lines)) <= 998
    assert not any(b"\n" in line or b"\r" in line for line in lines)
    mail.raw.decode("ascii")


@_with_examples
@settings(max_examples=200, deadline=None)
@given(st.text())
def test_whatever_a_fact_is_the_mail_stays_whole(text: str) -> None:
    mail = written(notice("ended", {"title": f"T {text}", "reason": f"R {text}"}))
    message = parsed(mail)
    assert message["Subject"] == mail.subject
    assert body(message, "plain") == mail.text
    assert body(message, "html") == mail.html
    assert one_line(f"R {text}") in mail.text
    assert mail.html.count("<script") == 0


def test_bodies_are_quoted_printable_with_short_lines() -> None:
    for parcel in every_kind("zh-CN"):
        _, _, rest = written(parcel).raw.partition(b"\r\n\r\n")
        assert max(map(len, rest.split(b"\r\n"))) <= 76


# -- what cannot be sent ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "contact",
    ["", "nobody", "a@b@c.example", "a b@c.example", "a@c.example\r\nBcc: eve@example.com", "ü@c.example", "a@",
     "a@" + "ü" * 70 + ".example", "<a@c.example>", "a@c.example, b@c.example"],
)  # fmt: skip
def test_an_address_that_cannot_be_mailed(contact: str) -> None:
    dead = refused(alert(person=ADA._replace(contact=contact)))
    assert (dead.code, dead.alarm) == ("invalid_recipient", False)
    assert not contact or contact not in dead.message


def test_an_address_is_trimmed_and_its_domain_written_in_ascii() -> None:
    assert written(alert(person=ADA._replace(contact=" Ada@Bücher.Example "))).to == "ada@xn--bcher-kva.example"


@pytest.mark.parametrize("name", ["manage_url", "unsubscribe_url"])
@pytest.mark.parametrize(
    "url",
    ["javascript:alert(1)", "https://x.example/\r\nBcc: eve@example.com", "https://x.example/ a", "https://x/<b>"],
)
def test_an_address_of_ours_that_is_odd_stops_the_mail(name: str, url: str) -> None:
    changed: dict[str, Any] = {name: url}
    dead = refused(alert(person=ADA._replace(**changed)))
    assert (dead.code, dead.alarm) == ("validation_error", True)


def test_a_verification_without_its_link_is_not_sent() -> None:
    assert refused(verification(ADA._replace(verify_url=""))).code == "validation_error"


def test_a_job_that_breaks_the_contract_is_not_sent() -> None:
    dead = refused(alert()._replace(notification_id=0))
    assert dead.code == "validation_error"
    assert dead.message == "the mail job is not valid: notificationId: Input should be greater than or equal to 1"
    assert refused(alert(person=ADA._replace(status="asleep"))).code == "validation_error"
    assert refused(alert(person=ADA._replace(manage_url=""))).code == "validation_error"


def test_a_missing_fact_is_named() -> None:
    dead = refused(notice("source_unreadable", {"what": "the open list"}))
    assert (dead.code, dead.alarm) == ("template_variable_missing", True)
    assert dead.message == "template source_unreadable needs since"
    null = refused(notice("ended", {**FACTS, "title": None}))
    assert null.message == "template ended needs title"


def test_a_notice_without_a_template() -> None:
    dead = refused(notice("no_such"))
    assert (dead.code, dead.message) == ("validation_error", "there is no mail for a notice no_such")
    assert refused(Parcel(1, Kind.ALERT, "k", "t", 1, ADA)).code == "validation_error"


def test_a_trace_id_that_is_odd_is_left_out() -> None:
    assert "X-Trace-Id" not in parsed(written(alert()._replace(trace_id="a\r\nBcc: eve@example.com")))


# -- settings ---------------------------------------------------------------------------------------------------------


def test_every_mail_goes_to_the_override() -> None:
    mail = written(alert(), letters(override_recipient="Try@Example.org"))
    assert (mail.to, parsed(mail)["To"]) == ("try@example.org", "try@example.org")
    assert b"ada@example.com" not in mail.raw


def test_a_sender_in_any_alphabet() -> None:
    mail = written(alert(), letters(sender="空位提醒 <a@b.example>", reply_to=None))
    message = parsed(mail)
    assert message["From"].addresses[0].display_name == "空位提醒"
    assert message["From"].addresses[0].addr_spec == "a@b.example"
    assert "Reply-To" not in message


@pytest.mark.parametrize("name", ["sender", "reply_to"])
def test_a_sender_without_an_address_stops_the_start(name: str) -> None:
    changed: dict[str, Any] = {name: "Vacancy"}
    with pytest.raises(SettingsError, match=f"email.{name}: must be a mail address"):
        letters(**changed)


@pytest.mark.parametrize(("base", "host"), [("http://127.0.0.1:8000", "127.0.0.1"), ("http://[::1]:8000", "[::1]"),
                                            ("https://bücher.example", "xn--bcher-kva.example")])  # fmt: skip
def test_the_message_id_names_our_host(base: str, host: str) -> None:
    mail = written(alert(), Letters(Settings(base_url=base), ManualClock()))
    assert mail.message_id.partition("@")[2] == host
    assert parsed(mail)["Message-ID"] == f"<{mail.message_id}>"


# -- templates --------------------------------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    shutil.copytree(ROOT, tmp_path / "mail")
    return tmp_path / "mail"


def broken(root: Path) -> str:
    with pytest.raises(SettingsError) as stopped:
        letters(root=root)
    assert "\n" not in str(stopped.value)
    return str(stopped.value)


def test_a_copy_of_the_templates_works(copy: Path) -> None:
    (copy / "ended.en-US.subject.j2").write_text("Over and out: {{ title }}")
    assert written(notice("ended"), letters(root=copy)).subject == "Over and out: Data Structures"


@pytest.mark.parametrize("name", sorted(TEMPLATES))
@pytest.mark.parametrize("locale", LOCALES)
@pytest.mark.parametrize("kind", ["html", "txt", "subject"])
def test_a_missing_template_stops_the_start(copy: Path, name: str, locale: str, kind: str) -> None:
    (copy / f"{name}.{locale}.{kind}.j2").unlink()
    assert f"{name}.{locale}.{kind}.j2: cannot be read" in broken(copy)


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new), "utf-8")


def test_a_template_that_leaves_something_out_stops_the_start(copy: Path) -> None:
    change(copy / "ended.zh-CN.txt.j2", "{{ reason }}", "")
    assert "ended.zh-CN.txt.j2: does not use 'reason'" in broken(copy)


def test_a_frame_without_the_way_out_stops_the_start(copy: Path) -> None:
    change(copy / "frame.html.j2", "{{ unsubscribeUrl }}", "#")
    assert "html.j2: does not use 'unsubscribeUrl'" in broken(copy)


def test_a_template_with_a_strange_variable_stops_the_start(copy: Path) -> None:
    change(copy / "open-seat.en-US.subject.j2", "{{ what }}", "{{ seats }}")
    assert "open-seat.en-US.subject.j2: uses 'seats', which no open-seat mail has" in broken(copy)


def test_a_strange_member_stops_the_start(copy: Path) -> None:
    change(copy / "open-seat.en-US.txt.j2", "section.instructors }}", "section.seats }}")
    assert "template open-seat in en-US: 'dict object' has no attribute 'seats'" in broken(copy)


def test_a_template_that_is_no_template_stops_the_start(copy: Path) -> None:
    change(copy / "verification.zh-CN.html.j2", "{{ contactValue }}", "{{ contactValue }")
    assert re.search(r"verification\.zh-CN\.html\.j2: line \d+: ", broken(copy))


def test_a_tag_where_html_has_no_room_stops_the_start(copy: Path) -> None:
    change(copy / "ended.en-US.html.j2", "{{ reason }}", "{{ reason if 1 < 2 else title }}")
    assert "ended.en-US.html.j2: has a template tag where HTML has no room for text" in broken(copy)


def test_a_date_is_the_clocks() -> None:
    assert isinstance(parsed(written(alert()))["Date"].datetime, datetime)
    assert parsed(written(alert()))["Date"].datetime == START
