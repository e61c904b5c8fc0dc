"""The HTTP service over a trained model."""
