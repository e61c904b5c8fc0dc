"""Graph recommenders on implicit feedback, with the negative sampler as a first-class part.

    import sahcns

    split = sahcns.prepare_named("ml-latest-small")
    run = sahcns.fit(split, sahcns.LightGCN(), sahcns.SAHC(alpha=0.3))
    run.recommender.recommend([17], k=10)

A name is imported when it is first used, so that `import sahcns` costs nothing and data is prepared without torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sahcns.version import __version__ as __version__

if TYPE_CHECKING:
    from sahcns.backbones import MF as MF
    from sahcns.backbones import NGCF as NGCF
    from sahcns.backbones import SGL as SGL
    from sahcns.backbones import Backbone as Backbone
    from sahcns.backbones import LightGCN as LightGCN
    from sahcns.backbones import LightGCNpp as LightGCNpp
    from sahcns.backbones import SimGCL as SimGCL
    from sahcns.backbones import XSimGCL as XSimGCL
    from sahcns.data import Recipe as Recipe
    from sahcns.data import Split as Split
    from sahcns.data import load_split as load_split
    from sahcns.data import prepare as prepare
    from sahcns.data import save_split as save_split
    from sahcns.data.catalogue import prepare_named as prepare_named
    from sahcns.data.readers import read as read
    from sahcns.data.readers import read_stored as read_stored
    from sahcns.errors import SahcnsError as SahcnsError
    from sahcns.graph import Graph as Graph
    from sahcns.lab.comparison.compare import compare as compare
    from sahcns.lab.grid.result import Result as Result
    from sahcns.lab.tune.tune import tune as tune
    from sahcns.model import Recommender as Recommender
    from sahcns.model import Run as Run
    from sahcns.model import fit as fit
    from sahcns.objectives import BCE as BCE
    from sahcns.objectives import BPR as BPR
    from sahcns.objectives import BSL as BSL
    from sahcns.objectives import CCL as CCL
    from sahcns.objectives import PSL as PSL
    from sahcns.objectives import DirectAU as DirectAU
    from sahcns.objectives import Objective as Objective
    from sahcns.objectives import SampledSoftmax as SampledSoftmax
    from sahcns.objectives import SLatK as SLatK
    from sahcns.ranking import Truth as Truth
    from sahcns.ranking import evaluate as evaluate
    from sahcns.rng import Rng as Rng
    from sahcns.samplers import AHNS as AHNS
    from sahcns.samplers import BNS as BNS
    from sahcns.samplers import DENS as DENS
    from sahcns.samplers import DNS as DNS
    from sahcns.samplers import DNSMN as DNSMN
    from sahcns.samplers import RNS as RNS
    from sahcns.samplers import SAHC as SAHC
    from sahcns.samplers import DivNS as DivNS
    from sahcns.samplers import InBatch as InBatch
    from sahcns.samplers import Matching as Matching
    from sahcns.samplers import MixGCF as MixGCF
    from sahcns.samplers import Mixture as Mixture
    from sahcns.samplers import Popularity as Popularity
    from sahcns.samplers import Sampler as Sampler
    from sahcns.samplers import Shared as Shared
    from sahcns.settings import Between as Between
    from sahcns.settings import setting as setting
    from sahcns.training import Protocol as Protocol

_HOMES = {
    "sahcns.data": ("Recipe", "Split", "load_split", "prepare", "save_split"),
    "sahcns.data.catalogue": ("prepare_named",),
    "sahcns.data.readers": ("read", "read_stored"),
    "sahcns.backbones": ("Backbone", "LightGCN", "LightGCNpp", "MF", "NGCF", "SGL", "SimGCL", "XSimGCL"),
    "sahcns.samplers": (
        *("AHNS", "BNS", "DENS", "DNS", "DNSMN", "DivNS", "InBatch", "MixGCF", "Popularity", "RNS", "SAHC", "Shared"),
        *("Matching", "Mixture", "Sampler"),  # to write one's own
    ),
    "sahcns.objectives": (
        *("BCE", "BPR", "BSL", "CCL", "DirectAU", "PSL", "SLatK", "SampledSoftmax"),
        "Objective",  # to write one's own
    ),
    "sahcns.graph": ("Graph",),
    "sahcns.rng": ("Rng",),
    "sahcns.settings": ("Between", "setting"),
    "sahcns.training": ("Protocol",),
    "sahcns.ranking": ("Truth", "evaluate"),
    "sahcns.model": ("Recommender", "Run", "fit"),
    "sahcns.lab.comparison.compare": ("compare",),
    "sahcns.lab.grid.result": ("Result",),
    "sahcns.lab.tune.tune": ("tune",),
    "sahcns.errors": ("SahcnsError",),
}

__all__ = ["__version__", *(name for names in _HOMES.values() for name in names)]


if not TYPE_CHECKING:  # a type checker that saw this function would take any misspelt name for right

    def __getattr__(name: str) -> Any:
        for home, names in _HOMES.items():
            if name in names:
                globals()[name] = getattr(import_module(home), name)  # from now on without this function
                return globals()[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
