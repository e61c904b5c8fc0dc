"""`sahcns from-recbole`."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from sahcns.cli.console import tell, warn
from sahcns.cli.options import option
from sahcns.errors import DataError, SettingError, nearest

MODELS = {"BPR": "mf", "LightGCN": "lightgcn", "NGCF": "ngcf", "SimGCL": "simgcl"}
SPLITS = {("RO", True): "random-user", ("RO", False): "random", ("TO", True): "time-user", ("TO", False): "time"}
METRICS = {"Recall": "recall", "NDCG": "ndcg", "Precision": "precision", "Hit": "hit", "MRR": "mrr", "MAP": "map"}
# What has no bearing on the result: where things lie, what is printed, and what RecBole loads beside the pairs.
NO_MATTER = {
    *("gpu_id", "device", "worker", "state", "show_progress", "encoding", "reproducibility", "config_files"),
    *("checkpoint_dir", "saved", "save_dataset", "dataset_save_path", "save_dataloaders", "load_col", "unload_col"),
    *("field_separator", "seq_separator", "log_wandb", "wandb_project", "tensorboard_dir", "metric_decimal_place"),
    *("eval_batch_size", "shuffle", "valid_metric_bigger", "require_pow"),
}
# Of each backbone: our argument, its kind, theirs, their default.
SETTINGS: dict[str, tuple[tuple[str, type, str, float], ...]] = {
    "BPR": (),
    "LightGCN": (("depth", int, "n_layers", 2),),
    "NGCF": (("dropout", float, "message_dropout", 0.1),),
    "SimGCL": (
        *(("depth", int, "n_layers", 3), ("cl_weight", float, "lambda", 0.1)),
        *(("noise", float, "eps", 0.1), ("temperature", float, "temperature", 0.2)),
    ),
}
MARK = "# written by `sahcns from-recbole`\n"


class Config:
    """RecBole's settings; what nobody has asked for is left over."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values, self.asked = values, set[str]()
        self.notes: list[str] = []  # what is done in another way than there

    def get(self, name: str, default: Any = None) -> Any:
        self.asked.add(name)
        value = self.values.get(name)
        return default if value is None else value

    def number(self, name: str, default: float) -> float:
        value = self.get(name, default)
        try:
            return float(value)  # YAML takes 1e-5 for text
        except (TypeError, ValueError):
            raise SettingError(f"{name}={value!r} must be a number") from None

    def unread(self) -> list[str]:
        return sorted({str(name) for name, value in self.values.items() if value is not None} - self.asked - NO_MATTER)


def command(
    config: Annotated[Path, typer.Argument(metavar="CONFIG.yaml", help="RecBole's settings of a run.")],
    out: Annotated[Path, option("The folder for the trained model; OUT.data and OUT.yaml beside it.", "RUN", "--out")],
    dry_run: Annotated[bool, option("Write the run file and say the commands; run none.", None, "--dry-run")] = False,
) -> None:
    """Run what a RecBole configuration says: its `.inter` files, model, negatives, training, split and metrics.

    It is turned into a run file and three commands, which are said and run: prepare, train, evaluate. What a setting
    would change and cannot be taken over is said too. Settings that the file leaves out are RecBole's defaults.

    Examples: sahcns from-recbole lightgcn.yaml --out runs/theirs
              sahcns from-recbole lightgcn.yaml --out runs/theirs --dry-run
    """
    import yaml

    from sahcns.cli import COMMANDS, HELP
    from sahcns.cli.group import run
    from sahcns.cli.plan import load_file

    settings = Config(load_file(config))
    file, data = Path(f"{out}.yaml"), Path(f"{out}.data")
    prepare = prepare_line(settings, config.parent, data)
    plan = run_file(settings)
    evaluate = evaluate_line(settings, out)
    if file.exists() and not file.read_text("utf-8", errors="replace").startswith(MARK):
        raise DataError(f"{file} is there and was not made by from-recbole; choose another --out")
    file.parent.mkdir(parents=True, exist_ok=True)
    places = {"data": str(data.absolute()), "out": str(out.absolute())}
    file.write_text(MARK + yaml.safe_dump({**places, **plan}, sort_keys=False), "utf-8")
    for note in [*settings.notes, *(f"{name} is not taken over" for name in settings.unread())]:
        warn(note)
    for line in (prepare, ["train", "--config", str(file)], evaluate):
        tell(f"$ sahcns {shlex.join(line)}")
        if not dry_run and (code := run(COMMANDS, HELP, line)):
            raise typer.Exit(code)


