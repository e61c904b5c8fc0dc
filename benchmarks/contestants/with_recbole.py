"""RecBole's own LightGCN, data loader and trainer on the CPU; variants "uniform" and "dynamic" (one of `pool` candidates).

The pairs reach it as atomic files already split (`benchmark_filename`), so it trains on exactly our training pairs and
knows of the same users and items. Its trainer's `_train_epoch` is timed: drawing, steps and nothing else.
"""

import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from recbole.config import Config
from recbole.data.dataloader import TrainDataLoader
from recbole.data.dataset import Dataset
from recbole.model.general_recommender import LightGCN
from recbole.sampler import Sampler
from recbole.trainer import Trainer
from recbole.utils import init_seed
from terms import L2, LEARNING_RATE, Int64, Terms, answer, digest

NAME = "pairs"


class Timed(Trainer):  # type: ignore[misc]
    """Notes seconds, loss and, in the first epoch, how many pairs came by."""

    def __init__(self, config: Any, model: Any) -> None:
        super().__init__(config, model)
        self.taken: list[float] = []
        self.losses: list[float] = []
        self.pairs = 0

    def _train_epoch(self, train_data: Any, epoch_idx: int, loss_func: Any = None, show_progress: bool = False) -> Any:
        def counting(interaction: Any) -> Any:
            self.pairs += len(interaction)
            return self.model.calculate_loss(interaction)

        began = time.perf_counter()
        total = super()._train_epoch(train_data, epoch_idx, None if epoch_idx else counting, show_progress)
        self.taken.append(time.perf_counter() - began)
        self.losses.append(total / len(train_data))
        return total


def write_atomic(path: Path, users: Int64, items: Int64) -> None:
    np.savetxt(path, np.stack([users, items], 1), "%d", "\t", header="user_id:token\titem_id:token", comments="")


def load(terms: Terms, home: Path) -> tuple[Any, Any, Any]:
    """RecBole's settings, its training part, and its loader of training batches."""
    folder = home / NAME
    folder.mkdir()
    write_atomic(folder / f"{NAME}.train.inter", *terms.part("train"))
    users, items = (np.concatenate(side) for side in zip(terms.part("valid"), terms.part("test"), strict=True))
    parts = ["train", "rest"] if len(users) else ["train"]  # the rest only names its users and items
    if len(users):
        write_atomic(folder / f"{NAME}.rest.inter", users, items)
    dynamic = terms.variant == "dynamic"
    settings = {
        "data_path": str(home),
        "checkpoint_dir": str(home / "saved"),
        "benchmark_filename": parts,
        "load_col": {"inter": ["user_id", "item_id"]},
        "use_gpu": False,
        "embedding_size": terms.dim,
        "n_layers": terms.layers,
        "reg_weight": L2,
        "learning_rate": LEARNING_RATE,
        "train_batch_size": terms.batch,
        "train_neg_sample_args": {
            "distribution": "uniform",
            "sample_num": 1,
            "alpha": 1.0,
            "dynamic": dynamic,
            "candidate_num": terms.pool if dynamic else 0,
        },
        "epochs": 1 + terms.epochs,
        "show_progress": False,
    }
    config = Config(model="LightGCN", dataset=NAME, config_dict=settings)
    init_seed(config["seed"], config["reproducibility"])
    train = Dataset(config).build()[0]
    sampler = Sampler(["train"], [train], "uniform").set_phase("train")
    return config, train, TrainDataLoader(config, train, sampler, shuffle=True)


def pairs_held(train: Any) -> tuple[Int64, Int64]:
    """What RecBole trains on, back in our numbers."""
    columns = []
    for field in (train.uid_field, train.iid_field):
        tokens = train.id2token(field, train.inter_feat[field].numpy())
        columns.append(np.asarray(tokens).astype(np.int64))
    return columns[0], columns[1]


def main() -> None:
    terms = Terms.read()
    torch.set_num_threads(terms.threads)
    with tempfile.TemporaryDirectory() as home:
        os.chdir(home)  # it leaves logs where it stands
        config, train, loader = load(terms, Path(home))
        trainer = Timed(config, LightGCN(config, train))
        trainer.fit(loader, saved=False, verbose=False)
        fingerprint = digest(*pairs_held(train), terms.n_items)
        answer(trainer.taken, trainer.losses, trainer.pairs, fingerprint, ["recbole", "numpy"])
        os.chdir("/")


if __name__ == "__main__":
    main()
