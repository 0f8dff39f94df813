"""The tools that measure reliability, on small operations."""

from __future__ import annotations

import random
import signal

import pytest
from tests.fuzz.targets import all_targets
from tests.reliability import interrupts, memory_caps, report
from tests.reliability.operations import OPERATIONS, is_covered


def test_every_public_function_is_interrupted_or_quick():
    assert [name for name in all_targets() if not is_covered(name)] == []


def test_operations_have_different_names():
    names = [operation.name for operation in OPERATIONS]
    assert len(set(names)) == len(names)


def test_interrupt_of_one_operation_is_measured():
    operation = next(each for each in OPERATIONS if each.target == "datasets.make_multiview_blobs")
    found = interrupts.measure(operation, 1, random.Random(0))
    assert found.fault is None
    assert len(found.cpu) == len(found.wall) == 1
    assert found.wall[0] > 0
    assert "make_multiview_blobs" in interrupts.row(found)


def test_a_late_interrupt_is_a_fault():
    found = interrupts.Latency(OPERATIONS[0], [0.1, interrupts.BOUND + 1], [0.1, 9.0])
    assert found.is_fault
    assert "above the bound" in interrupts.row(found)


@pytest.mark.parametrize(("cap", "outcome"), [(0, "success"), (2**16, "MemoryError")])
def test_memory_limits_are_applied(cap, outcome):
    assert memory_caps._run("toarray", 2000, cap).split()[0] == outcome


def test_aborts_are_faults():
    found = memory_caps.Outcomes("x", 1.0)
    found.counts.update({"success": 3, "MemoryError": 6, signal.SIGABRT.name: 1})
    assert found.n_faults == 1
    assert "1 x SIGABRT" in memory_caps.row(found)


def test_page_is_written_from_its_template(tmp_path):
    figure = report.Figure("kills", "0 faults in 5", "0", "Text of $1.", is_reached=True)
    figures = dict.fromkeys(("api", "files", "kills", "interrupts", "caps"), figure)
    sizes = {"n_calls": 1, "n_files": 1, "samples": "1", "sizes": ""}
    report.write_page(figures, sizes, tmp_path / "page.md")
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert page.count("Text of $1.") == 5
    assert "| kills | 0 faults in 5 | 0 |" in page
