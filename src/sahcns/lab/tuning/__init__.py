"""The search for a sampler's settings: what may be tried, every trial, and what was chosen, as tables and figures."""
