"""Recommendations against a plain sort by hand, and for somebody new against least squares, in the original ids."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from sahcns.data import Recipe, Split, prepare
from sahcns.data.ids import Id
from sahcns.data.split import Pairs
from sahcns.errors import DataError, SettingError
from sahcns.model import Recommender
from sahcns.model.fold_in import ELSEWHERE, RIDGE
from sahcns.model.lists import lists
from sahcns.ranking import Csr
from tests.data.hand_made import interactions
from tests.model.films import films, trained_on_films


def made(split: Split, dim: int = 5, seed: int = 0) -> Recommender:
    """A model with random vectors: what it recommends is arithmetic, not learning."""
    numbers = np.random.default_rng(seed)
    users, items = (
        torch.from_numpy(numbers.normal(size=(n, dim)).astype(np.float32)) for n in (split.n_users, split.n_items)
    )
    return Recommender.of(split, users, items, {}, {})


def by_hand(model: Recommender, split: Split, user: int, parts: tuple[str, ...], k: int) -> list[tuple[int, float]]:
    """Positions and scores of the k best items that are not in `parts` of the user, by a full sort."""
    known = {
        int(i)
        for part in parts
        for u, i in zip(split.parts()[part].users, split.parts()[part].items, strict=True)
        if u == user
    }
    scores = (model.item_vectors.double() @ model.user_vectors[user].double()).tolist()
    ranked = sorted((-score, item) for item, score in enumerate(scores) if item not in known)
    return [(item, -score) for score, item in ranked[:k]]


@pytest.mark.parametrize(
    ("exclude", "parts"), [("known", ("train", "valid", "test")), ("train", ("train",)), ("nothing", ())]
)
def test_the_best_items_that_are_not_left_out(exclude: str, parts: tuple[str, ...]) -> None:
    split = films()
    model = made(split)
    people = ["p07", "p00", "p23", "p07"]
    found = model.recommend(people, 6, exclude=exclude)
    for person, items in zip(people, found, strict=True):
        expected = by_hand(model, split, int(split.user_ids.encode([person])[0]), parts, 6)
        assert [one.item for one in items] == [100 + item for item, _ in expected]
        assert [one.score for one in items] == pytest.approx([score for _, score in expected], abs=1e-5)
        assert [one.title for one in items] == [f"Film {100 + item} ☕" for item, _ in expected]


def test_tables_are_looked_through_for_infinities_once_and_not_at_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    model, looked = made(films()), list[int]()
    with pytest.raises(DataError, match="user_vectors row 2 "):
        dataclasses.replace(model, user_vectors=model.user_vectors.index_fill(0, torch.tensor(2), torch.nan))
    isfinite = torch.Tensor.isfinite

    def counted(table: torch.Tensor) -> torch.Tensor:
        looked.append(len(table))
        return isfinite(table)

    monkeypatch.setattr(torch.Tensor, "isfinite", counted)
    model.recommend(["p03"], 3)
    model.recommend_new([101], 3)
    model.similar_items(101, 3)
    assert looked
    assert max(looked) < len(model.item_ids)


def test_what_was_set_aside_is_not_recommended_in_whatever_order_it_comes() -> None:
    whole = films()
    users, items = np.array([9, 2, 9, 5, 2], np.int32), np.array([3, 8, 1, 0, 4], np.int32)
    model = made(dataclasses.replace(whole, aside=Pairs(users, items)))
    for user in (2, 5, 9):
        (found,) = model.recommend([whole.user_ids[user]], 1000)
        assert not {one.item for one in found} & {100 + int(item) for item in items[users == user]}


def test_items_that_nobody_is_shown_cost_nothing_for_each_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten thousand users without ten thousand items were a hundred million entries."""
    model, entries = made(films()), []
    of = Csr.of
    monkeypatch.setattr(Csr, "of", lambda rows, *rest: entries.append(len(rows)) or of(rows, *rest))  # type: ignore[func-returns-value]
    users = model.user_ids.decode(range(24))
    left = model.recommend(users, 20, without=list(range(100, 115)) * 3)
    assert {one.item for found in left for one in found} == set(range(115, 120))
    assert entries == [sum(len(model.known(user)) for user in range(24))]
    assert model.recommend_new([116], 20, without=range(100, 115)) == [
        one for one in model.recommend_new([116], 20) if int(one.item) >= 115
    ]


def test_similar_items_by_the_angle_between_vectors() -> None:
    model = made(films())
    unit = model.item_vectors.double() / model.item_vectors.double().norm(dim=1, keepdim=True)
    cosine = (unit @ unit[4]).tolist()
    expected = sorted((-score, item) for item, score in enumerate(cosine) if item != 4)[:5]
    found = model.similar_items(104, 5)
    assert [one.item for one in found] == [100 + item for _, item in expected]
    assert [one.score for one in found] == pytest.approx([-score for score, _ in expected], abs=1e-5)


def test_what_most_people_have() -> None:
    rows: list[tuple[Id, Id]] = [("a", 1), ("a", 2), ("a", 3), ("b", 2), ("b", 3), ("c", 3), ("d", 5), ("d", 2)]
    model = made(prepare(interactions(rows), Recipe(ratios=(6, 1, 1))))
    assert [(one.item, one.score) for one in model.popular(9)] == [(2, 3), (3, 3), (1, 1), (5, 1)]  # held-out ones too
    assert [one.item for one in model.popular(2, without=[2, "no such item"])] == [3, 1]


