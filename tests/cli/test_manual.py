"""`sahcns samplers`, `backbones` and `objectives` tell what there is, from the classes themselves."""

import dataclasses
from pathlib import Path

import pytest

from sahcns.backbones import NGCF, Backbone
from sahcns.objectives import BSL, Objective
from sahcns.samplers import SAHC, Sampler
from sahcns.settings import Configured, named
from tests.cli.conftest import Sahcns, refused
from tests.cli.test_train import MINE

BASES: dict[str, type[Configured]] = {"samplers": Sampler, "backbones": Backbone, "objectives": Objective}


@pytest.mark.parametrize("command", BASES)
def test_all_are_listed_with_every_argument(sahcns: Sahcns, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    shown = sahcns(command).out.splitlines()
    found = {entry["name"]: entry for entry in sahcns(command, "--json").json}
    built_in = {name: kind for name, kind in named(BASES[command]).items() if kind.__module__.startswith("sahcns.")}
    assert built_in.keys() <= found.keys()
    for name, kind in built_in.items():
        entry = found[name]
        assert len(entry["idea"]) > 10
        assert f"{name}  {entry['idea']}" in shown
        assert [argument["name"] for argument in entry["arguments"]] == [f.name for f in dataclasses.fields(kind)]
        for argument in entry["arguments"]:
            assert argument["meaning"], (name, argument["name"])
            assert argument["allowed"] not in ("", "any"), (name, argument["name"])
        rows = shown[shown.index(f"{name}  {entry['idea']}") + 4 :][: len(entry["arguments"])]
        for argument, row in zip(entry["arguments"], rows, strict=True):
            columns = [column.strip() for column in row.split("  ") if column.strip()]
            assert columns == [argument["name"], str(argument["default"]), argument["allowed"], argument["meaning"]]


def test_one_of_them_with_its_equations(sahcns: Sahcns) -> None:
    shown = sahcns("samplers", "sahc").out
    assert "λ_l = λmax (1 - exp(-max(p_l - max_j a_{j,l}, 0)))" in shown
    rows = {line.split()[0]: line for line in shown.splitlines() if line.strip()}
    assert rows["alpha"].split()[1:4] == ["0.3", ">=", "0"]
    assert sahcns("samplers", "sahc", "--json").json["arguments"][1]["default"] == SAHC().alpha == 0.3
    assert "Ã = D^-½ A D^-½" in sahcns("backbones", "ngcf").out
    assert sahcns("objectives", "bsl", "--json").json["arguments"][2]["default"] == BSL().power
    assert sahcns("backbones", "ngcf", "--json").json["arguments"][0]["default"] == NGCF().dim


def test_a_sampler_of_ones_own_is_listed_with_a_docstring_or_without(sahcns: Sahcns, tmp_path: Path) -> None:
    text = MINE.replace('"softest"', '"softest-listed"')
    (tmp_path / "mine.py").write_text(text)
    entry = sahcns("samplers", "softest-listed", "--import", tmp_path / "mine.py", "--json").json
    assert entry["idea"] == "The easiest candidate"
    wanted = {"name": "shift", "default": 0, "allowed": ">= 0", "meaning": "places from the easiest"}
    assert entry["arguments"][1] == wanted
    (tmp_path / "mute.py").write_text(text.replace("listed", "mute").replace('"The easiest candidate."', ""))
    assert sahcns("samplers", "softest-mute", "--import", tmp_path / "mute.py", "--json").json["idea"] == ""
    assert "did you mean 'mixgcf'" in refused(sahcns("samplers", "mixgfc"))
