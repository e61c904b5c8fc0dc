"""From a file of purchases to a list for each customer.

python examples/train_from_file.py orders.csv          (without a file it makes one up)
"""

import csv
import random
import sys
from pathlib import Path

import sahcns


def made_up(path: Path, customers: int = 300, days: int = 20) -> Path:
    """A shop of six aisles, in which each customer does nine tenths of the shopping in two."""
    draw = random.Random(7)
    aisles = ("tea", "coffee", "bakery", "fruit", "spices", "flowers")
    with open(path, "w", newline="", encoding="utf-8") as file:
        rows = csv.writer(file)
        rows.writerow(["customer", "article", "date"])
        for customer in range(customers):
            usual = draw.sample(aisles, 2)
            for day in range(1, days + 1):
                aisle = draw.choice(usual if draw.random() < 0.9 else aisles)
                rows.writerow([f"c{customer:03}", f"{aisle}-{draw.randrange(20):02}", f"2026-03-{day:02}"])
    return path


def main(file: Path, out: Path, epochs: int = 20) -> None:
    rows = sahcns.read(file, user="customer", item="article", time="date")
    split = sahcns.prepare(rows, sahcns.Recipe(split="time-user"))  # the latest purchases of each are held out
    print(f"{split.n_users:,} customers, {split.n_items:,} articles, {len(split.train):,} pairs to train on")

    protocol = sahcns.Protocol(epochs=epochs, batch=512, learning_rate=0.01)
    run = sahcns.fit(split, sahcns.LightGCN(dim=32), sahcns.SAHC(), protocol=protocol)
    print(f"recall@20 on what was held out {run.test['recall@20']:.2%}, best epoch {run.record.best_epoch}")

    # What is put to use learns from everything, for as many epochs as were best.
    terms = sahcns.Protocol(epochs=run.record.best_epoch + 1, batch=512, learning_rate=0.01)
    model = sahcns.fit(split, sahcns.LightGCN(dim=32), sahcns.SAHC(), protocol=terms, whole=True).recommender
    model.save(out)

    somebody = model.user_ids[0]
    for place in model.recommend([somebody], k=5)[0]:
        print(f"{somebody}: {place.item} {place.score:.3f}")
    for place in model.recommend_new(["tea-00", "tea-01"], k=3):
        print(f"somebody new with two teas: {place.item}")


if __name__ == "__main__":
    given = Path(sys.argv[1]) if len(sys.argv) > 1 else made_up(Path("orders.csv"))
    main(given, Path("runs/shop"))
