"""What every sampler must do, asked of every sampler there is: a new file in `sahcns.samplers` is tested by being there."""

import dataclasses
import importlib
import inspect
import pkgutil
from typing import Any

import pytest
import torch
from torch import Tensor

import sahcns.samplers
from sahcns.aggregation import Kind
from sahcns.errors import SettingError
from sahcns.rng import Rng
from sahcns.samplers import Mixture, Sampler
from sahcns.samplers.contract import check
from sahcns.settings import Allowed, by_name, named
from tests.samplers.oracle import negatives_of, pairs_of
from tests.samplers.oracle import same as equal
from tests.samplers.world import DIM, KINDS, World, choice

CLASSES = {name: cls for name, cls in named(Sampler).items() if cls.__module__.startswith("sahcns.")}
CHANCE = {"dns-mn", "dns-mn/pick=harmonic", "mixgcf", "sahc-fixed", "softmax", "ans"}  # at random, given the pools
SCATTERED = {"dns-mn", "dns-mn/pick=harmonic", "softmax"}  # any of equal candidates
REMEMBERS = {"srns"}  # items of other pools than the pair's
BY_BATCH = {"sahc-family", "sahc-family/sides=two"}  # gaps in units of the batch


def allowed_of(cls: type[Sampler]) -> dict[str, Allowed]:
    found = {entry.name: entry.metadata.get("allowed") for entry in dataclasses.fields(cls)}
    return {name: allowed for name, allowed in found.items() if allowed is not None}


def variants() -> dict[str, Sampler]:
    """Every sampler with a pool of 6, and once more for each word one of its settings may take."""
    found = {}
    for name, cls in CLASSES.items():
        found[name] = cls(pool=6)
        for argument, allowed in allowed_of(cls).items():
            for word in allowed.choices:
                if word != getattr(found[name], argument):
                    found[f"{name}/{argument}={word}"] = cls.from_dict({"pool": 6, argument: word})
    return found


def smallest(cls: type[Sampler], pool: int) -> Sampler:
    """With this pool, and with other whole-number settings as low as they go where the defaults need more room."""
    try:
        return cls(pool=pool)
    except SettingError:
        kinds = {entry.name: entry.type for entry in dataclasses.fields(cls)}
        low = {n: int(a.low) for n, a in allowed_of(cls).items() if kinds[n] is int and a.low is not None}
        return cls(**{**low, "pool": pool})


VARIANTS = variants()
SHARING = {"in-batch", "in-batch/mask=seen", "shared"}  # what a pair gets depends on its batch; see test_in_batch.py
every_variant = pytest.mark.parametrize("name", list(VARIANTS))
every_class = pytest.mark.parametrize("name", list(CLASSES))


def two_epochs(sampler: Sampler, world: World, pools: int = 0, own: int = 0) -> list[tuple[Any, Mixture]]:
    """All pairs in two batches, twice, with the end of an epoch between, as the trainer does; without gradient."""
    dtype = world.layers[0].dtype
    gates = {name: value.requires_grad_() for name, value in sampler.trainable(DIM, Rng(0, "start"), dtype).items()}
    state, rng, answers = sampler.begin(world.graph), choice(own), []
    for epoch in range(2):
        for k, batch in enumerate(torch.arange(len(world.graph.pair_users)).chunk(2)):
            match = world.match(
                sampler, 100 * pools + 10 * epoch + k, pairs=batch, epoch=epoch, parameters=gates, state=state
            )
            with torch.no_grad():
                answers.append((match, sampler.choose(match, rng)))
            rng.advance()
        if state is not None:
            with torch.no_grad():
                sampler.end_epoch(state, match.item_vectors, world.graph, rng)
    return answers


def same(one: list[tuple[Any, Mixture]], other: list[tuple[Any, Mixture]]) -> bool:
    return all(negatives_of(a, m) == negatives_of(b, n) for (m, a), (n, b) in zip(one, other, strict=True))


def test_every_sampler_file_is_in_the_package() -> None:
    """A sampler that no one imports cannot be named on the command line."""
    here = set()
    for info in pkgutil.iter_modules(sahcns.samplers.__path__):
        module = importlib.import_module(f"sahcns.samplers.{info.name}")
        for cls in vars(module).values():
            if inspect.isclass(cls) and issubclass(cls, Sampler) and cls.name:
                here.add(cls)
                assert getattr(sahcns.samplers, cls.__name__) is cls
    assert here == set(CLASSES.values())
    assert len(here) >= 16


