"""A trained model in use: recommendations in the original ids, and the folder that holds a model."""

from sahcns.model.baskets import Baskets as Baskets
from sahcns.model.fit import Run as Run
from sahcns.model.fit import fit as fit
from sahcns.model.lists import write_lists as write_lists
from sahcns.model.recommender import Recommendation as Recommendation
from sahcns.model.recommender import Recommender as Recommender
