"""Two stricter looks than the paper's: equal tuning and equal pools, and many seeds."""

from collections.abc import Sequence

from reproduction.beside import READINGS
from reproduction.evidence import Evidence
from reproduction.leading import AT_20, METRICS, lead_table
from reproduction.methods import AS_DNS, METHOD, NINE
from reproduction.sections.against import near_differences, resolved_in_words
from reproduction.sections.standing import seeds_in_words, unfinished
from reproduction.sections.tuning import parts_in_words, switched_off
from sahcns.lab import Figure, Section, Table, joined, main_table, pairwise_table

TITLES = {
    "equal": "Equal tuning, equal pools",
    "power": "Many seeds",
}
WORDS = {"equal": "tuned alike", "power": "many seeds"}  # in the titles of figures


def level_section(evidence: Evidence, part: str) -> Section:
    board = evidence.board(part)
    found: list[str | Table | Figure] = [*unfinished(evidence, part), *seeds_in_words(evidence, part)]
    if part == "equal":
        found.insert(
            0,
            f"All methods with a pool of {evidence.design.pool} and what {evidence.design.trials} trials on validation "
            "chose for each, or as many as it has settings to try. RNS has no pool to choose from, and DNS nothing to tune.",
        )
    else:
        found += parts_in_words(evidence, evidence.design.powered)
    if board is None:
        return Section(TITLES[part], found)
    if part == "equal":
        folders = [one.folder for one in evidence.design.sets if one.name in board.data]
        found += [*switched_off(evidence, folders), *tuned_to_dns(evidence, folders)]
    found += resolved_in_words(board)
    for reading, words in READINGS.items():
        found.append(main_table(board, METRICS, None, reading, name=f"{part}-{reading}", title=f"Ours, {words}"))
    for reading, words in READINGS.items():
        title = f"{METHOD} against the strongest other, {words}"
        table = lead_table(board, METRICS, reading, name=f"{part}-lead-{reading}", title=title)
        found += [table] if table else []
    for data in board.data:
        drawn = near_differences(board, data, f"{part}, {data}", f"{data}, {WORDS[part]}")
        found += [drawn] if drawn else []
    table = pairwise_table(board, AT_20, METHOD, name=f"{part}-pairs", title="over seeds")
    return Section(TITLES[part], [*found, *([table] if table else [])])


def tuned_to_dns(evidence: Evidence, folders: Sequence[str]) -> list[str]:
    """A sentence for each set where tuning took from a method what makes it differ from DNS; else nothing."""
    told = []
    for folder in folders:
        chosen = evidence.chosen.get(folder, {})
        plain = [
            f"{label} ({', '.join(f'{name}={value:g}' for name, value in AS_DNS[sampler].items())})"
            for label, sampler in NINE.items()
            if sampler in AS_DNS and sampler in chosen and AS_DNS[sampler].items() <= chosen[sampler].items()
        ]
        if plain:
            told.append(
                f"On {evidence.design.data(folder).name} tuning made DNS of {joined(plain)}: what sets such rows apart from "
                "that of DNS is chance."
            )
    return told
