"""One file a model. Any subclass of `Backbone` that has been imported can be named on the command line."""

from sahcns.backbones.base import Backbone as Backbone
from sahcns.backbones.base import Parameters as Parameters
from sahcns.backbones.lightgcn import LightGCN as LightGCN
from sahcns.backbones.lightgcnpp import LightGCNpp as LightGCNpp
from sahcns.backbones.mf import MF as MF
from sahcns.backbones.ngcf import NGCF as NGCF
from sahcns.backbones.sgl import SGL as SGL
from sahcns.backbones.simgcl import SimGCL as SimGCL
from sahcns.backbones.xsimgcl import XSimGCL as XSimGCL
