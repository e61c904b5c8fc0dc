"""Planning a comparison: names, classes and samplers become jobs; what would compare nothing, or twice, is refused."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest

import sahcns
from sahcns.backbones import MF
from sahcns.data import load_split, save_split
from sahcns.errors import DataError, SettingError
from sahcns.lab.comparison.compare import Contestant, compare, models_of, plan_jobs, rows_of, seeds_of
from sahcns.lab.grid.job import Job
from sahcns.lab.tune.search import tuned_remarks
from sahcns.objectives import SampledSoftmax
from sahcns.rng import Rng
from sahcns.samplers import DNS, RNS, SAHC, Matching, Mixture, Sampler
from sahcns.training.record import described
from tests.lab.grid.jobs import QUICK, prepared
from tests.model.films import films


@dataclass(frozen=True)
class Mine(Sampler):
    name: ClassVar[str] = "mine-in-compare"

    def choose(self, match: Matching, rng: Rng) -> Mixture:
        return match.pick(match.scores.argmin(1))


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return prepared(tmp_path)


def plan(data: Path | list[Path], samplers: Any, backbones: Any = "mf", seeds: int = 1, **rest: Any) -> list[Job]:
    folders = [data] if isinstance(data, Path) else data
    return plan_jobs(folders, rows_of(samplers), models_of(backbones), seeds_of(seeds), QUICK, **rest)


def tuned(folder: Path, name: str = "tuned.json", **rest: Any) -> Path:
    values = {"format": "sahcns-tuned", "format_version": 1, "samplers": {"sahc": {"alpha": 0.9}}, **rest}
    (folder / name).write_text(json.dumps(values))
    return folder / name


def test_the_grid_is_every_combination_and_one_seed_comes_before_the_next(data: Path) -> None:
    jobs = plan(data, ["rns", DNS, SAHC(alpha=0.7)], ["mf", MF(dim=4)], seeds=2)
    assert [(job.seed, job.backbone["dim"], job.label) for job in jobs] == [
        (seed, dim, label) for seed in (2020, 2021) for dim in (64, 4) for label in ("rns", "dns", "sahc")
    ]
    assert jobs[2].sampler["alpha"] == 0.7
    assert {job.protocol["batch"] for job in jobs} == {64}


def test_rows_may_have_names_of_their_own(data: Path) -> None:
    jobs = plan(data, {"hard": DNS(pool=5), "harder": Contestant(DNS, {"pool": 9}), "plain": "rns"})
    assert [(job.label, job.sampler["name"], job.sampler["pool"]) for job in jobs] == [
        *(("hard", "dns", 5), ("harder", "dns", 9), ("plain", "rns", 1))
    ]


def test_a_row_may_have_its_own_of_everything_it_is_trained_with(data: Path) -> None:
    """What it does not name is as for all; and a row that names what all have is the same run as without."""
    rows = {
        "plain": "dns",
        "named": Contestant(DNS, {"pool": 3, "protocol.l2": 0.5}),
        "row": {"name": "dns", "pool": 3, "protocol": {"l2": 0.25, "epochs": 1}, "backbone.dim": 8},
        "other": {"name": "rns", "objective": {"name": "bpr"}},
        "hot": {"name": "rns", "objective.temperature": 0.5, "protocol.l2": QUICK.l2},
    }
    jobs = {job.label: job for job in plan(data, rows, MF(dim=4), objective=SampledSoftmax(temperature=0.2))}
    assert {label: job.backbone["dim"] for label, job in jobs.items() if job.backbone["dim"] != 4} == {"row": 8}
    l2 = {"plain": QUICK.l2, "named": 0.5, "row": 0.25, "other": QUICK.l2, "hot": QUICK.l2}
    assert {label: job.protocol["l2"] for label, job in jobs.items()} == l2
    assert {label: job.protocol["epochs"] for label, job in jobs.items()} == {**dict.fromkeys(rows, 2), "row": 1}
    softmax = described(SampledSoftmax(temperature=0.2))
    assert {label: job.objective for label, job in jobs.items()} == {
        **dict.fromkeys(rows, softmax), "other": {"name": "bpr"}, "hot": softmax | {"temperature": 0.5}
    }  # fmt: skip
    (same,) = plan(data, [{"name": "dns", "protocol.l2": QUICK.l2, "objective": "bpr"}], MF(dim=4))
    assert same.key == plan(data, ["dns"], MF(dim=4))[0].key != jobs["plain"].key
    for job in jobs.values():
        made = job.build()
        built = (made["backbone"].dim, made["objective"].to_dict().get("temperature"), made["protocol"].l2)
        assert built == (job.backbone["dim"], job.objective.get("temperature"), job.protocol["l2"])


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ({"name": "dns", "protocol.mask": "train+valid"}, r"protocol\.mask"),
        ({"name": "dns", "protocol": {"monitor": "ndcg@20"}}, r"protocol\.monitor"),
        ({"name": "dns", "protocl.l2": 1}, r"protocl\.l2.*protocol\.l2"),
        ({"name": "dns", "backbone.depth": 2}, "depth=2"),  # MF has none
        ({"name": "dns", "objective": "brp"}, "brp.*bpr"),
        ({"pool": 3}, "name"),
    ],
)
def test_a_row_of_its_own_that_cannot_be_is_refused(data: Path, row: dict[str, Any], named: str) -> None:
    with pytest.raises(SettingError, match=named):
        plan(data, [row])


def test_nothing_is_compared_or_tuned_by_nobody(data: Path, tmp_path: Path) -> None:
    for begin in (lambda: plan(data, []), lambda: sahcns.tune(data, [], tmp_path / "search")):
        with pytest.raises(SettingError, match="samplers"):
            begin()


def test_what_was_tuned_around_a_sampler_is_taken_over_too(data: Path, tmp_path: Path) -> None:
    wide = {"dns": {"pool": 5, "protocol.l2": 0.5, "backbone.dim": 8}, "rns": {"protocol.l2": 0.25}}
    file = tuned(tmp_path, samplers=wide)
    rows = {"dns": "dns", "held": Contestant(DNS, {"protocol.l2": 0.1}), "made": DNS(), "rns": "rns"}
    jobs = {job.label: job for job in plan(data, rows, MF(dim=4), tuned=[file])}
    assert {label: (job.sampler["pool"], job.protocol["l2"], job.backbone["dim"]) for label, job in jobs.items()} == {
        "dns": (5, 0.5, 8), "held": (5, 0.1, 8), "made": (10, QUICK.l2, 4), "rns": (1, 0.25, 4)
    }  # fmt: skip
    assert tuned_remarks([file], [jobs["dns"]]) == []
    (remark,) = tuned_remarks([file], [jobs["held"]])
    assert remark.endswith("was tuned with l2 0.5 (here 0.1)")


def test_seeds_are_a_number_or_a_list() -> None:
    assert seeds_of(3) == [2020, 2021, 2022]
    assert seeds_of([7, 3]) == [7, 3]
    for wrong in (0, [], [1, 1], [-1]):
        with pytest.raises(SettingError, match="seeds="):
            seeds_of(wrong)


def test_tuned_settings_are_for_what_is_not_told_and_for_where_they_were_tuned(data: Path, tmp_path: Path) -> None:
    everywhere = tuned(tmp_path)
    rows = {"by name": "sahc", "told": Contestant(SAHC, {"alpha": 0.1}), "made": SAHC(lambda_max=0.4), "other": "rns"}
    alphas = {job.label: job.sampler.get("alpha") for job in plan(data, rows, tuned=[everywhere])}
    assert alphas == {"by name": 0.9, "told": 0.1, "made": 0.3, "other": None}
    here = {"fingerprint": films().fingerprint, "name": "films"}
    only_mf = tuned(tmp_path, "mf.json", data=here, backbone={"name": "mf", "dim": 4})
    jobs = plan(data, ["sahc"], ["mf", "lightgcn"], tuned=[only_mf])
    assert [(job.backbone["name"], job.sampler["alpha"]) for job in jobs] == [("mf", 0.9), ("lightgcn", 0.3)]


def test_tuned_settings_that_fit_nothing_or_twice_are_refused(data: Path, tmp_path: Path) -> None:
    elsewhere = tuned(tmp_path, data={"fingerprint": "0" * 64, "name": "shop"}, backbone={"name": "mf"})
    with pytest.raises(SettingError, match="shop"):
        plan(data, ["sahc"], tuned=[elsewhere])
    with pytest.raises(SettingError, match=r"again\.json"):
        plan(data, ["sahc"], tuned=[tuned(tmp_path), tuned(tmp_path, "again.json")])
    with pytest.raises(SettingError, match="alpha"):
        plan(data, ["sahc"], tuned=[tuned(tmp_path, samplers={"sahc": {"alhpa": 1}})])


@pytest.mark.parametrize(
    ("samplers", "backbones", "sentence"),
    [
        (["rns", "rns"], "mf", "'rns'"),
        ({"a": RNS(), "b": "rns"}, "mf", "a on mf and .* b on mf"),
        (["rns"], ["mf", MF()], "rns on mf and .* rns on mf"),
    ],
)
def test_what_would_compare_one_thing_twice_is_refused(
    data: Path, samplers: Any, backbones: Any, sentence: str
) -> None:
    with pytest.raises(SettingError, match=sentence):
        plan(data, samplers, backbones)


def test_a_run_is_built_by_name_so_no_other_class_may_have_it(data: Path) -> None:
    class MyDNS(DNS):
        pass

    with pytest.raises(SettingError, match="MyDNS"):  # else DNS would be trained for it
        plan(data, {"mine": MyDNS()})
    earlier, later = (cast(type[DNS], type("Anew", (DNS,), {"name": "anew-in-compare"})) for _ in range(2))
    assert len(plan(data, [later()])) == 1
    with pytest.raises(SettingError, match="anew-in-compare"):
        plan(data, [earlier()])
    earlier.name = later.name = ""  # for whoever lists samplers later


def test_a_class_that_other_processes_cannot_see_is_refused(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(**rest: Any) -> list[str]:
        outcome = compare(data, [Mine], MF(dim=4), out=tmp_path / "out", seeds=1, protocol=QUICK, device="cpu", **rest)
        return [result.label for result in outcome.results]

    with pytest.raises(SettingError, match="Mine"):
        run(workers=2)
    assert run() == ["mine-in-compare"]
    assert run(workers=2, imports=[__file__]) == ["mine-in-compare"]
    monkeypatch.setattr(Mine, "__module__", "__main__")
    with pytest.raises(SettingError, match="__main__"):
        run(workers=2, imports=[__file__])


def test_a_split_in_memory_is_stored_once_beside_the_results(tmp_path: Path) -> None:
    out = tmp_path / "study"
    kinds = list[str]()

    def run() -> list[str]:
        outcome = compare(
            films(),
            ["rns", Mine()],
            MF(dim=4),
            out=out,
            seeds=1,
            protocol=QUICK,
            device="cpu",
            on_event=lambda event: kinds.append(event.kind),
        )
        return [result.label for result in outcome.results]

    assert run() == ["rns", "mine-in-compare"]
    (stored,) = (out / "data").iterdir()
    assert load_split(stored).fingerprint == films().fingerprint
    before = stored.stat().st_mtime_ns
    kinds.clear()
    assert run() == ["rns", "mine-in-compare"]
    assert kinds == ["skipped", "skipped"]
    assert stored.stat().st_mtime_ns == before


def test_several_sets_and_one_that_is_not_there(data: Path, tmp_path: Path) -> None:
    other = save_split(films(seed=1), tmp_path / "other")
    jobs = plan([data, other], ["rns"])
    assert [job.data_name for job in jobs] == ["films", "other"]
    with pytest.raises(DataError, match="gone"):
        plan([data, tmp_path / "gone"], ["rns"])