@pytest.mark.parametrize("depth", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
@every_variant
def test_keeps_the_contract(name: str, kind: Kind, depth: int) -> None:
    """Right shapes, ids in range, nothing seen but the pair's own positive in a mix, shares that sum to 1."""
    sampler, world = VARIANTS[name], World.random(kind, depth, 1, dtype=torch.float32)
    for match, mixture in two_epochs(sampler, world):
        full = mixture.checked(len(match.users), depth, name)
        check(full, match.users, match.positives, world.graph, name, sampler.gives_seen)
        assert full.items.dtype == torch.int64
        count = full.items.shape[2]
        if full.weights is not None:
            assert full.weights.dtype == torch.float32  # a wider type would widen the whole step
            assert bool((full.weights >= 0).all())
        for pair, negatives in zip(pairs_of(match), negatives_of(mixture, match), strict=True):
            assert negatives
            for layer in (layer for negative in negatives for layer in negative):
                assert sum(layer.values()) == pytest.approx(1.0, abs=1e-6)
                for item in layer:
                    assert 0 <= item < world.graph.n_items
                    if not sampler.gives_seen:
                        assert item not in world.seen[pair.user] or (item == pair.positive and count > 1)


@pytest.mark.parametrize("kind", KINDS)
@every_variant
def test_same_seed_same_answer(name: str, kind: Kind) -> None:
    world = World.random(kind, 2, 0)
    first = two_epochs(VARIANTS[name], world, pools=1, own=1)
    assert same(first, two_epochs(VARIANTS[name], world, pools=1, own=1))
    assert not same(first, two_epochs(VARIANTS[name], world, pools=2, own=1))


@every_variant
def test_its_own_randomness_is_its_argument(name: str) -> None:
    """Another seed of the sampler's stream matters to those that choose at random, and to no other, and nor does
    torch's global generator."""
    world = World.random("mean", 2, 0)
    torch.manual_seed(0)
    first = two_epochs(VARIANTS[name], world)[:2]  # the first epoch: DivNS's selectors have had no say
    torch.manual_seed(1)
    assert same(first, two_epochs(VARIANTS[name], world)[:2])
    if name not in REMEMBERS:  # what it draws shows later
        assert same(first, two_epochs(VARIANTS[name], world, own=7)[:2]) == (name not in CHANCE)


@every_variant
def test_nothing_carries_gradient(name: str) -> None:
    """Even when asked outside `no_grad`, with tables that do."""
    sampler, world = VARIANTS[name], World.random("mean", 2, 0)
    tables = tuple(layer.clone().requires_grad_() for layer in world.layers)
    world = dataclasses.replace(world, layers=tables)
    gates = {k: v.requires_grad_() for k, v in sampler.trainable(DIM, Rng(0, "start"), torch.float64).items()}
    match = world.match(sampler, parameters=gates, state=sampler.begin(world.graph))
    full = sampler.choose(match, choice()).checked(len(match.users), 2, name)
    assert not full.items.requires_grad
    assert full.weights is None or not full.weights.requires_grad


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in CLASSES if name not in SHARING | REMEMBERS])
def test_a_pool_of_one_gives_that_one(name: str, kind: Kind, depth: int) -> None:
    sampler = smallest(CLASSES[name], 1)
    for match, mixture in two_epochs(sampler, World.random(kind, depth, 0)):
        for pair, (negative,) in zip(pairs_of(match), negatives_of(mixture, match), strict=True):
            for layer in negative:
                assert set(layer) <= {pair.pool[0], pair.positive}
                assert all(0 <= share <= 1 for share in layer.values())  # and so not NaN


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in SCATTERED | REMEMBERS | SHARING])
def test_of_equal_candidates_the_first_is_taken(name: str, kind: Kind) -> None:
    """Ties are real: on SimGCL all layers of items without training pairs are 0. Here all items are, and alike popular."""
    world = World.random(kind, 2, 0, users=4, items=8, seen={u: {2 * u, 2 * u + 1} for u in range(4)})
    items = torch.arange(4, 12)
    world = dataclasses.replace(world, layers=tuple(layer.index_fill(0, items, 0.0) for layer in world.layers))
    for match, mixture in two_epochs(VARIANTS[name], world)[:2]:  # the first epoch: DivNS has nothing to mix in yet
        for pair, negatives in zip(pairs_of(match), negatives_of(mixture, match), strict=True):
            for item, negative in zip(pair.pool, negatives, strict=False):
                assert all(set(layer) <= {item, pair.positive} for layer in negative)


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in SHARING - {"shared"}])
def test_a_user_with_one_item_left_gets_it(name: str) -> None:
    seen = {0: {0, 1, 2, 4}, 1: {2, 3}}
    world = World.random("mean", 2, 0, users=2, items=5, seen=seen)
    for match, mixture in two_epochs(VARIANTS[name], world):
        for pair, negatives in zip(pairs_of(match), negatives_of(mixture, match), strict=True):
            if pair.user == 0:
                assert all(set(layer) <= {3, pair.positive} for negative in negatives for layer in negative)


