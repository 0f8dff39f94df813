"""The files of the real data sets: paths, addresses, checksums and origins.

Extend this table to add a data set. The origin describes how to get a file and, for a file derived
from others, how it was made. Files without an address are not downloaded. Checksums are those of
the published files. They are verified after a download; a file that already exists is read
unverified.
"""

from dataclasses import dataclass

_MULTI_VIEW_DATASETS = "https://github.com/ChuanbinZhang/Multi-view-datasets"
_MULTI_VIEW_FILES = (
    "https://raw.githubusercontent.com/ChuanbinZhang/Multi-view-datasets/03ead31e6538322e4e0701c3c28a01595c1a015d"
)
_MFEAT = "https://archive.ics.uci.edu/dataset/72/multiple+features"
_MFEAT_ARCHIVE = "https://archive.ics.uci.edu/static/public/72/multiple+features.zip"
_MNIST = "MNIST of LeCun, Cortes and Burges, http://yann.lecun.com/exdb/mnist/"
_MNIST_FILES = ("https://ossci-datasets.s3.amazonaws.com/mnist", "https://storage.googleapis.com/cvdf-datasets/mnist")
_SNARE = "SNARE-seq cell mixture of Chen et al. 2019, GEO series GSE126074, as reduced features"
_SNARE_FILES = "https://raw.githubusercontent.com/rsinghlab/SCOT/14649be6e14017dcfe7ba619091b33d1df55f6a9/data/SNARE"


@dataclass(frozen=True)
class DataFile:
    """A file of a data set.

    Parameters
    ----------
    path : str
        Path in the data folder.
    addresses : tuple of str, default=()
        URLs of the file, in the order of preference. Without any, it cannot be downloaded.
    sha256 : str, default=""
        Checksum of the file at `path`.
    size : int, default=0
        Size of the file at `path` in bytes.
    archived_name : str, default=None
        Name of the file in the archive, if the URLs are those of a zip archive.
    """

    path: str
    addresses: tuple[str, ...] = ()
    sha256: str = ""
    size: int = 0
    archived_name: str | None = None


@dataclass(frozen=True)
class DataFiles:
    """The files of a data set, and a description of their public origin."""

    files: tuple[DataFile, ...]
    origin: str

    @property
    def paths(self) -> tuple[str, ...]:
        """Paths in the data folder."""
        return tuple(file.path for file in self.files)


def _collected(name: str, sha256: str, size: int) -> DataFile:
    return DataFile(name, (f"{_MULTI_VIEW_FILES}/{name}",), sha256, size)


def _mfeat(name: str, sha256: str, size: int) -> DataFile:
    return DataFile(f"mfeat/{name}", (_MFEAT_ARCHIVE,), sha256, size, archived_name=name)


def _mnist(name: str, sha256: str, size: int) -> DataFile:
    return DataFile(f"mnist/{name}", tuple(f"{place}/{name}" for place in _MNIST_FILES), sha256, size)


def _snare(name: str, sha256: str, size: int) -> DataFile:
    return DataFile(f"snareseq_cellmix/{name}", (f"{_SNARE_FILES}/{name}",), sha256, size)


_MNIST_TRAINING = (
    _mnist("train-images-idx3-ubyte.gz", "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609", 9912422),
    _mnist("train-labels-idx1-ubyte.gz", "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c", 28881),
)
_MNIST_TEST = (
    _mnist("t10k-images-idx3-ubyte.gz", "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6", 1648877),
    _mnist("t10k-labels-idx1-ubyte.gz", "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6", 4542),
)
_SNARE_MIX = (
    _snare("SNAREseq_atac_feat.npy", "80d685b6517c100a7fd612846ad38209b64ed9caf095d1630af5a1d7797bd79c", 159272),
    _snare("SNAREseq_rna_feat.npy", "a8a2c2bbfc036dea5b350d01dd2180b93bb3b1c0008bed49493080348da96a9b", 83888),
    _snare("SNAREseq_rna_types.txt", "3697fe94aee8b0ed2fad49c10c3226b757cedd8046a5cc0b10d0a845ad540a1d", 3139),
)
REGISTRY: dict[str, DataFiles] = {
    "msrc": DataFiles(
        (_collected("MSRC-v5.mat", "3b3adfad0b4e484cef1c1ecd64ec887ddde9f7655ed638e2fee1f047ae2c9ff0", 1114703),),
        _MULTI_VIEW_DATASETS,
    ),
    "leaves": DataFiles(
        (_collected("100Leaves.mat", "4af6d9f6588a720df763580d273dc08014476ac5f64570b0bada8b63b9952f45", 1048799),),
        _MULTI_VIEW_DATASETS,
    ),
    "yale": DataFiles((DataFile("Yale.mat"),), _MULTI_VIEW_DATASETS),
    "caltech7": DataFiles((DataFile("Caltech101-7.mat"),), _MULTI_VIEW_DATASETS),
    "multi_feat": DataFiles(
        (
            _mfeat("mfeat-fac", "83be9bc9fd50c6dd0b0532f6b6101956f1cf51c71b33f22d3f0cd2b5befb31b5", 2162000),
            _mfeat("mfeat-kar", "db832668544497d0c06a2c1d1bfa0e17ba672812b7cfa6ed19f0941e19e1d7fa", 1922000),
            _mfeat("mfeat-zer", "d4a0e302f2f61e823b906f78818c7c0ef078c0bbc23022affd6607d60ecfe4f3", 1318000),
            _mfeat("mfeat-mor", "8767b326d874f096de06d525a2df4e610f4e9dfe91e29c250d8a3054907e3b61", 182000),
            _mfeat("mfeat-pix", "70a1cd033add46614464a8740ddc23c3693765985bde52ccb6b702bff23b64f1", 1442000),
            _mfeat("mfeat-fou", "d2bed48a4d302efe77bd80d52e16a211e99efe6fee9baf1c28dcc199c43c50ad", 1826000),
        ),
        _MFEAT,
    ),
    "olivetti": DataFiles(
        (DataFile("olivetti.npz"),),
        "AT&T faces as scikit-learn's fetch_olivetti_faces gives them: X1 = data, X2 = images, Y = target",
    ),
    "isolet": DataFiles(
        (DataFile("isolet/isolet_1560.npz"),),
        "https://archive.ics.uci.edu/dataset/54/isolet, the first 1560 rows: X = features, y = label 1..26",
    ),
    "mnist": DataFiles(_MNIST_TRAINING, _MNIST),
    "mnist_test": DataFiles(_MNIST_TEST, _MNIST),
    "citeseq_pbmc": DataFiles(
        (DataFile("citeseq_pbmc/citeseq_pbmc.npz"),),
        "the in-house CITE-seq blood cells of BREM-SC: rna_data, rna_indices, rna_indptr, rna_shape "
        "(CSR counts), protein, genes, proteins, cells, cell_type",
    ),
    "snareseq_cellmix": DataFiles(_SNARE_MIX, _SNARE),
    "debian_packages": DataFiles(
        (DataFile("debian/debian_packages.npz"),),
        "the packages of Debian 12 as `apt-cache dumpavail` prints them: text, depends and tags as *_data, *_indices, "
        "*_indptr, *_shape (CSR counts) and *_terms, section, section_names, package",
    ),
}
