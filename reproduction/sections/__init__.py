"""The study's tables and figures, one file for each part; the report and docs/results.md are made of them.

What was not run raises `NotRun`, or stands as a dash in a table.
"""

from sahcns.lab import Figure, Table

Blocks = list[str | Table | Figure]
