"""The whole way from rows to parts against plain loops that share nothing with it but the random numbers."""

from collections import Counter
from datetime import UTC, datetime
from fractions import Fraction
from math import floor

from hypothesis import given, settings
from hypothesis import strategies as st

from sahcns.counter import bits, stream_key
from sahcns.data import Recipe, prepare
from sahcns.errors import DataError
from tests.data.hand_made import decoded, interactions

Pair = tuple[int, int]
Row = tuple[int, int, float, int, str]  # user, item, rating, time in nanoseconds, kind of event
SECOND = 10**9
NEW_YEAR = int(datetime(2015, 1, 1, tzinfo=UTC).timestamp())

ROWS = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.integers(0, 4),
        st.sampled_from([1.0, 2.5, 3.0, 5.0]),
        st.builds(
            lambda second, past: (NEW_YEAR + second) * SECOND + past,
            st.sampled_from([-1, 0, 1, 9]),
            st.sampled_from([0, 0, 1, SECOND - 1]),
        ),
        st.sampled_from(["view", "buy"]),
    ),
    min_size=1,
    max_size=40,
)
RECIPES = st.builds(
    Recipe,
    events=st.sampled_from([None, None, ("buy",)]),
    min_rating=st.sampled_from([None, None, 2.5, 3]),
    years=st.sampled_from([None, None, (2014, 2014), (2015, 2015)]),
    duplicates=st.sampled_from(["first", "last", "none"]),
    core=st.sampled_from([0, 0, 2, 3]),
    split=st.sampled_from(["random", "random-user", "time", "time-user", "leave-last-out"]),
    ratios=st.sampled_from([(8, 1, 1), (0.7, 0, 0.3), (1, 5, 5), (0.6, 0.15, 0.25)]),
    seed=st.integers(0, 3),
    unseen=st.sampled_from(["keep", "drop"]),
)


def by_loops(rows: list[Row], recipe: Recipe) -> tuple[dict[Pair, int], set[Pair]]:
    """Part of each pair (0 trains, 1 validates, 2 tests), and the pairs set aside."""
    left = [(row[:2], *row[2:], place) for place, row in enumerate(rows)]
    left = [row for row in left if recipe.events is None or row[3] in recipe.events]
    liked = [row for row in left if recipe.min_rating is None or row[1] >= recipe.min_rating]
    first, last = recipe.years or (1, 9999)
    kept = [row for row in liked if first <= datetime.fromtimestamp(row[2] // SECOND, UTC).year <= last]
    aside = {row[0] for row in left if row not in kept}

    kept.sort(key=lambda row: (row[2], row[4]))  # by time, then as they stand in the file
    if recipe.duplicates != "none":
        one = {row[0]: row for row in (kept if recipe.duplicates == "last" else kept[::-1])}
        kept = [row for row in kept if row in one.values()]
    while True:
        users, items = (Counter(row[0][side] for row in kept) for side in (0, 1))
        core = [row for row in kept if min(users[row[0][0]], items[row[0][1]]) >= recipe.core]
        if len(core) == len(kept):
            break
        kept = core

    ordered = kept  # what comes last is held out
    if recipe.split.startswith("random"):
        by_pair = sorted(kept, key=lambda row: row[0])
        ordered = [by_pair[k] for k in bits(stream_key(recipe.seed, "split"), len(kept)).argsort()]
    alone = recipe.split in ("random", "time")
    parts: dict[Pair, int] = {}
    for whose in [None] if alone else sorted(users):
        own = [row[0] for row in ordered if alone or row[0][0] == whose]
        valid, test = held_out(len(own), recipe)
        for place, pair in enumerate(own):
            part = (place >= len(own) - valid - test) + (place >= len(own) - test)
            parts[pair] = min(part, parts.get(pair, part))

    if recipe.unseen == "drop":
        trained = [{pair[side] for pair, part in parts.items() if not part} for side in (0, 1)]
        parts = {pair: part for pair, part in parts.items() if pair[0] in trained[0] and pair[1] in trained[1]}
    known = [{pair[side] for pair in parts} for side in (0, 1)]
    return parts, {pair for pair in aside if pair[0] in known[0] and pair[1] in known[1] and pair not in parts}


def held_out(count: int, recipe: Recipe) -> tuple[int, int]:
    if recipe.split == "leave-last-out":
        return (1, 1) if count >= 3 else (0, 0)
    _, valid, test = (
        Fraction(str(share)) / sum(Fraction(str(one)) for one in recipe.ratios) for share in recipe.ratios
    )
    first = min(floor(count * valid + Fraction(1, 2)), count - 1)
    return first, min(floor(count * test + Fraction(1, 2)), count - 1 - first)


@settings(deadline=None, max_examples=300)
@given(ROWS, RECIPES)
def test_parts_and_pairs_set_aside_are_those_of_the_loops(rows: list[Row], recipe: Recipe) -> None:
    users, items, ratings, times, events = zip(*rows, strict=True)
    raw = interactions(
        [*zip(users, items, strict=True)],
        ratings=ratings,
        times=[time // SECOND for time in times],
        nanoseconds=[time % SECOND for time in times],
        events=events,
    )
    try:
        split = prepare(raw, recipe)
    except DataError:  # nothing is left, or nobody bought
        assert (recipe.events and "buy" not in events) or not by_loops(rows, recipe)[0]
        return
    parts, aside = by_loops(rows, recipe)
    assert [*decoded(split).values()] == [sorted(pair for pair in parts if parts[pair] == part) for part in range(3)]
    pairs = zip(split.user_ids.decode(split.aside.users), split.item_ids.decode(split.aside.items), strict=True)
    assert [*pairs] == sorted(aside)
