"""A trained model in use: recommendations in the original ids, and the folder that holds a model."""

from sahcns.serving.baskets import Baskets as Baskets
from sahcns.serving.folder import load_model as load_model
from sahcns.serving.folder import save_model as save_model
from sahcns.serving.lists import write_lists as write_lists
from sahcns.serving.recommender import Recommendation as Recommendation
from sahcns.serving.recommender import Recommender as Recommender
