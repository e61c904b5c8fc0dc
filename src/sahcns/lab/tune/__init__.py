"""Search for the settings of samplers on the validation part: the space, the trials, what was chosen, its report."""