def prepare_line(config: Config, beside: Path, data: Path) -> list[str]:
    """The command that reads the `.inter` files, filters and splits as told."""
    name = config.get("dataset")
    if not isinstance(name, str):
        raise SettingError(
            "the configuration names no dataset; add `dataset: ml-100k`, whose files are ml-100k/ml-100k.inter"
        )
    parts = config.get("benchmark_filename") or []
    stems = [f"{name}.{part}" for part in parts] or [name]
    data_path = Path(str(config.get("data_path", "dataset")))
    # RecBole looks from where it is started; beside the configuration is a good guess too
    places = [root / data_path / inner for root in (Path(), beside) for inner in (name, "")]
    folder = next((one for one in places if (one / f"{stems[0]}.inter").is_file()), None)
    if folder is None:
        raise DataError(f"{places[0] / stems[0]}.inter is not there; data_path says where the folder {name} is")
    files = [str(folder / f"{stem}.inter") for stem in stems]
    fields = {"user": "USER_ID_FIELD", "item": "ITEM_ID_FIELD", "rating": "RATING_FIELD", "time": "TIME_FIELD"}
    columns = {role: config.values[key] for role, key in fields.items() if config.get(key) is not None}
    options = {**columns, **_filters(config), **({} if parts else _split(config))}
    if parts:
        config.get("eval_args")
        if len(files) not in (2, 3):
            raise SettingError(
                f"benchmark_filename={parts!r} must name training, validation and test, or training and test"
            )
        options |= {"test": files[-1]} | ({"valid": files[1]} if len(files) == 3 else {})
    words = [word for option, value in options.items() for word in (f"--{option}", str(value))]
    return ["data", "prepare", files[0], str(data), "--format", "inter", *words]


def _filters(config: Config) -> dict[str, Any]:
    """`[10,inf)` for users and items, which is a k-core, and `rating: "[4,inf)"`."""
    options: dict[str, Any] = {}
    least = {name: _least(config.get(name)) for name in ("user_inter_num_interval", "item_inter_num_interval")}
    if any(least.values()):
        options["core"] = int(max(least.values()))
        if len(set(least.values())) > 1:
            config.notes.append(f"users and items have one least number of rows here, --core {options['core']}")
    for field, interval in config.get("val_interval", {}).items():
        if field == config.get("RATING_FIELD", "rating"):
            options["min-rating"] = f"{_least(interval):g}"
        else:
            config.notes.append(f"val_interval of {field} is not taken over")
    if (duplicates := config.get("rm_dup_inter")) is not None:
        options["duplicates"] = duplicates
    return options


def _least(interval: Any) -> float:
    """The 10 of `[10,inf)`; 0 where there is no interval."""
    if interval is None:
        return 0.0
    bound = re.fullmatch(r"\[\s*([\d.]+)\s*,\s*inf\s*[)\]]", str(interval).strip())
    if bound is None:
        raise SettingError(f"the interval {interval!r} must be of the kind [10,inf)")
    return float(bound[1])


def _split(config: Config) -> dict[str, Any]:
    args = {"split": {"RS": [0.8, 0.1, 0.1]}, "group_by": "user", "order": "RO", **config.get("eval_args", {})}
    modes = args.get("mode", "full")
    for mode in {*(modes.values() if isinstance(modes, dict) else [modes])} - {"full"}:
        config.notes.append(f"mode {mode} is not taken over: every list is of all items")
    rule, by_user = dict(args["split"]), args["group_by"] in ("user", "user_id")
    seed = int(config.number("seed", 2020))
    if "LS" in rule:
        if rule["LS"] != "valid_and_test" or args["order"] != "TO":
            raise SettingError(f"eval_args={args!r}: leave-one-out is taken over as LS: valid_and_test with order: TO")
        return {"split": "leave-last-out"}
    if "RS" not in rule or args["order"] not in ("RO", "TO") or len(rule["RS"]) != 3:
        raise SettingError(f"eval_args={args!r}: a split is taken over as RS with three shares, or LS: valid_and_test")
    ratios = ":".join(f"{share:g}" for share in rule["RS"])
    return {"split": SPLITS[args["order"], by_user], "ratios": ratios, "seed": seed}


