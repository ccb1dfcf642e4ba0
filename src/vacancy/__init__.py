"""Vacancy tells people the moment something opens."""

__version__ = "0.1.0"
