"""The study's tables and figures, of which the report and docs/results.md are made; `NotRun` where nothing was run."""
