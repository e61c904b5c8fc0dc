"""Recommenders that need no gradient, one file a method: what a trained model must beat to be worth having."""

from sahcns.baselines.als import ALS as ALS
from sahcns.baselines.base import Baseline as Baseline
from sahcns.baselines.base import Factors as Factors
from sahcns.baselines.base import ItemWeights as ItemWeights
from sahcns.baselines.base import Scorer as Scorer
from sahcns.baselines.ease import EASE as EASE
from sahcns.baselines.gf_cf import GFCF as GFCF
from sahcns.baselines.item_knn import ItemKNN as ItemKNN
from sahcns.baselines.most_popular import MostPopular as MostPopular
