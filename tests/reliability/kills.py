"""Kill a job with SIGKILL again and again, and count what is torn, lost or different afterwards.

    python tests/reliability/kills.py --kills 100

A job runs in a new process, which is killed after a random time or at its n-th operation on a file of
its folder, for n = 1, 2, 3 ... The files are checked after every kill. Finally the job runs to its end,
and its results are compared with those of a job that was never killed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

import mdt_fast as mdt
from mdt_fast._search.checkpoint import _digest
from mdt_fast.strategies import Beam, Consensus
from mdt_fast.study._rows import read_rows

# Imported once by the server from which the processes are forked.
_PRELOAD = ["mdt_fast", "mdt_fast.study", "mdt_fast._cli.main", "mdt_fast._cli.job", "sklearn.metrics", "click"]
# Audit events of operations that change files.
_EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.truncate", "os.chmod"}
# Most runs for each kill: some end before.
_RUNS = 5
# Seconds after which a job that should end is a failure.
_LONGEST = 120


@dataclass
class Counts:
    """What happened to a job: kills, runs that ended before their kill, and failures of each kind."""

    job: str
    moments: str
    kills: int = 0
    finished: int = 0
    torn: int = 0
    lost: int = 0
    different: int = 0
    stray: int = 0
    details: list[str] = field(default_factory=list)

    @property
    def failures(self) -> int:
        """The number of failures."""
        return self.torn + self.lost + self.different + self.stray


class Search:
    """A search with a checkpoint; `kind` is the strategy."""

    def __init__(self, kind: str = "beam") -> None:
        self.name = f"search {kind}"
        self._kind = kind

    def prepare(self, folder: Path) -> None:
        """Nothing is read from files."""

    def run(self, folder: Path) -> None:
        generator = np.random.default_rng(0)
        clusters = np.arange(60) % 3
        views = [2 * generator.normal(size=(3, 2))[clusters] + generator.normal(size=(60, 2)) for _ in range(3)]
        ops = mdt.build_operators(views, n_neighbors=20, n_jobs=1)
        strategies = {"beam": Beam(max_steps=4), "consensus": Consensus(trajectories=24)}
        options = {"strategy": strategies[self._kind], "t": 3, "progress": False, "checkpoint": folder / "search.json"}
        if self._kind == "beam":
            options["quality"] = _slow_quality
        found = mdt.search(ops, 3, **options)
        answer = {
            "candidates": [np.asarray(each).tolist() for each in found.candidates],
            "score": found.history["score"].tolist(),
            "labels": found.labels.tolist(),
        }
        (folder / "answer.json").write_text(json.dumps(answer))

    def check(self, folder: Path) -> int:
        """Return the number of evaluations in the checkpoint; raise ValueError if it is torn."""
        path = folder / "search.json"
        if not path.exists():
            return 0
        content = json.loads(path.read_text())
        if content.pop("digest") != _digest(content):
            raise ValueError("search.json: the digest is wrong")
        return len(content["evaluations"])

    def results(self, folder: Path) -> object:
        return json.loads((folder / "answer.json").read_text())

    def forget(self, folder: Path) -> None:
        """Let the next run begin anew."""
        (folder / "search.json").unlink()

    expected_files = ("answer.json", "search.json")


def _slow_quality(ops, labels, coordinates):
    time.sleep(0.003)
    return mdt.quality.calinski_harabasz(ops, labels)


class Command:
    """`mdt-fast cluster` over the results of an earlier run with another seed."""

    name = "command"
    _same = ("labels.csv", "coordinates.csv", "trajectory.json")
    expected_files = ("out", "views.npz")

    def prepare(self, folder: Path) -> None:
        generator = np.random.default_rng(0)
        clusters = np.arange(80) % 3
        views = [generator.normal(size=(3, 3))[clusters] + generator.normal(size=(80, 3)) for _ in range(2)]
        np.savez(folder / "views.npz", camera=views[0], scanner=views[1])
        self._known = {name: set() for name in self._same}
        for job in (self, self.other):
            assert run_once(job, folder) == 0
            for name in self._same:
                self._known[name].add((folder / "out" / name).read_bytes())

    def run(self, folder: Path, seed: int = 0) -> None:
        from mdt_fast._cli.main import cli

        os.chdir(folder)
        argv = ["cluster", "views.npz", "-n", "3", "--t", "2", "--strategy", "random", "--seed", str(seed)]
        cli([*argv, "--no-report", "--quiet", "-o", "out"], prog_name="mdt-fast")

    def check(self, folder: Path) -> int:
        """Raise ValueError if a file is neither the old nor the new one, or does not fit the manifest."""
        out = folder / "out"
        for name, known in self._known.items():
            if (out / name).read_bytes() not in known:
                raise ValueError(f"{name}: neither the old nor the new content")
        json.loads((out / "search.json").read_text())
        check_manifest(out)
        return 0

    def results(self, folder: Path) -> object:
        return {name: (folder / "out" / name).read_text() for name in self._same}

    def forget(self, folder: Path) -> None:
        """Put back the results of another seed, so that new files differ from old ones."""
        assert run_once(self.other, folder) == 0

    @property
    def other(self) -> object:
        """The command with another seed."""
        return _Other(self)


class _Other:
    """The command with another seed."""

    def __init__(self, command: Command) -> None:
        self._command = command

    def run(self, folder: Path) -> None:
        self._command.run(folder, seed=1)


class Study:
    """A study that appends rows to a file."""

    name = "study"
    expected_files = ("rows.csv",)

    def prepare(self, folder: Path) -> None:
        """Nothing is read from files."""

    def run(self, folder: Path) -> None:
        blobs = mdt.datasets.make_multiview_blobs(60, n_clusters=3, cluster_std=4.0, random_state=0)
        methods = ["AD", "MDT-Rand", "MDT-Cvx-Rand"]
        mdt.study.run({"two\nlines": blobs}, methods, n_runs=4, rows=folder / "rows.csv", progress=False)

    def check(self, folder: Path) -> int:
        """Return the number of rows; raise ValueError if one is torn."""
        return len(read_rows(folder / "rows.csv")) if (folder / "rows.csv").exists() else 0

    def results(self, folder: Path) -> object:
        timeless = [{**asdict(row), "seconds": 0} for row in read_rows(folder / "rows.csv")]
        return sorted(timeless, key=lambda row: (row["method"], row["search"], row["run"]))

    def forget(self, folder: Path) -> None:
        """Let the next run begin anew."""
        (folder / "rows.csv").unlink()


JOBS = {"beam": lambda: Search("beam"), "consensus": lambda: Search("consensus"), "command": Command, "study": Study}


def check_manifest(out: Path) -> bool:
    """Return whether there is a manifest; raise ValueError if the files are not those that it lists."""
    try:
        listed = json.loads((out / "manifest.json").read_text())["files"]
    except FileNotFoundError:
        return False
    for name, entry in listed.items():
        content = (out / name).read_bytes()
        if entry != {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}:
            raise ValueError(f"{name}: not the file of the manifest")
    return True


def kill_loop(job, folder: Path, n_kills: int, *, moments: str = "time", seed: int = 0) -> Counts:
    """Kill a job `n_kills` times, then let it finish, and return what went wrong.

    Parameters
    ----------
    job : Search, Command or Study
        The job.
    folder : Path
        An empty folder.
    n_kills : int
        Number of kills; runs that end before they are killed count as `finished`.
    moments : {"time", "file"}, default="time"
        Whether a run is killed after a random time, or at its n-th operation on a file of the folder.
    seed : int, default=0
        Seed of the random times.
    """
    folder = folder.resolve()
    reference, killed = folder / "reference", folder / "killed"
    for place in (reference, killed):
        place.mkdir()
        job.prepare(place)
    for _ in range(2):
        # The first run also starts the server of processes.
        began = time.monotonic()
        assert run_once(job, reference) == 0
        seconds = time.monotonic() - began
        job.forget(reference)
    assert run_once(job, reference) == 0
    counts, generator, n_known, at = Counts(job.name, moments), np.random.default_rng(seed), 0, 0
    for number in range(_RUNS * n_kills):
        if counts.kills == n_kills:
            break
        at += 1
        limit = {"after": generator.uniform(0, seconds)} if moments == "time" else {"at": at}
        code = run_once(job, killed, **limit)
        if code == -signal.SIGKILL:
            counts.kills += 1
        try:
            n_found = job.check(killed)
        except (ValueError, KeyError, OSError) as error:
            counts.torn += 1
            counts.details.append(f"after run {number} ({limit}): {error!r}")
            continue
        if n_found < n_known:
            counts.lost += n_known - n_found
            counts.details.append(f"after run {number} ({limit}): {n_found} of {n_known} entries")
        n_known = n_found
        if code != -signal.SIGKILL:
            counts.finished += 1
            at = n_known = 0
            _compare(job, killed, reference, code, counts)
            job.forget(killed)
    _compare(job, killed, reference, run_once(job, killed), counts)
    stray = [str(path.relative_to(killed)) for path in killed.rglob("*") if path.name.startswith(".")]
    stray += [path.name for path in killed.iterdir() if path.name not in job.expected_files and path.name[0] != "."]
    counts.stray = len(stray)
    counts.details += [f"left behind: {name}" for name in stray]
    return counts


def _compare(job, folder: Path, reference: Path, code: int, counts: Counts) -> None:
    """Compare the results of a run that ended with those of a job that was never killed."""
    if code or job.results(folder) != job.results(reference):
        counts.different += 1
        counts.details.append(f"a run ended with code {code}, other results or both")


def run_once(job, folder: Path, *, after: float | None = None, at: int | None = None) -> int:
    """Run a job in a new process and return its exit code; -9 if it was killed."""
    process = start(job, folder, at=at)
    try:
        process.join(_LONGEST if after is None else after)
    finally:
        process.kill()
        process.join()
    return process.exitcode


def start(job, folder: Path, *, at: int | None = None, limits=()):
    """Start a job in a new process; `limits` are arguments of resource.setrlimit."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOAD)
    process = context.Process(target=_run, args=(job, folder, at, limits))
    process.start()
    return process


