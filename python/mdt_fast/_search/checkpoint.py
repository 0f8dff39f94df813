"""The file from which an interrupted search resumes.

A score is a function of the trajectory alone. A search therefore resumes by running again with the
scores that are known, and the file contains nothing else. It is one JSON document with a digest of
its content, replaced as a whole.
"""

import base64
import hashlib
import json
import os
import time
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._operators.operator_set import OperatorSet
from .._support.files import replace_file
from .evaluation import Candidate, Evaluation, key_of

FORMAT = "mdt_fast search checkpoint"
VERSION = 2

# Seconds between two writes: at least this many, and at least this multiple of the time of a write.
_INTERVAL = 2.0
_SHARE = 20.0


class Checkpoint:
    """Known evaluations, in memory and, with a path, in a file.

    Parameters
    ----------
    path : str, path or None
        The file; None keeps everything in memory.
    identity : mapping
        JSON values that identify the search.
    """

    def __init__(self, path: str | os.PathLike[str] | None, identity: Mapping[str, Any]) -> None:
        self._path = None if path is None else Path(path)
        self._identity = json.loads(json.dumps(dict(identity)))
        self._known: dict[object, Evaluation] = {}
        self._interval = _INTERVAL
        if self._path is not None:
            if self._path.exists():
                self._known = {e.key: e for e in _read(self._path, self._identity)}
            # Fail now if the file cannot be written.
            self.write()

    def find(self, candidate: Candidate) -> Evaluation | None:
        """Return the evaluation of a candidate, or None."""
        return self._known.get(key_of(candidate))

    def sequences(self) -> list[_core.ScoredSequence]:
        """Return the known scores of sequences."""
        return [
            _core.ScoredSequence(e.candidate, e.score, e.seconds)
            for e in self._known.values()
            if isinstance(e.candidate, tuple)
        ]

    def add(self, evaluation: Evaluation) -> None:
        """Add an evaluation; the first one of a candidate is kept."""
        self._known.setdefault(evaluation.key, evaluation)

    def write_if_due(self) -> None:
        """Write the file if the last write was some seconds ago."""
        if self._path is not None and time.monotonic() - self._written >= self._interval:
            self.write()

    def write(self) -> None:
        """Replace the file by the current state."""
        if self._path is None:
            return
        began = time.monotonic()
        content = {
            "format": FORMAT,
            "version": VERSION,
            "identity": self._identity,
            "evaluations": [_to_json(e) for e in self._known.values()],
        }
        try:
            replace_file(self._path, json.dumps({**content, "digest": _digest(content)}))
        except OSError as error:
            reason = f"checkpoint: expected a file that can be written, got {self._path}: {error.strerror}"
            raise type(error)(error.errno, reason) from None
        self._written = time.monotonic()
        self._interval = max(_INTERVAL, _SHARE * (self._written - began))


def fingerprint(ops: OperatorSet, features: list[Any]) -> str:
    """Return a digest of everything that scores are computed from."""
    digest = hashlib.blake2b(digest_size=16)
    digest.update(repr((ops.members, ops.n_views, ops.names)).encode())
    for transition in ops.transitions:
        for part in (transition.indptr, transition.indices, transition.values):
            digest.update(np.ascontiguousarray(part).data)
    for view in features:
        for part in (view.indptr, view.indices, view.values) if isinstance(view, _core.CsrParts) else (view,):
            digest.update(np.ascontiguousarray(part).data)
    return digest.hexdigest()


def _digest(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _to_json(evaluation: Evaluation) -> dict[str, Any]:
    candidate = evaluation.candidate
    key = "sequence" if isinstance(candidate, tuple) else "weights"
    entry = {key: np.asarray(candidate).tolist(), "score": evaluation.score, "seconds": evaluation.seconds}
    if evaluation.gradient is not None:
        entry["gradient"] = evaluation.gradient.tolist()
    if evaluation.labels is not None:
        # Packed, because a consensus stores the labels of all samples for every trajectory.
        packed = zlib.compress(evaluation.labels.astype(np.min_scalar_type(int(evaluation.labels.max()))).tobytes(), 1)
        entry["labels"] = [len(evaluation.labels), base64.b64encode(packed).decode("ascii")]
    return entry


def _from_json(entry: dict[str, Any]) -> Evaluation:
    sequence, gradient, labels = entry.get("sequence"), entry.get("gradient"), entry.get("labels")
    return Evaluation(
        np.array(entry["weights"], dtype=np.float64) if sequence is None else tuple(sequence),
        entry["score"],
        entry["seconds"],
        None if gradient is None else np.array(gradient, dtype=np.float64),
        None if labels is None else _unpack(*labels),
    )


def _unpack(n: int, packed: str) -> NDArray[np.int32]:
    data = zlib.decompress(base64.b64decode(packed))
    return np.frombuffer(data, dtype=f"u{len(data) // n}").astype(np.int32)


def _read(path: Path, identity: dict[str, Any]) -> list[Evaluation]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        digest = content.pop("digest")
        is_ours = content["format"] == FORMAT and digest == _digest(content)
    except (ValueError, KeyError, TypeError, AttributeError):
        is_ours = False
    if not is_ours:
        raise ValueError(
            f"checkpoint: expected a checkpoint of mdt_fast, got a damaged or different file: {path}; "
            "remove it to start again"
        )
    if content["version"] != VERSION:
        raise ValueError(f"checkpoint: expected version {VERSION}, got {content['version']}: {path}")
    _compare(identity, content["identity"], path)
    return [_from_json(entry) for entry in content["evaluations"]]


def _compare(expected: dict[str, Any], got: dict[str, Any], path: Path) -> None:
    for name in [*expected, *(name for name in got if name not in expected)]:
        if expected.get(name) != got.get(name):
            if name == "data":
                raise ValueError(
                    f"checkpoint: expected one of the same data, got one of other operators or features: {path}"
                )
            raise ValueError(
                f"checkpoint: expected one with {name}={expected.get(name)!r}, got one with "
                f"{name}={got.get(name)!r}: {path}"
            )
