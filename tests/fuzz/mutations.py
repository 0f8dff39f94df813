"""Changes of files: of their bytes, of their text, of the values in them, and of what their headers say."""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import json
import re
import struct
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from .draw import Draw
from .originals import N, dense, originals

# Size of what a bomb expands to: above any memory that a file of this size may take, below the limit of a worker.
BOMB = 768 * 2**20
ODD_NAMES = (
    "", " ", ".", "..", "../x", "/etc/passwd", "a/b", "a\\b", "=1+1", "+1", "-1", "@x", "\0", "\x1b[31m", "\r\n",
    "\ufffe", "\u202e",
    "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "<script>alert(1)</script>", "'\"", "x" * 5000, "nan",
    "0", "index", "X",
)  # fmt: skip
ODD_CELLS = (
    "", " ", "nan", "NaN", "inf", "-inf", "1e400", "1e-400", "0x10", "1_000", "1,5", "1;5", "١٢", "True", "None",
    "9" * 400, "=1+1", '"', "'",
    "2026-01-01", "\0", "\ufeff", "\ud7ff", "a" * 3000, "-", "+", ".", "e", "1e", "--1", "1 2",
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 10**3, 2**31, 2**53, 2**63, 2**64, 10**30, -(2**63), 0.5, -0.5, 1e-320, 1.7e308,
    "", "inf", "-inf", "nan",
    "x", "\0", "0", [], {}, [[]], [None], [0], [0, 1], [1e400], {"a": 1}, [[0.5, 0.5]], [[1.0, 0.0], [0.0]],
    "A" * 2000, float("nan"), float("inf"),
)  # fmt: skip


# Bytes


