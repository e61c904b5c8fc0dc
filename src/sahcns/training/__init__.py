"""Training: the loop, its protocol, and what is recorded."""

from sahcns.training.protocol import Protocol as Protocol
from sahcns.training.train import Trained as Trained
from sahcns.training.train import train as train
