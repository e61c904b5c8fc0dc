"""What a notebook has set for torch changes nothing about a run, and stands as it was after it."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest
import torch

from sahcns.backbones import LightGCN
from sahcns.model import Recommender, Run, fit
from sahcns.model.lists import lists
from sahcns.samplers import SAHC
from sahcns.training import Protocol
from tests.splits import random_split

SPLIT = random_split(16, 30, each=6, seed=4)


def train() -> Run:
    return fit(SPLIT, LightGCN(dim=4), SAHC(), protocol=Protocol(batch=32, epochs=2), device="cpu")


@contextmanager
def default_device(name: str) -> Iterator[None]:
    torch.set_default_device(name)
    try:
        yield
    finally:
        torch.set_default_device(None)


@contextmanager
def default_dtype(kind: torch.dtype) -> Iterator[None]:
    torch.set_default_dtype(kind)
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("surrounding", ["no_grad", "inference_mode", "float64", "autocast", "device"])
def test_a_run_is_the_same_within_it(surrounding: str) -> None:
    expected = train()
    around: dict[str, AbstractContextManager[object]] = {
        "no_grad": torch.no_grad(),
        "inference_mode": torch.inference_mode(),
        "float64": default_dtype(torch.float64),
        "autocast": torch.autocast("cpu", dtype=torch.bfloat16),
        "device": default_device("meta"),  # stands for "cuda": what is made there by mistake cannot be used
    }
    with around[surrounding]:
        before = torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_device()
        run = train()
        assert (torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_device()) == before
    assert run.test == expected.test
    assert torch.equal(run.recommender.user_vectors, expected.recommender.user_vectors)
    assert not run.recommender.user_vectors.is_inference()


def test_a_model_answers_whatever_the_default_device_is() -> None:
    def answers(model: Recommender) -> list[object]:
        table = lists(model, k=2)
        new = model.recommend_new([1, 2], 3, without=[5])
        return [model.recommend([3, 4], 3), new, model.similar_items(1, 3), model.popular(3), table.rows()]

    model = train().recommender
    expected = answers(model)
    with default_device("meta"):
        assert answers(model) == expected
        assert model.known(3).tolist() == model.known(3).cpu().tolist() != []