def change_bytes(draw: Draw, content: bytes) -> bytes:
    """Return a file with one to four changes that know nothing of its format."""
    changed = bytearray(content)
    for _ in range(draw.choose(1, 1, 1, 2, 4)):
        if not changed:
            break
        size, place = len(changed), draw.integer(0, len(changed) - 1)
        length = draw.choose(1, 2, 4, 8, 64, size // 4)
        kind = draw.choose(
            "truncate",
            "flip",
            "flip",
            "byte",
            "insert",
            "delete",
            "repeat",
            "zeros",
            "ones",
            "number",
            "append",
            "swap",
        )
        if kind == "truncate":
            del changed[place:]
        elif kind == "flip":
            changed[place] ^= 1 << draw.integer(0, 7)
        elif kind == "byte":
            changed[place] = draw.integer(0, 255)
        elif kind == "insert":
            changed[place:place] = draw.rng.bytes(length)
        elif kind == "delete":
            del changed[place : place + length]
        elif kind == "repeat":
            changed[place:place] = changed[place : place + length]
        elif kind in ("zeros", "ones"):
            changed[place : place + length] = bytes([0 if kind == "zeros" else 255]) * min(length, size - place)
        elif kind == "number":
            number = draw.choose(0, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1, 2**64 - 1, size, size + 1)
            changed[place : place + 8] = struct.pack("<Q", number)[: draw.choose(2, 4, 8)]
        elif kind == "append":
            changed += draw.choose(draw.rng.bytes(length), bytes(changed[:length]), b"\n", b"\0" * length)
        else:
            other = draw.integer(0, size - 1)
            changed[place], changed[other] = changed[other], changed[place]
    return bytes(changed)


# Text


def change_text(draw: Draw, content: bytes, separator: str) -> bytes:
    """Return a table with odd cells, names, lines or encodings."""
    lines = [line.split(separator) for line in content.decode().splitlines()]
    for _ in range(draw.choose(1, 1, 2, 5)):
        row, column = draw.integer(0, len(lines) - 1), draw.integer(0, len(lines[0]) - 1)
        kind = draw.choose(
            "cell", "cell", "name", "name", "no line", "line", "short", "long", "column", "same name", "blank"
        )
        if kind == "cell":
            lines[row][min(column, len(lines[row]) - 1)] = draw.choose(*ODD_CELLS)
        elif kind == "name":
            lines[0][min(column, len(lines[0]) - 1)] = draw.choose(*ODD_NAMES)
        elif kind == "no line" and len(lines) > 1:
            del lines[row]
        elif kind == "line":
            lines.insert(row, list(lines[draw.integer(0, len(lines) - 1)]))
        elif kind == "short" and len(lines[row]) > 1:
            lines[row].pop()
        elif kind == "long":
            lines[row] += ["1"] * draw.choose(1, 2, 1000)
        elif kind == "column":
            lines = [[*line, draw.choose(*ODD_CELLS)] for line in lines]
        elif kind == "same name":
            lines[0][-1] = lines[0][0]
        else:
            lines.insert(row, [draw.choose("", " ", "#", '"')])
    end = draw.choose("\n", "\n", "\n", "\r\n", "\r")
    text = end.join(separator.join(line) for line in lines) + draw.choose(end, "", end * 3)
    encoding = draw.choose("utf-8", "utf-8", "utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1", "cp500")
    return text.encode(encoding, "replace")


def change_gzip(draw: Draw, content: bytes, separator: str) -> bytes:
    """Return a compressed table: odd text, several members, garbage after the end, or a bomb."""
    kind = draw.choose("text", "text", "text", "bytes", "members", "garbage", "bomb" if draw.chance(0.05) else "text")
    if kind == "bytes":
        return change_bytes(draw, content)
    if kind == "bomb":
        return _gzip_bomb()
    text = change_text(draw, gzip.decompress(content), separator)
    packed = gzip.compress(text, 1, mtime=0)
    if kind == "members":
        return packed + content
    return packed + draw.rng.bytes(20) if kind == "garbage" else packed


@functools.cache
def _gzip_bomb() -> bytes:
    line = b"1," * 5000 + b"1\n"
    packer = zlib.compressobj(1, wbits=31)
    header = b",".join(b"c%d" % i for i in range(5001)) + b"\n"
    return b"".join(
        [packer.compress(header), *(packer.compress(line) for _ in range(BOMB // len(line))), packer.flush()]
    )


# NumPy


def lying_npy(draw: Draw) -> bytes:
    """Return an array whose header does not describe what follows."""
    shape = draw.choose(
        f"({N}, 4)", "(10**12, 4)", "(1000000000000, 4)", f"(-{N}, 4)", "(9223372036854775807, 2)",
        "(4294967296, 4294967296)", f"({N},)",
        "()", "(0, 4)", f"({N}, 0)", f"({N}, 2, 2)", "(2.0, 4)", "None", "('a',)", f"({N}, 4" + ",1" * 70 + ")",
        "(True, 4)", "(1, 48)",
    )  # fmt: skip
    descr = draw.choose(
        "'<f8'", "'<f8'", "'>f8'", "'<f4'", "'|O'", "'<U1000000000'", "'<i8'", "'|S0'", "'|V8'", "[('a', '<f8')]",
        "'<M8[ns]'", "'<c16'",
        "'f99'", "'|b1'", "'<f2'", "[('a', '|O')]", "None", "'<f8' * 3",
    )  # fmt: skip
    order = draw.choose("False", "True", "2", "None")
    header = f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}"
    if draw.chance(0.1):
        header = draw.choose(
            "(" * 3000,
            "{'descr': ",
            "__import__('os')",
            "[" * 500 + "]" * 500,
            "{}",
            "'" + "a" * 70000 + "'",
            "1" + "+1" * 5000,
        )
    text = header.encode("latin-1") + b"\n"
    version = draw.choose(b"\1\0", b"\1\0", b"\2\0", b"\3\0", b"\4\0", b"\0\0")
    length = draw.choose(len(text), len(text), len(text), len(text), 0, 65535, 2**32 - 1)
    size = struct.pack("<H", min(length, 65535)) if version == b"\1\0" else struct.pack("<I", length)
    return b"\x93NUMPY" + version + size + text + np.ascontiguousarray(dense()).tobytes()


def lying_npz(draw: Draw) -> bytes:
    """Return an archive with odd members, with a sparse matrix that contradicts itself, or with a bomb."""
    kind = draw.choose("members", "members", "sparse", "sparse", "sizes", "bomb" if draw.chance(0.05) else "members")
    buffer = io.BytesIO()
    with zipfile.ZipFile(
        buffer, "w", draw.choose(zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED), compresslevel=1
    ) as archive:
        if kind == "sparse":
            for name, value in _sparse_arrays(draw).items():
                archive.writestr(zipfile.ZipInfo(f"{name}.npy"), _npy(value))
        elif kind == "bomb":
            archive.writestr(zipfile.ZipInfo("camera.npy"), _zeros(), zipfile.ZIP_DEFLATED, 1)
        else:
            for _ in range(draw.integer(0, 4)):
                name = draw.choose("camera", "scanner", "kind", *ODD_NAMES) + draw.choose(
                    ".npy", ".npy", ".npy", "", ".txt"
                )
                array = draw.choose(
                    dense(), np.array(["a"] * N), np.array(3), np.arange(N), dense()[:5], dense() + 1j, dense() * np.nan
                )
                content = draw.choose(_npy(array), _npy(array), _npy(array), lying_npy(draw), b"", b"text")
                archive.writestr(zipfile.ZipInfo(name), content)
    content = buffer.getvalue()
    if kind == "sizes":
        # The sizes in the central directory and in the local headers.
        for mark in (b"PK\1\2", b"PK\3\4"):
            place = content.find(mark)
            if place >= 0 and draw.chance(0.6):
                at = place + draw.choose(20, 24, 10, 14, 18, 22, 28, 42)
                number = struct.pack("<I", draw.choose(0, 1, 2**31, 2**32 - 1, len(content)))
                content = content[:at] + number + content[at + 4 :]
    return content


def _npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


@functools.cache
def _zeros() -> bytes:
    shape = f"({BOMB // 32}, 4)"
    header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\1\0" + struct.pack("<H", len(header)) + header + bytes(BOMB)


def _sparse_arrays(draw: Draw) -> dict[str, Any]:
    from scipy import sparse

    X = sparse.csr_array(np.abs(dense()))
    arrays: dict[str, Any] = {
        "format": np.array(
            draw.choose("csr", "csr", "csr", "csc", "coo", "bsr", "dia", "xyz", b"csr", "dok"), dtype=None
        ),
        "shape": np.array(
            draw.choose(X.shape, X.shape, (N, 2), (10**9, 4), (-1, 4), (N,), (N, 2, 2), (10**12, 10**12), (2.5, 4))
        ),
        "data": draw.choose(
            X.data, X.data, X.data[:3], X.data * np.nan, X.data + 1j, np.array(["a"] * X.nnz), X.data[:, np.newaxis]
        ),
        "indices": X.indices.astype(draw.choose("i4", "i4", "i8", "f8", "u1")),
        "indptr": X.indptr.astype(draw.choose("i4", "i4", "i8", "f8")),
        "row": np.repeat(np.arange(N), 4),
        "col": X.indices,
        "offsets": np.array([0, 1]),
    }
    for name in ("indices", "indptr", "row"):
        if draw.chance(0.4):
            arrays[name] = arrays[name].copy()
            arrays[name][draw.integer(0, len(arrays[name]) - 1)] = (
                draw.choose(-1, 4, 10**8, 2**30) % 200 if arrays[name].dtype == "u1" else draw.choose(-1, 4, 10**8)
            )
    if draw.chance(0.2):
        del arrays[draw.choose(*arrays)]
    return arrays


# HDF5


def change_hdf5(draw: Draw, path: Path) -> None:
    """Change elements, attributes and links of an HDF5 file."""
    import h5py

    with h5py.File(path, "r+") as file:
        places: list[str] = []
        file.visit(places.append)
        for _ in range(draw.choose(1, 1, 2, 3)):
            place = draw.choose(*places)
            # An earlier change may have removed it or put a link on its way, and HDF5 refuses some changes.
            with suppress(KeyError, OSError, RuntimeError, ValueError, TypeError):
                _change_element(draw, h5py, file, place)


def _change_element(draw: Draw, h5py: Any, file: Any, place: str) -> None:
    kind = draw.choose(
        "delete",
        "attribute",
        "attribute",
        "no attribute",
        "replace",
        "replace",
        "values",
        "values",
        "link",
        "new",
        "huge",
        "group",
    )
    element = file[place]
    attributes = dict(element.attrs)
    if kind == "delete":
        del file[place]
    elif kind in ("attribute", "no attribute"):
        name = draw.choose(*attributes) if attributes else "encoding-type"
        if kind == "no attribute":
            element.attrs.pop(name, None)
        else:
            element.attrs[name] = draw.choose(
                "csr_matrix", "csc_matrix", "array", "dataframe", "null", "dict", "nonsense", "categorical",
                "string-array", 0, -1, 2.5,
                np.array([N, 4]), np.array([10**12, 4]), np.array([N, 10**12]), np.array([-1, 4]), np.array([], "i8"),
                h5py.Empty("f8"), "",
            )  # fmt: skip
    elif kind == "values" and isinstance(element, h5py.Dataset) and element.dtype.kind in "iuf" and element.size:
        values = np.atleast_1d(np.asarray(element[()]))
        values.flat[draw.integer(0, values.size - 1)] = (
            draw.choose(0, 1, 100) if values.dtype.kind == "u" else draw.choose(-1, 10**6, 7)
        )
        if values.dtype.kind == "f" and draw.chance(0.5):
            values.flat[0] = draw.choose(np.nan, np.inf)
        element[...] = values.reshape(element.shape)
    elif kind == "link":
        del file[place]
        file[place] = draw.choose(
            h5py.SoftLink("/"), h5py.SoftLink(f"/{place}"), h5py.SoftLink("/nowhere"), h5py.ExternalLink("/etc/passwd",
            "/"),
            h5py.ExternalLink("missing.h5", "/X"),
        )  # fmt: skip
    elif kind == "new":
        parent = element if isinstance(element, h5py.Group) else element.parent
        name = draw.choose(
            *(name for name in ODD_NAMES if name.strip("./\0 ") and "/" not in name and "\0" not in name)
        )
        if name not in parent:
            parent.create_dataset(name, data=dense())
    elif kind in ("replace", "huge", "group"):
        del file[place]
        if kind == "group":
            made = file.create_group(place)
        elif kind == "huge":
            # No storage: reading it gives zeros.
            made = file.create_dataset(
                place, shape=draw.choose((10**6, 10**6), (N, 10**8), (10**9,), (10**8, 4)), dtype="f8", chunks=True
            )
        else:
            made = file.create_dataset(
                place,
                data=draw.choose(
                    dense(), dense()[:5], np.arange(N), np.float64(1), "text", np.array([b"a"] * N),
                    dense()[np.newaxis], np.arange(0), dense() > 0,
                    dense() + 1j, np.arange(N * 4, dtype="u8"), h5py.Empty("f8"),
                ),
            )  # fmt: skip
        if draw.chance(0.7):
            for name, value in attributes.items():
                made.attrs[name] = value


# Parquet


def odd_parquet(draw: Draw, path: Path) -> None:
    """Write a table with odd types, names or metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Callable[[], Any]] = {
        "float": lambda: pa.array(dense()[:, 0]),
        "half": lambda: pa.array(dense()[:, 0].astype("f2")),
        "int": lambda: pa.array(range(N)),
        "big": lambda: pa.array([2**64 - 1] * N, pa.uint64()),
        "null": lambda: pa.nulls(N),
        "hole": lambda: pa.array([None, *dense()[1:, 0]]),
        "nan": lambda: pa.array([np.nan, *dense()[1:, 0]]),
        "text": lambda: pa.array([draw.choose(*ODD_CELLS) for _ in range(N)]),
        "bytes": lambda: pa.array([b"\xff"] * N),
        "list": lambda: pa.array([[1.0, 2.0]] * N),
        "struct": lambda: pa.array([{"a": 1}] * N),
        "time": lambda: pa.array(np.arange(N).astype("datetime64[s]")),
        "span": lambda: pa.array(np.arange(N).astype("timedelta64[s]")),
        "date": lambda: pa.array(range(N), pa.date32()),
        "decimal": lambda: pa.array(range(N), pa.decimal128(10, 2)),
        "category": lambda: pa.array(["a", "b"] * (N // 2)).dictionary_encode(),
        "bool": lambda: pa.array([True, False] * (N // 2)),
        "map": lambda: pa.array([[("a", 1)]] * N, pa.map_(pa.string(), pa.int64())),
    }
    chosen = [draw.choose("float", "float", *columns) for _ in range(draw.integer(0, 5))]
    names = [draw.choose("sample", "kind", "x", f"feature {i}", *ODD_NAMES) for i in range(len(chosen))]
    table = pa.table([columns[kind]() for kind in chosen], names=names)
    if draw.chance(0.4):
        index = draw.choose(
            names[:1],
            ["nowhere"],
            [{"kind": "range", "start": 0, "stop": draw.choose(N, 10**9), "step": draw.choose(1, 0)}],
            3,
        )
        pandas = {
            "index_columns": index,
            "columns": draw.choose([], [{"name": "x"}], None),
            "column_indexes": draw.choose([], [{}]),
        }
        table = table.replace_schema_metadata({"pandas": json.dumps(pandas)})
    pq.write_table(table, path)


# JSON


def change_json(draw: Draw, content: bytes, *, sign: Callable[[dict[str, Any]], str] | None = None) -> bytes:
    """Return a document with other values; `sign` computes its digest again, as a forger would."""
    if draw.chance(0.12):
        return odd_json(draw, content)
    document = json.loads(content)
    for _ in range(draw.choose(1, 1, 1, 2, 4)):
        _change_node(draw, document)
    if sign is not None and draw.chance(0.85):
        document.pop("digest", None)
        document["digest"] = sign(document)
    return json.dumps(document).encode()


def _change_node(draw: Draw, document: Any) -> None:
    """Replace, delete, repeat or exchange one node at any depth."""
    parent, depth = document, draw.integer(0, 4)
    while True:
        keys = list(parent) if isinstance(parent, dict) else list(range(len(parent)))
        if not keys:
            return
        key = draw.choose(*keys)
        if depth == 0 or not isinstance(parent[key], (dict, list)) or not parent[key]:
            break
        parent, depth = parent[key], depth - 1
    kind = draw.choose("replace", "replace", "replace", "delete", "repeat", "packed")
    if kind == "delete":
        del parent[key]
    elif kind == "repeat" and isinstance(parent, list):
        parent.insert(int(key), parent[key])
    elif kind == "packed" and isinstance(parent, dict) and "labels" in parent:
        # Labels of a checkpoint: a length and packed numbers, of which each may lie.
        parent["labels"] = [
            draw.choose(0, 1, -1, N, 2 * N, 10**9, "x"),
            _packed(draw.choose(0, 1, N, 4 * N, 8 * N, 2**20)),
        ]
    else:
        parent[key] = draw.choose(*ODD_VALUES)


def _packed(size: int) -> str:
    import base64

    return base64.b64encode(zlib.compress(b"\xff" * size, 1)).decode()


def odd_json(draw: Draw, content: bytes) -> bytes:
    """Return a document that parsers find hard: deep, long, repeated keys, numbers out of range."""
    text = content.decode()
    options: tuple[Callable[[], str], ...] = (
        lambda: "[" * 100_000,
        lambda: '{"a":' * 100_000,
        lambda: "[" * 900 + "]" * 900,
        lambda: text.replace("{", '{"format": 3, ', 1),
        lambda: re.sub(r"\d+\.\d+", "1e999999", text, count=1),
        lambda: re.sub(r"\d+", "9" * 5000, text, count=1),
        lambda: text.replace('"', '"\\ud800', 1),
        lambda: text + text,
        lambda: draw.choose("null", "3", '"x"', "[]", "{}", "NaN", "", " ", "\ufeff" + text, "true"),
        lambda: re.sub(r"\d+\.\d+", draw.choose("NaN", "Infinity", "-Infinity", "-0.0"), text, count=3),
    )
    return draw.choose(*options)().encode("utf-8", "surrogatepass")


def digest_of_checkpoint(document: dict[str, Any]) -> str:
    """Return the digest of a checkpoint, as its writer computes it."""
    return hashlib.sha256(json.dumps(document, sort_keys=True).encode()).hexdigest()


def write_changed(draw: Draw, suffix: str, path: Path) -> None:
    """Write a changed file of a format."""
    content = draw.choose(*originals(suffix))
    if suffix == ".parquet" and draw.chance(0.5):
        odd_parquet(draw, path)
        return
    if suffix in (".h5ad", ".h5mu") and draw.chance(0.7):
        path.write_bytes(content)
        change_hdf5(draw, path)
        return
    separator = "\t" if suffix.startswith(".tsv") else ","
    structured: dict[str, Callable[[], bytes]] = {
        ".npy": lambda: lying_npy(draw),
        ".npz": lambda: lying_npz(draw),
        ".csv": lambda: change_text(draw, content, separator),
        ".tsv": lambda: change_text(draw, content, separator),
        ".csv.gz": lambda: change_gzip(draw, content, separator),
        ".tsv.gz": lambda: change_gzip(draw, content, separator),
        "checkpoint.json": lambda: change_json(draw, content, sign=digest_of_checkpoint),
        "result.json": lambda: change_json(draw, content),
        "rows.csv": lambda: change_text(draw, content, separator),
    }
    use_structure = suffix in structured and draw.chance(0.7)
    path.write_bytes(structured[suffix]() if use_structure else change_bytes(draw, content))
