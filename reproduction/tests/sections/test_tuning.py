"""What tuning switched off, and what it cut off."""

from dataclasses import replace
from pathlib import Path

from reproduction.evidence import Evidence
from reproduction.sections.tuning import cut_off_in_words, missing_in_words, switched_off
from reproduction.tests.tiny import TINY
from sahcns.lab import Trial
from tests.lab.tune.test_report import SEARCH


def test_a_part_that_is_switched_off_is_named(tmp_path: Path) -> None:
    TINY.save(tmp_path)
    chosen = {
        "one": {"sahc": {"alpha": 0.0, "lambda_max": 0.1, "pool": 10}},
        "two": {"sahc": {"alpha": 0.1, "lambda_max": 0.9, "pool": 10}},
    }
    evidence = replace(Evidence.of(tmp_path), chosen=chosen)
    (told,) = switched_off(evidence, ["one", "two"])
    assert told.startswith("On Tiny toys tuning chose α = 0: what stands here as SAHC-NS on it is HC-only")
    assert switched_off(Evidence.of(tmp_path), ["one", "two"]) == []


def test_trials_that_were_cut_off_are_counted() -> None:
    states = ("complete", "pruned", "pruned", "lost")
    trials = [Trial("sahc", at, state, {}, {}, 0.1) for at, state in enumerate(states)]
    cut = replace(SEARCH, spaces={"sahc": {}}, trials=trials)
    assert cut_off_in_words(cut, "here")[0].startswith("here: 2 of 3 trials were cut off early")
    assert cut_off_in_words(replace(cut, trials=trials[:1]), "here") == []


def test_searches_that_are_not_finished_are_named(tmp_path: Path) -> None:
    TINY.save(tmp_path)
    trials = [Trial("sahc", at, "complete", {}, {}, 0.1) for at in range(2)]
    trials += [Trial("bns", 0, "complete", {}, {}, 0.1), Trial("bns", 1, "running", {}, {}, 0.1)]
    spaces = {name: {"a": [1, 2]} for name in ("sahc", "bns", "dens")}
    begun = replace(SEARCH, spaces=spaces, sizes=dict.fromkeys(spaces), budget=dict.fromkeys(spaces, 2), trials=trials)
    (told,) = missing_in_words(replace(Evidence.of(tmp_path), searches={"one": begun}))
    assert told == (
        "Not finished, and without a chosen setting, are on Tiny toys: dns-mn, mixgcf, dens, ahns and divns (not begun); "
        "bns (1 of 2 trials). On Tiny yelp: sahc, dns-mn, mixgcf, dens, bns, ahns and divns (not begun)."
    )
