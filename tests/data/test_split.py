"""A split as a whole: the same pairs and ids, with nothing held out."""

import numpy as np

from tests.serving.films import films


def test_everything_for_training() -> None:
    split = films()
    whole = split.whole()
    pairs = {(int(u), int(i)) for part in split.parts().values() for u, i in zip(part.users, part.items, strict=True)}
    found = list(zip(whole.train.users.tolist(), whole.train.items.tolist(), strict=True))
    assert found == sorted(pairs)
    assert (len(whole.valid), len(whole.test)) == (0, 0)
    assert whole.train.users.dtype == whole.valid.users.dtype == np.int32
    assert whole.user_ids is split.user_ids
    assert whole.titles is split.titles
    assert whole.fingerprint != split.fingerprint
    assert whole.fingerprint == films(seed=1).whole().fingerprint  # however it was split


def test_it_shows_its_size_and_not_its_pairs() -> None:
    split = films()
    sizes = ", ".join(f"{name} {len(pairs)}" for name, pairs in split.parts().items())
    assert repr(split) == f"Split({split.n_users} users, {split.n_items} items: {sizes})"
