"""Training: fit, its protocol, and what is recorded."""

from sahcns.training.fit import Run as Run
from sahcns.training.fit import fit as fit
from sahcns.training.protocol import Protocol as Protocol
