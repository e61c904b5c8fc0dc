"""Why somebody is shown something: which of their things carry the score, and over which paths in the graph.

python examples/explain_lists.py
"""

import sahcns


def main(split: sahcns.Split, epochs: int = 15) -> None:
    protocol = sahcns.Protocol(epochs=epochs, batch=1024, learning_rate=0.01)
    model = sahcns.fit(split, sahcns.LightGCN(dim=32), sahcns.SAHC(), protocol=protocol).recommender

    somebody = model.user_ids[0]
    for place in model.recommend([somebody], k=3)[0]:
        why = model.explain(somebody, place.item)
        print(f"{place.title or place.item}: score {why.score:.3f}, of which {why.own:.3f} is the person's own")
        for reason in why.reasons[:3]:
            # Paths of length 1 lead to the item itself, of 2 to the people who have it, of 3 to what these have too.
            paths = ", ".join(f"{part:+.3f} over {length}" for length, part in enumerate(reason.paths, 1))
            print(f"    {reason.part:+.3f} because of {reason.title or reason.item} ({paths})")
        if why.exact:  # LightGCN is linear, so nothing is left unexplained
            total = why.own + sum(reason.part for reason in why.reasons)
            print(f"    all parts together: {total:.3f}")

    basket = model.item_ids.decode(range(3))
    new = model.recommend_new(basket, k=1)[0]
    why = model.explain_new(basket, new.item)
    print(f"somebody new with {len(basket)} things: {new.title or new.item}, because of {why.reasons[0].item}")


if __name__ == "__main__":
    main(sahcns.prepare_named("ml-latest-small"))