def _run(job, folder, at, limits):
    import resource
    import warnings

    warnings.simplefilter("ignore")
    for which, size in limits:
        resource.setrlimit(which, (size, size))
    if at is not None:
        _die_at(folder, at)
    job.run(folder)


def _die_at(folder: Path, at: int) -> None:
    """Kill this process at its n-th operation on a file of the folder."""
    left, place = at, str(folder)

    def watch(event, arguments):
        nonlocal left
        if event in _EVENTS and isinstance(arguments[0], (str, os.PathLike)):
            if not str(Path(arguments[0]).absolute()).startswith(place):
                return
            left -= 1
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def main() -> None:
    """Print the counts of all jobs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kills", type=int, default=20, help="number of kills of each job and kind of moment")
    parser.add_argument("--seed", type=int, default=0, help="seed of the random times")
    options = parser.parse_args()
    names = ("kills", "finished", "torn", "lost", "different", "stray")
    print(f"{'job':18}{'moments':8}" + "".join(f"{name:>10}" for name in names))
    failures = 0
    for moments in ("time", "file"):
        for make in JOBS.values():
            with tempfile.TemporaryDirectory() as folder:
                counts = kill_loop(make(), Path(folder), options.kills, moments=moments, seed=options.seed)
            failures += counts.failures
            print(f"{counts.job:18}{moments:8}" + "".join(f"{getattr(counts, name):10}" for name in names), flush=True)
            for detail in counts.details:
                print(f"  {detail}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
