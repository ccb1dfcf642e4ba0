"""Mail."""

from __future__ import annotations

from email_validator import EmailNotValidError, validate_email

from vacancy.settings import Settings

NAME = "email"
_LONGEST = 254


class Email:
    name = NAME
    verifies = True

    def contact(self, text: str) -> str:
        """`Name <A@B.example>` and `a@b.example` are one address: a name is dropped, the whole is lower-cased."""
        if len(text) > _LONGEST:
            raise ValueError(f"must be at most {_LONGEST} characters")
        try:
            # Whether the domain takes mail is found out by mailing, not by asking name servers for strangers.
            found = validate_email(text.strip(), allow_display_name=True, check_deliverability=False,
                                   test_environment=True)  # fmt: skip
        except EmailNotValidError as problem:
            raise ValueError(str(problem)) from problem
        return found.normalized.lower()


def build(_settings: Settings) -> Email:
    return Email()
