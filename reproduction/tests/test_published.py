"""What the paper prints: the tables agree with each other where they overlap, and sums come out."""

import pytest

from reproduction.methods import METHOD, ML1M, NINE, TOYS, YELP, variants
from reproduction.published import (
    COLUMNS,
    EFFICIENCY,
    TABLE_1,
    TABLE_2,
    TABLE_4,
    printed_2,
    printed_3,
    printed_4,
)


def test_table_2_has_every_cell() -> None:
    for data in (TOYS, YELP, ML1M):
        assert list(TABLE_2[data]) == list(NINE)
        assert len(printed_2(data)) == 36
    assert TABLE_2[TOYS]["RNS"]["recall@10"] == (7.88, 0.17)
    assert TABLE_2[YELP]["DNS(M,N)"]["ndcg@20"] == (7.32, 0.11)
    assert TABLE_2[ML1M][METHOD] == dict(
        zip(COLUMNS, [(18.96, 0.17), (22.50, 0.15), (28.63, 0.15), (24.56, 0.18)], strict=True)
    )


@pytest.mark.parametrize("data", [TOYS, YELP])
def test_tables_2_and_3_share_two_rows(data: str) -> None:
    assert list(dict.fromkeys(method for method, _ in printed_3(data))) == list(variants({"alpha": 0, "lambda_max": 0}))
    for method in ("DNS", METHOD):
        for metric in COLUMNS[2:]:
            assert printed_3(data)[method, metric][0] == printed_2(data)[method, metric][0]


def test_table_4_is_cut_into_its_sets() -> None:
    assert list(TABLE_4["ngcf"]) == list(TABLE_4["simgcl"]) == list(NINE)
    assert printed_4("simgcl", YELP)["MixGCF", "ndcg@20"] == (7.92, None)
    assert printed_4("ngcf", TOYS)["RNS", "recall@20"] == (8.65, None)
    assert printed_4("ngcf", ML1M) == {}


def test_the_printed_extra_times_and_shares_follow_from_the_others() -> None:
    assert [round(one.extra, 3) for one in EFFICIENCY.values()] == [0.133, 0.161, 0.263]
    for one in EFFICIENCY.values():
        assert 100 * one.extra / one.epoch == pytest.approx(one.share, abs=0.006)


def test_the_printed_densities() -> None:
    shares = [f"{pairs / (users * items):.3%}" for users, items, pairs in TABLE_1.values()]
    assert shares == ["0.160%", "0.148%", "3.816%"]