@pytest.mark.parametrize("name", [name for name in VARIANTS if name not in CHANCE | BY_BATCH | SHARING])
def test_pairs_are_served_one_by_one(name: str) -> None:
    """The answer for a pair does not depend on who else is in the batch."""
    sampler, world = VARIANTS[name], World.random("concat", 2, 0)
    gates = sampler.trainable(DIM, Rng(0, "start"), torch.float64)
    match = world.match(sampler, parameters=gates, state=sampler.begin(world.graph))
    whole = negatives_of(sampler.choose(match, choice()), match)
    for b in range(0, len(whole), 5):
        rows: Tensor = torch.tensor([b])
        alone = dataclasses.replace(
            match,
            users=match.users[rows],
            positives=match.positives[rows],
            candidates=match.candidates[rows],
            pairs=match.pairs[rows],
            state=sampler.begin(world.graph),
        )
        (found,) = negatives_of(sampler.choose(alone, choice()), alone)
        assert all(equal(one, other) for one, other in zip(found, whole[b], strict=True))


WRONG = ("must be a number", "must be a whole number", "must be true or false")


def wrong_values() -> list[tuple[str, str, object]]:
    """A value beyond each end of each range, a word that is not a choice, NaN, and a value of the wrong kind."""
    found: list[tuple[str, str, object]] = []
    for name, cls in CLASSES.items():
        kinds = {entry.name: entry.type for entry in dataclasses.fields(cls)}
        for argument, allowed in allowed_of(cls).items():
            step = 1 if kinds[argument] is int else 0.25
            values: list[object] = [] if allowed.low is None else [allowed.low - step]
            values += [] if allowed.high is None else [allowed.high + step]
            values += [] if allowed.above is None else [allowed.above, allowed.above - step]
            values += ["nonsense"] if allowed.choices else [float("nan"), "3", None]
            found += [(name, argument, value) for value in values]
    return found


@pytest.mark.parametrize(("name", "argument", "value"), wrong_values())
def test_settings_out_of_range_are_refused_by_name(name: str, argument: str, value: object) -> None:
    """The sentence names the argument, the value, and what is allowed."""
    with pytest.raises(SettingError) as caught:
        by_name(Sampler, name, {argument: value})
    sentence = str(caught.value)
    assert f"{argument}={value!r}" in sentence
    assert str(allowed_of(CLASSES[name])[argument]) in sentence or any(one in sentence for one in WRONG)


@pytest.mark.parametrize(
    ("name", "values", "sentence"),
    [
        ("dns", {"pool": 2.5}, r"DNS: pool=2\.5 must be a whole number"),
        ("dns-mn", {"pool": 4, "top_k": 5}, r"top_k=5 is larger than the pool of 4"),
        ("sahc", {"lamda_max": 0.5}, r"sahc has no argument 'lamda_max'; did you mean 'lambda_max'\?"),
        ("sach", {}, r"there is no sampler called 'sach'; did you mean 'sahc'\?"),
    ],
)
def test_refusals_in_full(name: str, values: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SettingError, match=sentence):
        by_name(Sampler, name, values)


@every_class
def test_documents_itself(name: str) -> None:
    """A docstring, a citation or equation in its module, and a meaning for every argument; it survives a dictionary."""
    cls = CLASSES[name]
    assert cls.__doc__
    assert inspect.getmodule(cls).__doc__
    assert all(entry["meaning"] for entry in cls.settings())
    sampler = smallest(cls, 3)
    assert by_name(Sampler, name, sampler.to_dict()) == sampler
