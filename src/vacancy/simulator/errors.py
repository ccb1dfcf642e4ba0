"""What a caller of the simulator can get wrong."""

from __future__ import annotations

from vacancy.errors import VacancyError


class SimulatorError(VacancyError):
    """The simulator was asked for something that it cannot do."""


class UnknownTargetError(SimulatorError):
    """No such term and campus here."""
