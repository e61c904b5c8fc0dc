"""A run to be made again from its record: `run.json` of a trained model, or the file of a run of a comparison."""

from pathlib import Path

from sahcns.cli.console import tell, warn
from sahcns.cli.plan import Plan, read_plan
from sahcns.errors import DataError, SettingError
from sahcns.files import check_version, read_json
from sahcns.folders import home_of
from sahcns.lab.comparison.diff import RECORD
from sahcns.lab.grid.result import FORMAT, FORMAT_VERSION
from sahcns.model.folder import RUN
from sahcns.settings import Configured

MARKS = {RUN.format: RUN.version, FORMAT: FORMAT_VERSION}
NEEDED = ("backbone", "sampler", "protocol", "data", "machine")


def plan_in(path: Path, best: bool = False) -> Plan:
    """The plan in a TOML or YAML file, or in the record of a run, which may be given by its model's folder.

    `best` asks a record of a run that was judged for the epochs it found best, and not for the most it was allowed.
    """
    path = home_of(path)
    path = path / RECORD if path.is_dir() else path
    return _recorded(path, best) if path.suffix.lower() == ".json" else read_plan(path)


def _recorded(path: Path, best: bool) -> Plan:
    """Settings, protocol, seed and fingerprint, and the folder of data if it is still there.

    The files that the run imported are only noted: a record comes from anywhere, and must not run code.
    """
    values = read_json(path, missing=f"the run file {path} is not there", again="ask for it again")
    if not isinstance(values, dict) or str(values.get("format")) not in MARKS:
        raise DataError(f"{path} is no record of a run; a run is described in TOML or YAML, or by such a record")
    check_version(path, values, MARKS[values["format"]], again="ask for it again")
    missing = [name for name in NEEDED if not isinstance(values.get(name), dict)]
    if missing or not isinstance(values.get("seed"), int):
        raise DataError(f"{path} is broken, it has no {[*missing, 'seed'][0]!r}; ask for it again")
    data, kernels = values["data"], str(values["machine"].get("kernels"))
    protocol = values["protocol"]
    if "whole_of" in data:
        if not best:
            tell(f"{path} is of a run with --whole, which is not in the record's protocol: give it again")
    elif best and isinstance(values.get("best_epoch"), int):
        protocol = {**protocol, "epochs": values["best_epoch"] + 1}  # they are counted from 0
        tell(f"{protocol['epochs']} epoch{'s' * (protocol['epochs'] != 1)}, after which {path} found validation best")
    backbone, sampler = ({**values[part]} for part in ("backbone", "sampler"))
    objective = {**values.get("objective", {"name": "bpr"})}  # records from before there were others have none
    folder = data.get("folder")
    return Plan(
        data=folder if folder and Path(folder).exists() else None,
        seed=values["seed"],
        kernels=kernels if kernels == "reference" or "-" in kernels else None,  # the others are what `auto` finds
        recorded_imports=tuple(Path(name) for name in values.get("imports", ())),
        backbone=backbone.pop("name", None),
        sampler=sampler.pop("name", None),
        backbone_settings=backbone,
        sampler_settings=sampler,
        objective=objective.pop("name", None),
        objective_settings=objective,
        protocol=protocol,
        fingerprint=data.get("whole_of") or data.get("fingerprint"),
        code=values.get("code"),
    )


def check_known(plan: Plan) -> None:
    """Refuse a recorded part that is not known here, and say which file the record's run imported."""
    from sahcns.backbones import Backbone
    from sahcns.objectives import Objective
    from sahcns.samplers import Sampler
    from sahcns.settings import named

    parts: dict[type[Configured], str | None] = {
        Backbone: plan.backbone,
        Sampler: plan.sampler,
        Objective: plan.objective,
    }
    for base, name in parts.items():
        if plan.recorded_imports and name is not None and name not in named(base):
            options = " ".join(f"--import {path}" for path in plan.recorded_imports)
            raise SettingError(
                f"the {base.__name__.lower()} {name!r} is not known here, and what a record names is not imported; if you "
                f"trust its file, give {options}, or where it is now"
            )


def warn_of_differences(plan: Plan, folder: Path | None, fingerprint: str, code: str | None) -> None:
    """Say where the data in `folder`, or the user's own code, are not those of the record."""
    if folder is not None and plan.fingerprint not in (None, fingerprint):
        warn(
            f"{folder} holds other data (fingerprint {fingerprint[:12]}…) than the record was made on "
            f"({str(plan.fingerprint)[:12]}…), so its numbers cannot come out again"
        )
    if code is not None and plan.code not in (None, code):
        warn(
            f"{' and '.join(map(str, plan.imports))} is not the code that the record was made with (digest {code[:8]}, and "
            f"there {str(plan.code)[:8]}), so its numbers may not come out again"
        )