def test_what_a_filter_took_out_is_not_recommended_either(tmp_path: Path) -> None:
    """A film with one star is known to whoever gave it; only `exclude` says otherwise."""
    rows: list[tuple[Id, Id]] = [(f"p{person}", film) for person in range(3) for film in range(6) if person != film]
    disliked = {("p0", 3), ("p0", 5), ("p2", 0)}
    ratings = [1.0 if row in disliked else 5.0 for row in rows]
    model = made(prepare(interactions(rows, ratings=ratings), Recipe(min_rating=3)))
    for one in (
        model,
        Recommender.load(model.save(tmp_path / "run")),
        made(model.split()),
        made(model.split().whole()),
    ):
        shown = {who: [found.item for found in one.recommend([who])[0]] for who in ("p0", "p1", "p2")}
        assert shown == {"p0": [0], "p1": [1], "p2": [2]}
        assert lists(one).select("user", "item").rows() == [("p0", 0), ("p1", 1), ("p2", 2)]
        assert len(one.recommend(["p0"], exclude="nothing")[0]) == 6
        assert {3, 5} <= {found.item for found in one.recommend(["p0"], exclude="train")[0]}


@pytest.fixture(scope="module")
def trained() -> Recommender:
    return trained_on_films()


def test_the_vector_solves_the_least_squares_it_stands_for() -> None:
    """Near 1 on what they have, near 0 on everything, not too long: stacked rows, solved by numpy."""
    model = made(films())
    items = model.item_vectors.double().numpy()
    own, n = [0, 1, 5], len(items)
    ridge = RIDGE * (items**2).sum(0).mean()
    rows = np.concatenate([items[own], np.sqrt(ELSEWHERE) * items, np.sqrt(ridge) * np.eye(items.shape[1])])
    user = np.linalg.lstsq(rows, np.array([1.0] * 3 + [0.0] * (len(rows) - 3)), rcond=None)[0]
    scores = items @ user
    ranked = sorted((item for item in range(n) if item not in own), key=lambda item: -scores[item])
    found = model.recommend_new([100, 101, 105], n)
    assert [one.item for one in found] == [100 + item for item in ranked]
    assert [one.score for one in found] == pytest.approx(scores[ranked].tolist(), abs=1e-5)


def test_a_model_of_zeros_is_no_reason_to_break_off() -> None:
    model = made(films())
    model.item_vectors.zero_()
    assert [one.score for one in model.recommend_new([101], 3)] == [0, 0, 0]


def test_somebody_new_gets_nearly_what_the_same_known_user_gets(trained: Recommender) -> None:
    shared = 0
    for row in range(len(trained.user_ids)):
        have = trained.item_ids.decode(trained.known(row, "train").tolist())
        known = trained.recommend([trained.user_ids[row]], 3, exclude="train")[0]
        shared += len({one.item for one in trained.recommend_new(have, 3)} & {one.item for one in known})
    assert shared > 0.8 * 3 * len(trained.user_ids)


def test_users_about_whom_nothing_was_learnt_are_named() -> None:
    model = made(Split.from_pairs([[0, 0], [2, 1]], valid=[[1, 1]], n_users=4, n_items=3))
    assert model.untrained(torch.tensor([0, 1, 2])).tolist() == [1]
    assert model.untrained(torch.arange(4)).tolist() == [1, 3]


def test_ids_come_as_numbers_texts_or_anything_that_can_be_gone_through() -> None:
    model = made(Split.from_pairs([[0, 0], [1, 1]], n_users=3, n_items=4))
    expected = model.recommend([2, 1], 2)
    for users in (["2", "1"], np.array([2, 1]), torch.tensor([2, 1]), (user for user in (2, 1)), {2: "a", 1: "b"}):
        assert model.recommend(users, 2) == expected
    assert all(isinstance(one.item, int) and one.title is None for one in expected[0])
    assert model.recommend([], 5) == []


def test_what_a_user_is_known_to_have() -> None:
    split = Split.from_pairs([[1, 3], [0, 2], [1, 0]], valid=[[1, 1]], test=[[1, 2]], n_users=3)
    model = made(split)
    assert [model.known(1, which).tolist() for which in ("known", "train", "nothing")] == [[0, 1, 2, 3], [0, 3], []]
    assert model.known(2).tolist() == []
    for user, which in ((3, "known"), (-1, "known"), (1, "trian")):
        with pytest.raises(SettingError, match=str(user) if which == "known" else which):
            model.known(user, which)


def test_somebody_new_by_original_ids_with_repeats_and_what_is_never_shown(trained: Recommender) -> None:
    first = trained.recommend_new([101, 103, "107", 101], 3, without=["novelty"])
    assert {int(one.item) % 2 for one in first} == {1}
    assert not {one.item for one in first} & {101, 103, 107}
    assert all(one.title == f"Film {one.item} ☕" for one in first)
    assert trained.recommend_new([107, 103, 101], 2, without=[first[0].item]) == first[1:]
    assert trained.recommend_new(range(100, 120), 5) == []


def test_refusals() -> None:
    model = made(films())
    for refused, kind, names in (
        (lambda: model.recommend(["p01"], 0), SettingError, "k=0"),
        (lambda: model.recommend_new([101], 2.5), SettingError, r"k=2\.5"),  # type: ignore[arg-type]
        (lambda: model.recommend("p01"), SettingError, "users='p01'"),
        (lambda: model.recommend(["p03"], without=101), SettingError, "without=101"),  # type: ignore[arg-type]
        (lambda: model.recommend(["p01"], exclude="all"), SettingError, "exclude='all'"),
        (lambda: model.recommend(["p01", "nobody"]), DataError, "user 'nobody'"),
        (lambda: model.similar_items(7), DataError, r"item 7 .*100 to 119"),
        (lambda: model.recommend_new([]), SettingError, "items is empty"),
        (lambda: model.recommend_new([101, 7]), DataError, "item 7"),
    ):
        with pytest.raises(kind, match=names):
            refused()
