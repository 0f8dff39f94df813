"""`mdt-fast study`: the published study on the data at hand, as a document with tables and figures."""

from __future__ import annotations

import time
from pathlib import Path

from ..study.paper import QUICK, WHOLE, compare, run_paper, write_results
from .console import Console
from .outputs import OutputError
from .pictures import figures_closed, prepare_pictures


def run(output: Path, quick: bool, seed: int, n_jobs: int, command: str, console: Console) -> None:
    """Run the study, or what is left of it; rows are kept from the first one on."""
    goes_on = "interrupted; the same command goes on from here"
    with console.exit_codes(interrupted=goes_on):
        prepare_pictures("mdt-fast study")
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"--output: expected a folder that can be written to, got {output}: {error}") from None
        began = time.perf_counter()
        with console.collect_warnings():
            study = run_paper(
                QUICK if quick else WHOLE,
                rows=output / "rows.csv",
                random_state=seed,
                n_jobs=n_jobs,
                progress=console.shows_progress,
                say=console.say,
            )
        with figures_closed():
            written = write_results(study, output, command)
        table = study.tables["published"]
        console.say(f"\n{table.to_markdown()}\n")
        cells = list(compare(table))
        agreeing = sum(cell.agrees for cell in cells)
        console.say(f"{agreeing} of {len(cells)} published cells are within two standard deviations.")
        console.say(f"{(time.perf_counter() - began) / 60:.1f} minutes; see {output / 'results.md'}")
        console.document(
            {
                "cells": len(cells),
                "agreeing": agreeing,
                "missing": study.missing,
                "files": [str(path) for path in (output / "rows.csv", *written)],
            }
        )
