"""Level (b): where tuning left nothing of a method but DNS."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from reproduction.evidence import Evidence
from reproduction.sections.levels import tuned_to_dns
from reproduction.tests.tiny import TINY


def test_methods_that_tuning_made_dns_of_are_named(tmp_path: Path) -> None:
    TINY.save(tmp_path)
    chosen: dict[str, dict[str, dict[str, Any]]] = {
        "one": {"dns-mn": {"top_k": 1, "pool": 10}, "divns": {"lam": 1.0, "pool": 10}, "bns": {"lam": 1.0, "pool": 10}},
        "two": {"dns-mn": {"top_k": 2, "pool": 10}, "divns": {"lam": 0.9, "ratio": 4, "pool": 10}},
    }
    (told,) = tuned_to_dns(replace(Evidence.of(tmp_path), chosen=chosen), ["one", "two"])
    assert told.startswith("On Tiny toys tuning made DNS of DNS(M,N) (top_k=1) and DivNS (lam=1): what sets")
    assert tuned_to_dns(Evidence.of(tmp_path), ["one", "two"]) == []
