"""Recommendations against a plain sort by hand, in the original ids, with exactly the wanted items left out."""

import dataclasses
from pathlib import Path

import numpy as np
import pytest
import torch

from sahcns.data import Recipe, Split, prepare
from sahcns.data.ids import Id
from sahcns.data.split import Pairs
from sahcns.errors import DataError, SettingError
from sahcns.model import Recommendation, Recommender
from sahcns.model.lists import lists
from sahcns.ranking import Csr
from tests.data.hand_made import interactions
from tests.model.films import films


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


def test_the_list_is_shorter_when_there_is_no_more() -> None:
    model = made(films())
    counts = [len(model.recommend(["p01"], 1000, exclude=exclude)[0]) for exclude in ("nothing", "train", "known")]
    assert counts[0] == 20
    assert counts == sorted(counts, reverse=True)
    assert counts[2] == 20 - len(model.known(1))


def test_no_users_no_lists() -> None:
    assert made(films()).recommend([], 5) == []


def test_similar_items_by_the_angle_between_vectors() -> None:
    model = made(films())
    unit = model.item_vectors.double() / model.item_vectors.double().norm(dim=1, keepdim=True)
    cosine = (unit @ unit[4]).tolist()
    expected = sorted((-score, item) for item, score in enumerate(cosine) if item != 4)[:5]
    found = model.similar_items(104, 5)
    assert [one.item for one in found] == [100 + item for _, item in expected]
    assert [one.score for one in found] == pytest.approx([-score for score, _ in expected], abs=1e-5)


def test_the_length_of_a_vector_does_not_count_for_similarity() -> None:
    model = made(films())
    before = model.similar_items(104, 5)
    model.item_vectors[7] *= 100
    assert [one.item for one in model.similar_items(104, 5)] == [one.item for one in before]


def test_ids_may_be_given_as_numbers_or_as_text() -> None:
    split = Split.from_pairs([[0, 0], [1, 1]], n_users=3, n_items=4)
    model = made(split)
    assert model.recommend([2], 2) == model.recommend(["2"], 2)
    assert all(isinstance(one.item, int) and one.title is None for one in model.recommend([2], 2)[0])


def test_users_may_come_from_anything_that_can_be_gone_through() -> None:
    model = made(films())
    expected = model.recommend(["p03", "p01"], 2)
    for users in (np.array(["p03", "p01"]), (user for user in ("p03", "p01")), {"p03": 1, "p01": 2}):
        assert model.recommend(users, 2) == expected
    with pytest.raises(DataError, match="user 'nobody' is not in the data"):
        model.recommend(user for user in ("p03", "nobody"))


def test_ids_may_come_in_a_tensor() -> None:
    model = made(films())
    best = [one.item for one in model.recommend(["p03"], 3)[0]]
    shorter = model.recommend(["p03"], 2, without=torch.tensor(best[:1]))  # type: ignore[arg-type]
    assert [one.item for one in shorter[0]] == best[1:]
    assert model.recommend_new(torch.tensor([104, 105]), 2) == model.recommend_new([104, 105], 2)  # type: ignore[arg-type]


def test_what_a_user_is_known_to_have() -> None:
    split = Split.from_pairs([[1, 3], [0, 2], [1, 0]], valid=[[1, 1]], test=[[1, 2]], n_users=3)
    model = made(split)
    assert model.known(1).tolist() == [0, 1, 2, 3]
    assert model.known(1, "train").tolist() == [0, 3]
    assert model.known(1, "nothing").tolist() == []
    assert model.known(2).tolist() == []
    assert model.known(torch.tensor(1)).tolist() == [0, 1, 2, 3]  # type: ignore[arg-type]
    for user in (3, -1, "1"):
        with pytest.raises(SettingError, match=r"is no position \(0 to 2\); that of an id is user_ids\.encode"):
            model.known(user)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match="which='trian' must be one of known, train, nothing"):
        model.known(1, "trian")
    assert Recommendation(1, 0.5).title is None


def test_the_split_comes_back() -> None:
    split = films()
    again = made(split).split()
    assert again.fingerprint == split.fingerprint
    assert again.titles is split.titles


def test_refusals() -> None:
    model = made(films())
    with pytest.raises(SettingError, match="k=0 must be a whole number, 1 or more"):
        model.recommend(["p01"], 0)
    with pytest.raises(SettingError, match="k=0 must be a whole number, 1 or more"):
        model.similar_items(104, 0)
    with pytest.raises(SettingError, match=r"k=2\.5 must be a whole number, 1 or more"):
        model.recommend(["p01"], 2.5)  # type: ignore[arg-type]
    with pytest.raises(SettingError, match=r"users='p01' must be a list of ids, such as \['p01'\]"):
        model.recommend("p01")
    with pytest.raises(SettingError, match="exclude='all' must be one of known, train, nothing"):
        model.recommend(["p01"], exclude="all")
    with pytest.raises(DataError, match="user 'nobody' is not in the data"):
        model.recommend(["p01", "nobody"])
    with pytest.raises(SettingError, match=r"item=\[104, 105\] must be one id; for several, ask for each"):
        model.similar_items([104, 105])  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"item 7 is not in the data \(ids run from 100 to 119\)"):
        model.similar_items(7)


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
