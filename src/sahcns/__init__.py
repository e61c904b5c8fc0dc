"""Graph recommenders on implicit feedback, with the negative sampler as a first-class part."""

from sahcns.version import __version__ as __version__
