"""Training: the loop, its protocol, and what is recorded."""

from sahcns.training.log import JsonLines as JsonLines
from sahcns.training.log import Log as Log
from sahcns.training.log import MLflow as MLflow
from sahcns.training.log import TensorBoard as TensorBoard
from sahcns.training.log import WandB as WandB
from sahcns.training.protocol import Protocol as Protocol
from sahcns.training.train import Trained as Trained
from sahcns.training.train import train as train
