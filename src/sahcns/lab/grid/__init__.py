"""Jobs and their results in a folder: each job run once, by however many processes, whichever of them die."""
