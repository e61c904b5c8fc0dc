"""The study's tables and figures; the report and docs/results.md are made of them.

What was not run raises `NotRun`, or stands as a dash in a table.
"""
