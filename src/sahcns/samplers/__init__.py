"""One file a method. Any subclass of `Sampler` that has been imported, here or in a user's file, can be named."""

from sahcns.samplers.ahns import AHNS as AHNS
from sahcns.samplers.base import Sampler as Sampler
from sahcns.samplers.bns import BNS as BNS
from sahcns.samplers.dens import DENS as DENS
from sahcns.samplers.dins import DINS as DINS
from sahcns.samplers.divns import DivNS as DivNS
from sahcns.samplers.dns import DNS as DNS
from sahcns.samplers.dns_mn import DNSMN as DNSMN
from sahcns.samplers.in_batch import InBatch as InBatch
from sahcns.samplers.matching import Matching as Matching
from sahcns.samplers.mixgcf import MixGCF as MixGCF
from sahcns.samplers.mixture import Mixture as Mixture
from sahcns.samplers.pdns import PDNS as PDNS
from sahcns.samplers.popularity import Popularity as Popularity
from sahcns.samplers.rns import RNS as RNS
from sahcns.samplers.sahc import SAHC as SAHC
from sahcns.samplers.sahc import HCOnly as HCOnly
from sahcns.samplers.sahc import SAHCFixed as SAHCFixed
from sahcns.samplers.sahc import SAHCGlobal as SAHCGlobal
from sahcns.samplers.sahc import SAOnly as SAOnly
from sahcns.samplers.sahc import WithoutDiscrepancy as WithoutDiscrepancy
from sahcns.samplers.sahc import WithoutMean as WithoutMean
from sahcns.samplers.sahc_family import SAHCFamily as SAHCFamily
from sahcns.samplers.shared import Shared as Shared
from sahcns.samplers.softmax import Softmax as Softmax
from sahcns.samplers.srns import SRNS as SRNS
