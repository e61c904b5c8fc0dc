"""Where tasks run: in this process, in several of this machine, on a Ray cluster, under Slurm.

Whoever starts a task holds its lock and writes what comes of it; where it runs, nothing but its checkpoints is written, and
those only on the machine of the starter. So a cluster needs no shared disk, and no locks on one.
"""