def run_file(config: Config) -> dict[str, Any]:
    """Backbone, sampler and protocol, as `sahcns train --config` reads them."""
    model = str(config.get("model", ""))
    if model not in MODELS:
        raise SettingError(f"model={model!r} has no backbone here; {nearest(model, MODELS)}")
    backbone: dict[str, Any] = {"name": MODELS[model], "dim": int(config.number("embedding_size", 64))}
    backbone |= {ours: kind(config.number(theirs, usual)) for ours, kind, theirs, usual in SETTINGS[model]}
    if model == "NGCF":
        widths = config.get("hidden_size_list", [64, 64, 64])
        backbone |= {"depth": len(widths), "variant": "original"}
        if set(widths) != {backbone["dim"]}:
            config.notes.append(
                f"hidden_size_list={widths} is not taken over: every layer has {backbone['dim']} dimensions"
            )
    if (learner := config.get("learner", "adam")) != "adam":
        config.notes.append(f"learner {learner} is not taken over: training is by Adam")
    protocol = {
        "epochs": int(config.number("epochs", 300)),
        "batch": int(config.number("train_batch_size", 2048)),
        "learning_rate": config.number("learning_rate", 1e-3),
        "l2": config.number("reg_weight", 0.0 if model == "BPR" else 1e-5),
        "evaluate_every": int(config.number("eval_step", 1)),
        "patience": int(config.number("stopping_step", 10)) + 1,  # there it stops after more than so many looks
        "monitor": _monitor(config),
        "mask": "train+valid",
        "drop_last": False,
    }
    device = {} if config.get("use_gpu", True) else {"device": "cpu"}
    parts = {"backbone": backbone, "sampler": _sampler(config), "protocol": protocol}
    return {"seed": int(config.number("seed", 2020)), **device, **parts}


def _monitor(config: Config) -> str:
    metric = str(config.get("valid_metric", "MRR@10"))
    name, _, k = metric.partition("@")
    if METRICS.get(name) in ("recall", "ndcg") and k in ("10", "20"):
        return f"{METRICS[name]}@{k}"
    config.notes.append(f"valid_metric {metric} is not watched here: ndcg@10 picks the epoch")
    return "ndcg@10"


def _sampler(config: Config) -> dict[str, Any]:
    """Uniform, popular or dynamic negatives: the last is DNS, the hardest of some candidates."""
    args = {"distribution": "uniform", "sample_num": 1, "dynamic": False} | (config.get("train_neg_sample_args") or {})
    if args["dynamic"]:
        return {"name": "dns", "pool": int(args.get("candidate_num", 10))}
    if args["distribution"] == "popularity":
        return {"name": "popularity", "pool": int(args["sample_num"]), "power": float(args.get("alpha", 1.0))}
    if args["distribution"] != "uniform":
        raise SettingError(
            f"train_neg_sample_args: distribution={args['distribution']!r} must be uniform or popularity"
        )
    return {"name": "rns", "pool": int(args["sample_num"])}


def evaluate_line(config: Config, out: Path) -> list[str]:
    """The command that gives the numbers asked for, by RecBole's names for them."""
    cuts, names = config.get("topk", [10]), config.get("metrics", ["Recall", "MRR", "NDCG", "Hit", "Precision"])
    cuts, names = ([one] if not isinstance(one, list) else one for one in (cuts, names))
    for name in names:
        if name not in METRICS:
            config.notes.append(f"metric {name} is not taken over; there are {', '.join(METRICS)}")
    ours = [METRICS[name] for name in names if name in METRICS] or ["recall", "ndcg"]
    return ["evaluate", str(out), "-k", ",".join(map(str, cuts)), "--metrics", ",".join(ours)]
