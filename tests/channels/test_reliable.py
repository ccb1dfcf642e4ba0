"""Tries inside one try: which failures are repeated, after how long, and how fast mails may go at all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from tests.support.clock import ManualClock, settle
from tests.support.mails import mail
from vacancy.channels.attempt import Attempt
from vacancy.channels.bucket import Bucket
from vacancy.channels.mail import MailMessage, SendResult
from vacancy.channels.reliable import ReliableMailSender
from vacancy.clock import Dice

Answer = Callable[[Attempt], SendResult]


def sent(attempt: Attempt) -> SendResult:
    return attempt.sent("m1")


def unconnected(attempt: Attempt) -> SendResult:
    return attempt.retryable("network_error", "no connection", begun=False)


class Scripted:
    """A sender that answers by the list, and notes when it was asked."""

    provider = "scripted"

    def __init__(self, clock: ManualClock, answers: Sequence[Answer | Exception], takes_s: float = 0) -> None:
        self._clock = clock
        self._answers = list(answers)
        self._takes_s = takes_s
        self.asked_at: list[float] = []
        self.messages: list[MailMessage] = []
        self.closed = False

    async def send(self, message: MailMessage) -> SendResult:
        self.messages.append(message)
        return await self.verify()

    async def verify(self) -> SendResult:
        self.asked_at.append(self._clock.monotonic())
        attempt = Attempt.begin(self.provider, self._clock)
        if self._takes_s:
            await self._clock.sleep(self._takes_s)
        answer = self._answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer(attempt)

    async def close(self) -> None:
        self.closed = True


class LongestDice(Dice):
    def jitter(self, seconds: float, share: float) -> float:
        return seconds * (1 + share)


class ShortestDice(Dice):
    def jitter(self, seconds: float, share: float) -> float:
        return seconds * (1 - share)


def run(
    answers: Sequence[Answer | Exception], *, dice: Dice | None = None, takes_s: float = 0
) -> tuple[SendResult, Scripted]:
    async def main() -> tuple[SendResult, Scripted]:
        clock = ManualClock()
        scripted = Scripted(clock, answers, takes_s)
        sender = ReliableMailSender(scripted, clock, dice or ShortestDice())
        sending = asyncio.ensure_future(sender.send(mail()))
        await clock.advance(60)
        return await sending, scripted

    return asyncio.run(main())


def test_a_mail_that_is_taken_is_handed_over_once() -> None:
    result, scripted = run([sent], takes_s=0.25)
    assert (result.status, result.attempt, result.duration_ms) == ("sent", 1, 250)
    assert (result.provider, result.provider_message_id) == ("scripted", "m1")
    assert scripted.asked_at == [0]


def test_a_connection_is_tried_three_times() -> None:
    result, scripted = run([unconnected] * 3)
    assert (result.status, result.attempt, result.duration_ms, result.begun) == ("retryable", 3, 9000, False)
    assert scripted.asked_at == pytest.approx([0, 2, 9])
    result, scripted = run([unconnected, sent], takes_s=0.5)
    assert (result.status, result.attempt, result.duration_ms) == ("sent", 2, 3000)
    assert scripted.asked_at == pytest.approx([0, 2.5])


def test_the_same_message_goes_out_each_time() -> None:
    _, scripted = run([unconnected, sent])
    assert scripted.messages[0] is scripted.messages[1]


def test_jitter_only_adds() -> None:
    _, scripted = run([unconnected] * 3, dice=LongestDice())
    assert scripted.asked_at == pytest.approx([0, 2.5, 2.5 + 8.75])
    _, scripted = run([unconnected] * 3, dice=Dice(7))
    first, second = scripted.asked_at[1], scripted.asked_at[2] - scripted.asked_at[1]
    assert 2 < first < 2.5
    assert 7 < second < 8.75


@pytest.mark.parametrize(("asked_s", "waited"), [(1, 2), (5, 5), (10, 10)])
def test_whoever_asks_for_longer_is_given_longer(asked_s: float, waited: float) -> None:
    def later(attempt: Attempt) -> SendResult:
        return attempt.retryable("network_error", "no", after_s=asked_s, begun=False)

    _, scripted = run([later, sent])
    assert scripted.asked_at == pytest.approx([0, waited])


@pytest.mark.parametrize(
    "answer",
    [
        lambda attempt: attempt.retryable("network_error", "asked to wait", after_s=11, begun=False),
        lambda attempt: attempt.retryable("network_error", "lost after DATA"),
        lambda attempt: attempt.retryable("provider_error", "450 mailbox busy"),
        lambda attempt: attempt.retryable("rate_limited", "429", after_s=1, begun=False),
        lambda attempt: attempt.failed("unauthorized", "535", begun=False),
        lambda attempt: attempt.failed("network_error", "no certificate", begun=False),
        lambda attempt: attempt.failed("invalid_recipient", "550"),
    ],
)
def test_all_else_is_given_back_at_once(answer: Answer) -> None:
    result, scripted = run([answer])
    assert result.attempt == 1
    assert scripted.asked_at == [0]
    plain = answer(Attempt.begin("scripted", ManualClock()))
    assert (result.status, result.error, result.retry_after_s, result.begun) == (
        plain.status, plain.error, plain.retry_after_s, plain.begun
    )  # fmt: skip


@pytest.mark.parametrize("raised", [OSError("ann.lee@example.com refused"), TimeoutError(), ConnectionResetError()])
def test_what_is_raised_is_a_result_and_nobody_knows_how_far_it_came(raised: Exception) -> None:
    result, scripted = run([raised])
    assert (result.status, result.begun, result.attempt) == ("retryable", True, 1)
    assert result.error is not None
    assert result.error.code == "network_error"
    assert result.error.message == f"scripted: {type(raised).__name__}"
    assert len(scripted.asked_at) == 1


def test_a_mistake_of_ours_is_not_hidden() -> None:
    with pytest.raises(KeyError):
        run([KeyError("x")])


def test_verify_and_close_go_through() -> None:
    async def main() -> None:
        clock = ManualClock()
        scripted = Scripted(clock, [unconnected, OSError("x"), sent])
        sender = ReliableMailSender(scripted, clock, Dice(1))
        told = [(await sender.verify()).status for _ in range(3)]
        assert told == ["retryable", "retryable", "sent"]
        assert scripted.asked_at == [0, 0, 0], "a probe is asked again soon anyway"
        await sender.close()
        assert scripted.closed

    asyncio.run(main())


def bucket_moments(per_second: float, burst: float, comers: Callable[[ManualClock, Bucket], Awaitable[None]]) -> None:
    async def main() -> None:
        clock = ManualClock()
        await comers(clock, Bucket(clock, per_second=per_second, burst=burst))

    asyncio.run(main())


def test_a_bucket_gives_a_burst_and_then_its_rate_in_order() -> None:
    async def comers(clock: ManualClock, bucket: Bucket) -> None:
        served: list[tuple[int, float]] = []

        async def one(number: int) -> None:
            waited = await bucket.take()
            assert waited == pytest.approx(clock.monotonic())
            served.append((number, clock.monotonic()))

        tasks = [asyncio.ensure_future(one(number)) for number in range(6)]
        await clock.advance(10)
        await asyncio.gather(*tasks)
        assert [number for number, _ in served] == list(range(6))
        assert [moment for _, moment in served] == pytest.approx([0, 0, 0, 0.5, 1, 1.5])

    bucket_moments(2, 3, comers)


def test_a_rested_bucket_holds_no_more_than_its_burst() -> None:
    async def comers(clock: ManualClock, bucket: Bucket) -> None:
        for _ in range(2):
            await bucket.take()
        clock.pass_time(100)
        assert [await bucket.take() for _ in range(2)] == [0, 0]
        waiting = asyncio.ensure_future(bucket.take())
        await clock.advance(0.09)
        assert not waiting.done()
        await clock.advance(0.02)
        assert await waiting == pytest.approx(0.1)

    bucket_moments(10, 2, comers)


def test_whoever_leaves_the_queue_leaves_a_place() -> None:
    async def comers(clock: ManualClock, bucket: Bucket) -> None:
        await bucket.take()
        leaver = asyncio.ensure_future(bucket.take())
        await settle()
        leaver.cancel()
        await settle()
        waiting = asyncio.ensure_future(bucket.take())
        await clock.advance(1)
        assert await waiting == 1

    bucket_moments(1, 1, comers)


def test_every_try_takes_a_token() -> None:
    async def main() -> None:
        clock = ManualClock()
        scripted = Scripted(clock, [unconnected, sent, sent])
        sender = ReliableMailSender(scripted, clock, ShortestDice(), Bucket(clock, per_second=0.1, burst=1))
        sending = asyncio.ensure_future(sender.send(mail()))
        await clock.advance(30)
        assert (await sending).status == "sent"
        assert scripted.asked_at == [0, 10]

    asyncio.run(main())
