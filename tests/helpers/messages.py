"""Patterns that match messages of errors."""

from __future__ import annotations

EITHER = (TypeError, ValueError)


def mentions(*fragments):
    """A pattern that finds all the fragments (regular expressions), in any order and case."""
    return "(?is)" + "".join(f"(?=.*(?:{fragment}))" for fragment in fragments)


def number(value):
    """The number by itself, not as a part of a longer one, with or without decimals."""
    return rf"(?<![\d.]){value}(?:\.0*)?(?!\.?\d)"
