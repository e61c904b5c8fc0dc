"""The public data sets that sahcns knows by name: where each comes from, on what terms, and how it is prepared.

Checksums are SHA-256. Those of the GroupLens archives agree with the MD5 sums that GroupLens publishes; those of
single files were taken from verified copies. A set without one is checked by its counts alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from sahcns.data.recipe import Recipe
from sahcns.errors import DataError, nearest

LIKED = Recipe(min_rating=3, ratios=(8, 1, 1))  # the paper's for ML-1m, taken for all of MovieLens
GROUPLENS = "https://files.grouplens.org/datasets/movielens/"
GROUPLENS_TERMS = "research use, cite GroupLens, no commercial use without permission (see its README)"
LIGHTGCN = "https://raw.githubusercontent.com/gusye1234/LightGCN-PyTorch/master/data/"
LIGHTGCN_TERMS = "published by the LightGCN authors without a licence; for research"
LIGHTGCN_NOTE = (
    "Published as training and test only: a tenth of each user's training rows, drawn by seed, becomes the validation "
    "part, so that nothing is ever chosen on the test part."
)
DTL_NS = (
    "https://raw.githubusercontent.com/w158937299/DTL-NS/bd99a43492004a5d8bb0dddee284087926f3a0ce/"
    "LLMRec-generate/data/Toys/"
)


@dataclass(frozen=True)
class File:
    """A file of a set, by its name in the set's folder.

    url        its own address, or None when it comes inside the set's archive or by hand
    sha256     of its content, where a verified copy was at hand
    optional   the set can be prepared without it (titles, the licence)
    """

    name: str
    url: str | None = None
    sha256: str | None = None
    optional: bool = False


@dataclass(frozen=True)
class Archive:
    """A zip file that holds all files of a set."""

    url: str
    sha256: str

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class Counts:
    """What a set prepared by its recipe must have; None where no one has published it."""

    interactions: int
    users: int | None = None
    items: int | None = None
    train: int | None = None
    valid: int | None = None
    test: int | None = None

    def differences(self, found: "Counts") -> list[str]:
        """`users 6,040 instead of 6,039` for each count that is known and not met."""
        pairs = ((name, getattr(self, name), getattr(found, name)) for name in self.__dataclass_fields__)
        return [f"{name} {got:,} instead of {want:,}" for name, want, got in pairs if want is not None and got != want]


@dataclass(frozen=True)
class NamedSet:
    """A data set with its source and its recipe.

    parts       part → file name: `{"all": …}`, or `{"train": …, "valid": …, "test": …}` for a given split
    reading     arguments for `readers.read`
    recipe      filters and split; of a given split only seed and unseen count
    expected    counts after preparing by the recipe
    by_hand     for a set that no program may download: what a person has to do
    embedded    it ships inside the package
    """

    name: str
    about: str
    homepage: str
    terms: str
    files: tuple[File, ...]
    parts: Mapping[str, str]
    recipe: Recipe
    expected: Counts
    archive: Archive | None = None
    reading: Mapping[str, object] = field(default_factory=dict)
    by_hand: str = ""
    embedded: bool = False
    note: str = ""


_SETS = (
    NamedSet(
        name="ml-latest-small",
        about="MovieLens, 100 thousand ratings (2016); ships inside",
        homepage="https://grouplens.org/datasets/movielens/latest/",
        terms="redistribution allowed on the same terms; " + GROUPLENS_TERMS,
        files=(
            File("ratings.csv", sha256="b4239649fbf90ebf405c56c3ae1d929d9e7c86fc1a3a80cbef1c884df593ef73"),
            File("movies.csv", sha256="43d1736d3c688eb5b7856473c36d86a1c345676cab256c91720c1f6984d263b5"),
            File("README.txt", sha256="59be481ddf3fab0f9f7cf2f73e0db4d0920a413a313c911b62bd01ee8816ea2f"),
        ),
        parts={"all": "ratings.csv"},
        recipe=LIKED,
        expected=Counts(82_170, users=671, items=7_939, train=65_736, valid=8_217, test=8_217),
        embedded=True,
        note="GroupLens renews its download under the same name; this is the version of October 2016.",
    ),
    NamedSet(
        name="ml-100k",
        about="MovieLens, 100 thousand ratings (1998)",
        homepage="https://grouplens.org/datasets/movielens/100k/",
        terms=GROUPLENS_TERMS + "; no redistribution",
        archive=Archive(GROUPLENS + "ml-100k.zip", "50d2a982c66986937beb9ffb3aa76efe955bf3d5c6b761f4e3a7cd717c6a3229"),
        files=(
            File("u.data", sha256="06416e597f82b7342361e41163890c81036900f418ad91315590814211dca490"),
            File("u.item", optional=True),
            File("README", optional=True),
        ),
        parts={"all": "u.data"},
        recipe=LIKED,
        expected=Counts(82_520, users=943, items=1_574, train=66_016, valid=8_252, test=8_252),
    ),
    NamedSet(
        name="ml-1m",
        about="MovieLens, 1 million ratings (2003); the paper's ML-1m",
        homepage="https://grouplens.org/datasets/movielens/1m/",
        terms=GROUPLENS_TERMS + "; no redistribution",
        archive=Archive(GROUPLENS + "ml-1m.zip", "a6898adb50b9ca05aa231689da44c217cb524e7ebd39d264c56e2832f2c54e20"),
        files=(
            File("ratings.dat", sha256="506d64ca44484487c11dc2d9a28de5c54948213e6b96285e298afe28d6ea4e0f"),
            File(
                "movies.dat", sha256="0140fc2356357c1a851d0f52e893a1e4d3696df632c4141cea8d5bc3d621f0b9", optional=True
            ),
            File("README", optional=True),
        ),
        parts={"all": "ratings.dat"},
        recipe=LIKED,
        expected=Counts(836_478, users=6_039, items=3_628, train=669_182, valid=83_648, test=83_648),
        note="The paper prints 6,040 users and 3,629 items, because a padding id was counted among each.",
    ),
    NamedSet(
        name="ml-20m",
        about="MovieLens, 20 million ratings (2015)",
        homepage="https://grouplens.org/datasets/movielens/20m/",
        terms=GROUPLENS_TERMS + "; no redistribution",
        archive=Archive(GROUPLENS + "ml-20m.zip", "96f243c338a8665f6bcc89c53edf6ee39162a846940de6b7c8c48aeada765ff3"),
        files=(File("ratings.csv"), File("movies.csv", optional=True), File("README.txt", optional=True)),
        parts={"all": "ratings.csv"},
        recipe=LIKED,
        expected=Counts(16_486_759, train=13_189_407, valid=1_648_676, test=1_648_676),
    ),
    NamedSet(
        name="amazon-toys",
        about="Amazon toys and games 2014-2018, the paper's own split",
        homepage="https://github.com/w158937299/DTL-NS",
        terms="published by the authors without a licence; for research",
        files=(
            File("train.txt", DTL_NS + "train.txt", "abfc50a1bdc723d7c0307ec4c7d1efba66a59264e33429ea44729072b842561f"),
            File("valid.txt", DTL_NS + "valid.txt", "8c179baaaf61b2db0a8b7976fc2b65428630bce4081ce825df005915cc04413e"),
            File("test.txt", DTL_NS + "test.txt", "7f8dd1b77104f03eae19c46b08c357c9989454f0df112b1328aa1380093dacd6"),
        ),
        parts={"train": "train.txt", "valid": "valid.txt", "test": "test.txt"},
        reading={"format": "pairs", "items_offset": 15_306},
        recipe=Recipe(split="given"),
        expected=Counts(247_181, users=15_306, items=10_074, train=200_911, valid=23_048, test=23_222),
        note="Item ids follow the user ids in the files and are counted from 0 again here.",
    ),
    NamedSet(
        name="yelp",
        about="Yelp reviews 2015-2018, the source of the paper's Yelp",
        homepage="https://business.yelp.com/data/resources/open-dataset/",
        terms="Yelp's data set terms, accepted by each user before the download; no redistribution",
        files=(File("yelp_academic_dataset_review.json"),),
        parts={"all": "yelp_academic_dataset_review.json"},
        reading={"format": "yelp"},
        recipe=Recipe(years=(2015, 2018), duplicates="none", core=10, ratios=(8, 1, 1)),
        expected=Counts(468_033, users=20_206, items=15_674),
        by_hand="accept its terms there, download the JSON data and unpack it",
        note=(
            "The counts are the paper's, whose exact filter is not published, and Yelp renews its data: expect other "
            "numbers, and say so beside results. The 10-core counts rows, as the authors' Amazon-toys shows."
        ),
    ),
    NamedSet(
        name="gowalla",
        about="Gowalla check-ins, as split for LightGCN",
        homepage="https://github.com/gusye1234/LightGCN-PyTorch",
        terms=LIGHTGCN_TERMS,
        files=(
            File("train.txt", LIGHTGCN + "gowalla/train.txt"),
            File("test.txt", LIGHTGCN + "gowalla/test.txt"),
        ),
        parts={"train": "train.txt", "test": "test.txt"},
        reading={"format": "adjacency"},
        recipe=Recipe(split="given"),
        expected=Counts(1_027_370, users=29_858, items=40_981, test=217_242),
        note=LIGHTGCN_NOTE,
    ),
    NamedSet(
        name="yelp2018",
        about="Yelp challenge 2018, as split for LightGCN",
        homepage="https://github.com/gusye1234/LightGCN-PyTorch",
        terms=LIGHTGCN_TERMS,
        files=(
            File("train.txt", LIGHTGCN + "yelp2018/train.txt"),
            File("test.txt", LIGHTGCN + "yelp2018/test.txt"),
        ),
        parts={"train": "train.txt", "test": "test.txt"},
        reading={"format": "adjacency"},
        recipe=Recipe(split="given"),
        expected=Counts(1_561_406, users=31_668, items=38_048, test=324_147),
        note=LIGHTGCN_NOTE,
    ),
    NamedSet(
        name="amazon-book",
        about="Amazon reviews of books, as split for LightGCN",
        homepage="https://github.com/gusye1234/LightGCN-PyTorch",
        terms=LIGHTGCN_TERMS,
        files=(
            File("train.txt", LIGHTGCN + "amazon-book/train.txt"),
            File("test.txt", LIGHTGCN + "amazon-book/test.txt"),
        ),
        parts={"train": "train.txt", "test": "test.txt"},
        reading={"format": "adjacency"},
        recipe=Recipe(split="given"),
        expected=Counts(2_984_108, users=52_643, items=91_599, test=603_378),
        note=LIGHTGCN_NOTE,
    ),
)

CATALOGUE: Mapping[str, NamedSet] = MappingProxyType({known.name: known for known in _SETS})


def named_set(name: str) -> NamedSet:
    """The set of that name; a misspelt one gets the nearest right one."""
    if name not in CATALOGUE:
        raise DataError(f"there is no set named {name!r} in the catalogue; {nearest(name, CATALOGUE)}")
    return CATALOGUE[name]
