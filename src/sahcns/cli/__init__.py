"""The command line. Every command is one line in COMMANDS and, but for the manuals, one file beside this one.

A command file has a function `command`, whose arguments are its options (typer), and imports what it needs inside it,
so that `sahcns --help` and the data commands answer at once and without torch.
"""

import sys
from collections.abc import Sequence

from sahcns.cli.console import escape_unprintable
from sahcns.cli.group import Entry, run
from sahcns.cli.process import let_threads_sleep

COMMANDS = (
    Entry("data", "sahcns.cli.data", "List, get, prepare and inspect data sets."),
    Entry("train", "sahcns.cli.train", "Train a recommender and store it."),
    Entry("evaluate", "sahcns.cli.evaluate", "Rank a stored model again, by any metric."),
    Entry("recommend", "sahcns.cli.recommend", "The best items for users, or items like another."),
    Entry("add-items", "sahcns.cli.add_items", "Take new items into a model by their first buyers."),
    Entry("export", "sahcns.cli.export", "A model's vectors for other systems."),
    Entry("serve", "sahcns.cli.serve", "Answer recommendation requests over HTTP."),
    Entry("compare", "sahcns.cli.compare", "Train samplers over seeds and put them into a table."),
    Entry("diff", "sahcns.cli.diff", "How two runs differ, and what came out of both."),
    Entry("inspect", "sahcns.cli.inspect", "Look inside a sampler at work on a trained model."),
    Entry("report", "sahcns.cli.report", "One page of tables and figures from a folder of results."),
    Entry("samplers", "sahcns.cli.manual", "The samplers there are, with their arguments.", "samplers"),
    Entry("backbones", "sahcns.cli.manual", "The backbones there are, with their arguments.", "backbones"),
    Entry("objectives", "sahcns.cli.manual", "The objectives there are, with their arguments.", "objectives"),
    Entry("tune", "sahcns.cli.tune", "Search for each sampler's best settings, on validation."),
    Entry("from-recbole", "sahcns.cli.from_recbole", "Run what a RecBole configuration says."),
    Entry("doctor", "sahcns.cli.doctor", "What sahcns finds on this machine."),
    Entry("bench", "sahcns.cli.bench", "Where the time of training goes on this machine."),
)

HELP = """Graph recommenders on implicit feedback, with the negative sampler as a first-class part.

Every command explains itself with --help, prints its result on stdout and all else on stderr, and knows --json.

Examples: sahcns data prepare ml-latest-small films
          sahcns train films --sampler sahc --out runs/sahc
          sahcns recommend runs/sahc --user 17"""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point; leaves with 0, with 2 for a user's mistake, with 130 for Ctrl-C."""
    let_threads_sleep()
    escape_unprintable()
    sys.exit(run(COMMANDS, HELP, sys.argv[1:] if arguments is None else list(arguments)))
