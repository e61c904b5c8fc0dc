"""Grids of runs and what is learnt from them; results are plain data, read without torch.

grid         runs each job once and keeps its result
tuning       searches a sampler's settings on validation
comparison   plans a grid of samplers, and puts finished runs side by side
inspection   looks inside a sampler at work on a trained model
paper        the paper's whole study, made of the others
"""
