"""The command `mdt-fast study`, which repeats the published study."""

import time
from pathlib import Path

from ..study.paper import QUICK, WHOLE, compare, run_paper, write_results
from .console import Console
from .outputs import OutputError
from .pictures import figures_closed, prepare_pictures


def run(output: Path, quick: bool, seed: int, n_jobs: int, command: str, console: Console) -> None:
    """Run the study; rows of an earlier run in the same folder are not computed again."""
    with console.exit_codes("the same command resumes the study"):
        prepare_pictures("mdt-fast study")
        try:
            output.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise OutputError(f"--output: expected a folder that can be written to, got {output}: {error}") from None
        start = time.perf_counter()
        with console.collect_warnings():
            study = run_paper(
                QUICK if quick else WHOLE,
                rows=output / "rows.csv",
                random_state=seed,
                n_jobs=n_jobs,
                progress=console.shows_progress,
                say=console.print,
            )
        with figures_closed():
            written = write_results(study, output, command)
        table = study.tables["published"]
        console.print(f"\n{table.to_markdown()}\n")
        cells = list(compare(table))
        agreeing = sum(cell.agrees for cell in cells)
        console.print(f"{agreeing} of {len(cells)} published cells are within two standard deviations.")
        console.print(f"{(time.perf_counter() - start) / 60:.1f} minutes; results: {output / 'results.md'}")
        console.document(
            {
                "cells": len(cells),
                "agreeing": agreeing,
                "missing": study.missing,
                "files": [str(path) for path in (output / "rows.csv", *written)],
            }
        )
