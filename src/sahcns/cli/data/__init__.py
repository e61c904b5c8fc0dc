"""List, get, prepare and inspect data sets.

A prepared set is a folder: training, validation and test pairs, the original ids, and a manifest that says how it was
made. Its fingerprint appears in every result that is computed from it.
"""

from sahcns.cli.group import Entry

COMMANDS = (
    Entry("list", "sahcns.cli.data.list", "The public sets that sahcns knows by name."),
    Entry("get", "sahcns.cli.data.get", "Download a named set, or take a local copy of it."),
    Entry("prepare", "sahcns.cli.data.prepare", "Filter, split and store a named set or your own files."),
    Entry("stats", "sahcns.cli.data.stats", "Sizes, density and degrees of prepared sets."),
)
