"""Lists of Debian packages, as ``apt-cache dumpavail`` prints them, and counts of their terms.

A list has a record for each package, followed by an empty line. A line of a record is ``Field: value``, or
begins with a space and continues the value above (``deb-control(5)``).
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

# Fields of a record that are read, in lower case: their names do not depend on the case.
_FIELDS = frozenset({"package", "section", "description", "pre-depends", "depends", "recommends", "tag"})
_NEEDED = ("pre-depends", "depends", "recommends")
_WORD = re.compile(r"[a-z][a-z0-9+#]+")
# A package that is named in a field: its name ends at a version, architecture or restriction.
_NAME = re.compile(r"[^\s:(\[<]+")
# The section of packages that name none.
_NO_SECTION = "unknown"
# Number of packages in which a term of each view occurs at least.
LEAST_PACKAGES = {"text": 5, "depends": 3, "tags": 3}


@dataclass(frozen=True)
class Package:
    """A package: its name and section, and its terms in each view."""

    name: str
    section: str
    terms: dict[str, list[str]]

    @classmethod
    def of(cls, record: dict[str, str]) -> Self:
        """Return the package of a record."""
        summary = record.get("description", "").partition("\n")[0]
        needed = ",".join(record[field] for field in _NEEDED if field in record)
        return cls(
            record["package"],
            record.get("section", _NO_SECTION).rpartition("/")[2],
            {
                "text": _WORD.findall(f"{record['package']} {summary}".lower()),
                "depends": sorted({found[0] for part in re.split("[,|]", needed) if (found := _NAME.search(part))}),
                "tags": sorted({tag.strip() for tag in record.get("tag", "").split(",")} - {""}),
            },
        )


@dataclass(frozen=True)
class CountedView:
    """How often each term occurs in each package."""

    name: str
    matrix: Any
    terms: NDArray[np.str_]

    def n_lacking(self) -> int:
        """Return the number of packages without terms."""
        return int(np.count_nonzero(np.diff(self.matrix.indptr) == 0))


def read_packages(lines: Iterable[str]) -> Iterator[Package]:
    """Yield the packages of a list; of several with the same name only the first."""
    names = set()
    for number, record in _records(lines):
        if "package" not in record:
            raise ValueError(
                f"available: expected a field Package in each record, got none in that before line {number}"
            )
        if record["package"] not in names:
            names.add(record["package"])
            yield Package.of(record)


def count_views(packages: Sequence[Package]) -> tuple[list[Package], list[CountedView]]:
    """Return the packages that have terms, and their views that have terms."""
    matrices = {
        name: _count_terms([package.terms[name] for package in packages], least)
        for name, least in LEAST_PACKAGES.items()
    }
    kept = np.flatnonzero(sum(np.diff(matrix.indptr) for matrix, _ in matrices.values()))
    if kept.size == 0:
        raise ValueError(f"available: expected packages that share terms, got {len(packages)} that share none")
    views = [CountedView(name, matrix[kept], terms) for name, (matrix, terms) in matrices.items() if len(terms)]
    return [packages[int(row)] for row in kept], views


def _count_terms(bags: Sequence[Sequence[str]], least: int) -> tuple[Any, NDArray[np.str_]]:
    """Return counts of the terms that occur in at least `least` bags, and these terms in sorted order."""
    from scipy.sparse import coo_array

    occurrences = Counter(term for bag in bags for term in set(bag))
    terms = sorted(term for term, count in occurrences.items() if count >= least)
    columns = {term: column for column, term in enumerate(terms)}
    cells = np.array(
        [(row, columns[term]) for row, bag in enumerate(bags) for term in bag if term in columns], dtype=np.int32
    ).reshape(-1, 2)
    # The conversion adds the ones of equal cells.
    counts = coo_array((np.ones(len(cells)), tuple(cells.T)), shape=(len(bags), len(terms))).tocsr()
    return counts, np.array(terms, dtype=np.str_)


def _records(lines: Iterable[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield each record, and the number of the line after it."""
    record: dict[str, str] = {}
    field, number, is_open = "", 0, False
    for number, line in enumerate(lines, start=1):
        text = line.rstrip()
        if not text:
            if is_open:
                yield number, record
            record, field, is_open = {}, "", False
        elif line[0] in " \t":
            if field in record:
                record[field] += f"\n{text.strip()}"
        else:
            name, colon, value = text.partition(":")
            if not colon:
                raise ValueError(f"available: expected lines 'Field: value', got {text[:40]!r} in line {number}")
            field, is_open = name.lower(), True
            if field in _FIELDS:
                record[field] = value.strip()
    if is_open:
        yield number + 1, record
