"""Printable names, and cells of CSV files."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mdt_fast._support.text import from_cell, printable, to_cell


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢 😀", "plain é 漢 😀"),
        ("bell\x07", r"bell\x07"),
        ("a\tb\nc\r", r"a\tb\nc\r"),
        ("\x00\x7f\x9f", r"\x00\x7f\x9f"),
        ("\ufffe\uffff", r"\ufffe\uffff"),
        ("caf\udce9", r"caf\udce9"),
        ("abc\u202edef", r"abc\u202edef"),
    ],
)
def test_printable(text, shown):
    assert printable(text) == shown
    printable(text).encode()


def test_printable_keeps_what_is_asked_for():
    assert printable("a\tb\x07", keep="\t") == "a\tb\\x07"


@pytest.mark.parametrize("text", ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\tx", "\rx", "'=x", "''@x"])
def test_formulas_are_made_harmless(text):
    assert to_cell(text) == f"'{text}"
    assert from_cell(to_cell(text)) == text


@pytest.mark.parametrize("text", ["-1", "+1.5e3", "-0.0", "cell 1", "'quoted'", "", "a=b", "1-2"])
def test_numbers_and_other_text_stay(text):
    assert to_cell(text) == text
    assert from_cell(text) == text


@given(st.text(alphabet=st.sampled_from("'=+-@\t\r\n1.e,\"x"), max_size=6))
@example("-1")
@example("'-1")
def test_cells_round_trip(text):
    file = io.StringIO(newline="")
    csv.writer(file).writerow([to_cell(text), "end"])
    ((cell, _),) = csv.reader(io.StringIO(file.getvalue(), newline=""))
    assert from_cell(cell) == text
