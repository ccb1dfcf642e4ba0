"""What can be wrong with a form. templates/words.html has the words for each."""

from __future__ import annotations

from enum import StrEnum


class Problem(StrEnum):
    """Beside a field."""

    EMAIL_MISSING = "email_missing"
    EMAIL_WRONG = "email_wrong"
    EMAIL_SUPPRESSED = "email_suppressed"
    ALERTS_WRONG = "alerts_wrong"
    TIME_WRONG = "time_wrong"
    QUIET_HALF = "quiet_half"
    QUIET_ALWAYS = "quiet_always"
    INDEX_WRONG = "index_wrong"


class Notice(StrEnum):
    """Above the form: of the whole of it."""

    TOO_FAST = "too_fast"
    TOO_OLD = "too_old"
    TOO_OFTEN = "too_often"
    TOO_MANY = "too_many"
    NO_SUCH_TOPIC = "no_such_topic"
    NOT_WATCHED = "not_watched"
    ELSEWHERE = "elsewhere"
    SAVED = "saved"
    PAUSED = "paused"
    RESUMED = "resumed"
    AWAKE = "awake"
    NOT_NOW = "not_now"
