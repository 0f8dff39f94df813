"""Fuzzing of the public functions, constructors, methods and properties.

python -m tests.fuzz.api --calls 100000            # in worker processes
python -m tests.fuzz.api --seed 123 --only 1       # case 123 in this process, with all that it gives and raises
"""

from __future__ import annotations

import argparse
import inspect
import reprlib
import sys
import traceback
import warnings
from typing import Any

import numpy as np

import mdt_fast as mdt

from . import command
from .arguments import draw_arguments
from .draw import Draw
from .errors import fault_of, is_documented
from .objects import instance
from .promises import (
    BrokenPromiseError,
    check_independence,
    check_present,
    check_result,
    check_round_trips,
    compare,
    digest,
)
from .targets import Target, all_targets
from .workers import Announce, Report

# Numbers of threads whose results have to agree.
_JOBS = (1, 3)
# Results that are pictures or files: nothing to compare.
_NO_VALUES = (
    "plot.",
    "ClusterSelection.plot",
    "datasets.get_data_home",
    "datasets.fetch",
    "study.run",
    "study.Table",
    "Scoring",
)


def choose_target(draw: Draw) -> Target:
    """Return the target of a case."""
    targets = list(all_targets().values())
    weights = np.array([target.weight for target in targets])
    return targets[int(draw.rng.choice(len(targets), p=weights / weights.sum()))]


class Call:
    """One drawn call; drawing it again gives the same call with fresh arguments."""

    def __init__(self, case: int, jobs: int) -> None:
        self.draw = Draw(case, jobs)
        self.target = choose_target(self.draw)
        self.arguments: dict[str, Any] = {}
        self.names: list[str] = list(self.target.parameters)
        if self.target.owner is not None and hasattr(self.target.owner, "fit"):
            self.names += inspect.signature(self.target.owner).parameters
        if "quality" in self.names:
            # A Scoring has arguments of its own.
            self.names += inspect.signature(mdt.Scoring).parameters

    def prepare(self) -> None:
        """Make the object and the arguments."""
        target, draw = self.target, self.draw
        self.owner = None
        if target.owner is not None and not target.constructs:
            self.owner = instance(draw, target.owner)
        self.arguments = draw_arguments(draw, target)

    def has_absences(self) -> bool:
        """Return whether an operator set among the arguments lacks samples."""
        given = [self.owner, *self.arguments.values()]
        sets = [getattr(each, "operators", each) for each in given]
        return any(isinstance(each, mdt.OperatorSet) and each.has_absences for each in sets)

    def check_present(self, ops: mdt.OperatorSet) -> None:
        """Raise if operators of drawn views have other samples than were drawn."""
        known, masks = self.draw.known, self.draw.masks
        if known is None or masks is None:
            return
        masks = masks if self.arguments.get("present") is not None else []
        expected = [has & mask for has, mask in zip(known, masks, strict=True)] if masks else known
        check_present(ops, expected, self.arguments["Xs"], self.arguments.get("zero_rows", "absent"))

    def run(self) -> Any:
        """Call the function."""
        target, arguments = self.target, dict(self.arguments)
        if target.member is None:
            return target.function(**arguments)
        owner = self.owner
        if target.constructs:
            own = inspect.signature(getattr(target.owner, target.member)).parameters
            given = {name: arguments.pop(name) for name in list(arguments) if name in own}
            assert target.owner is not None
            owner = target.owner(**arguments)
            return getattr(owner, target.member)(**given)
        value = getattr(owner, target.member)
        if not callable(value) or isinstance(inspect.getattr_static(target.owner, target.member), property):
            return value
        # Operators of Python take no keywords.
        return value(*arguments.values()) if target.member.startswith("__") else value(**arguments)


def run_case(case: int, announce: Announce, *, loud: bool = False) -> Report:
    """Draw a call, run it, and check what it promises."""
    first = Call(case, _JOBS[0])
    name = first.target.name
    announce(name)

    def report(outcome: str, detail: str = "", *, is_fault: bool = True) -> Report:
        return Report(case, name, outcome, detail, is_fault)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            first.prepare()
            if loud:
                _show(first)
            before = digest(first.arguments)
            value = first.run()
        except BaseException as error:
            if loud:
                traceback.print_exc()
            views = first.draw.view_names
            fault = fault_of(error, first.names, views, looks_up=name.endswith("__getitem__"))
            if fault is not None:
                return report(fault, f"{type(error).__name__}: {error}"[:300])
            return report("out of memory" if isinstance(error, MemoryError) else "refused", is_fault=False)
        if loud:
            print("->", reprlib.repr(value))
        if "plot" in name:
            _close_figures()
        if first.draw.must_refuse and not name.startswith("Trajectory."):
            return report("accepted what is wrong", first.draw.must_refuse)
        for each in caught:
            if not is_documented(each.message) and "mdt_fast" in each.filename:
                return report("undocumented warning", f"{each.category.__name__}: {each.message}"[:300])
        try:
            compare(before, digest(first.arguments), "arguments changed")
            if not name.startswith(_NO_VALUES):
                check_result(name, value, has_absences=first.has_absences())
                if name == "build_operators":
                    first.check_present(value)
                check_round_trips(value)
                if first.draw.repeatable:
                    second = Call(case, _JOBS[1])
                    second.prepare()
                    compare(digest(value), digest(second.run()), "second run at another number of threads")
                if name == "build_operators" or name.endswith(".fit"):
                    check_independence(value, first.arguments.get("X", first.arguments.get("Xs")))
        except BrokenPromiseError as broken:
            return report("broken promise", str(broken))
        except BaseException as error:
            if loud:
                traceback.print_exc()
            return report("failed after an answer", f"{type(error).__name__}: {error}"[:300])
    return report("answered", is_fault=False)


def _close_figures() -> None:
    from matplotlib import pyplot

    pyplot.close("all")


def _show(call: Call) -> None:
    print(f"{call.target.name}  (n={call.draw.n}, views={call.draw.n_views})")
    if call.owner is not None:
        print("  on", reprlib.repr(call.owner))
    for name, value in call.arguments.items():
        print(f"  {name} = {type(value).__name__}: {reprlib.repr(value)}")


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.api", description=__doc__)
    return command.run("api", parser, run_case, argv)


if __name__ == "__main__":
    sys.exit(main())
