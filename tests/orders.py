"""A shop's export as it comes: odd ids, times with zones, quantities, returns, prices, empty fields; tastes are planted.

python -m tests.orders orders.csv [ROWS]     also writes orders-items.csv, the titles and categories
"""

import csv
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

CATEGORIES = ("garden", "kitchen", "toys", "books", "sport", "lamps", "tea", "paper")
START = datetime(2025, 1, 1, tzinfo=UTC)


def write_orders(path: Path, rows: int = 200_000, seed: int = 0) -> Path:
    """About `rows` order lines of rows/20 customers and rows/50 articles, in the order of time."""
    rng = np.random.default_rng(seed)
    n_users, n_items = max(20, rows // 20), max(30, rows // 50)
    category = rng.integers(0, len(CATEGORIES), n_items)
    appeal = 1.0 / np.arange(1, n_items + 1) ** 0.8
    rng.shuffle(appeal)
    near = rng.normal(size=(n_items, 6)) + 2.0 * rng.normal(size=(len(CATEGORIES), 6))[category]
    taste = rng.dirichlet(np.full(len(CATEGORIES), 0.25), n_users)
    style = rng.normal(size=(n_users, 6))
    activity = rng.pareto(1.6, n_users) + 0.3
    who = np.sort(rng.choice(n_users, rows, p=activity / activity.sum()))
    lines: list[tuple[float, list[str]]] = []
    for user in np.unique(who):
        count = int((who == user).sum())
        chance = appeal * (0.02 + taste[user][category]) * np.exp(0.5 * near @ style[user])
        items = rng.choice(n_items, count, p=chance / chance.sum())
        days = np.sort(rng.uniform(0, 500, count))
        for item, day in zip(items, days, strict=True):
            lines.append((day, _line(rng, int(user), int(item), float(day))))
            if rng.random() < 0.02:  # sent back a week later
                back = _line(rng, int(user), int(item), float(day) + 7)
                back[3] = "-1"
                lines.append((day + 7, back))
    lines.sort(key=lambda line: line[0])
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["order_id", "Customer No.", "article", "qty", "unit price", "ordered_at", "remark"])
        for number, (_, line) in enumerate(lines):
            out.writerow([f"A{number // 3:07d}", *line[1:]])
    titles = path.with_name(f"{path.stem}-items.csv")
    with titles.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["article", "title", "category"])
        for item in range(n_items):
            out.writerow(
                [article(item), f"{CATEGORIES[category[item]].title()} No. {item}", CATEGORIES[category[item]]]
            )
    return path


def customer(user: int) -> str:
    return f"{user:06d}" if user % 7 else f"köln-{user:04d}"


def article(item: int) -> str:
    return f"{item:05d}-{'ABC'[item % 3]}" if item % 11 else f"set, {item}"


def _line(rng: np.random.Generator, user: int, item: int, day: float) -> list[str]:
    zone = ("Z", "+01:00", "+02:00")[user % 3]
    hours = {"Z": 0, "+01:00": 1, "+02:00": 2}[zone]
    time = START + timedelta(days=day, hours=hours)
    price = "" if rng.random() < 0.01 else f"{rng.lognormal(2.5, 0.7):.2f}"
    remark = "" if rng.random() < 0.97 else "gift, please wrap"
    return [
        "",
        customer(user),
        article(item),
        str(1 + int(rng.random() < 0.1)),
        price,
        f"{time:%Y-%m-%dT%H:%M:%S}{zone}",
        remark,
    ]


if __name__ == "__main__":
    print(write_orders(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 200_000))
