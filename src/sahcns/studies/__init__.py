"""Grids of runs and what is learnt from them; results are plain data, read without torch."""
