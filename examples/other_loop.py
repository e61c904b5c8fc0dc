"""A sampler in a loop that is not ours: PyTorch Geometric's LightGCN, trained with SAHC-NS.

python examples/other_loop.py          (pip install torch_geometric)
"""

import torch
from torch_geometric.nn import LightGCN

import sahcns


def train(
    split: sahcns.Split, sampler: sahcns.Sampler, dim: int = 32, epochs: int = 5, batch: int = 2048, rate: float = 0.01
) -> tuple[torch.Tensor, torch.Tensor]:
    """User and item embeddings after some epochs; all of the loop but the five lines of the negatives is PyG's."""
    torch.manual_seed(0)
    graph, rng = sahcns.Graph.of(split), sahcns.Rng(0, "negatives")
    users, items = graph.pair_users, graph.pair_items
    edges = torch.stack([users, items + split.n_users])
    edges = torch.cat([edges, edges.flip(0)], dim=1)
    model = LightGCN(split.n_users + split.n_items, dim, num_layers=3)
    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(epochs):
        for pairs in torch.split(torch.randperm(len(users)), batch):
            layers = [model.embedding.weight]
            for conv in model.convs:
                layers.append(conv(layers[-1], edges))
            of_users, of_items = (
                [layer[part] for layer in layers] for part in (slice(split.n_users), slice(split.n_users, None))
            )
            # What the sampler needs: candidates that the users have not had, then a mixture of items, then its rows.
            candidates = graph.draw(users[pairs], sampler.pool, rng)
            match = sahcns.Matching.of(of_users, of_items, users[pairs], items[pairs], candidates, graph=graph)
            negative = sampler.choose(match, rng).apply(of_items)[:, 0].mean(1)  # [B, d]
            rng.advance()
            user = torch.stack(of_users, 1)[users[pairs]].mean(1)
            positive = torch.stack(of_items, 1)[items[pairs]].mean(1)
            liked, other = (user * positive).sum(-1), (user * negative).sum(-1)
            loss = model.recommendation_loss(liked, other, node_id=torch.unique(users[pairs]), lambda_reg=1e-4)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    with torch.no_grad():
        vectors = model.get_embedding(edges)
    return vectors[: split.n_users], vectors[split.n_users :]


def main(split: sahcns.Split, epochs: int = 5) -> None:
    truth = sahcns.Truth.of(split, "test")
    for sampler in (sahcns.RNS(), sahcns.SAHC()):
        vectors = train(split, sampler, epochs=epochs)
        found = sahcns.evaluate(*vectors, truth, [20], ["recall", "ndcg"])
        print(f"{sampler.name}: test recall@20 {found['recall@20']:.2%}, ndcg@20 {found['ndcg@20']:.2%}")


if __name__ == "__main__":
    main(sahcns.prepare_named("ml-latest-small"))
