"""PyTorch Geometric's LightGCN with one random item as the negative of each pair, as its own example trains it.

Variant "documented" hands the model an edge list, as the example does. Variant "sparse" is the fastest way we know to use
the same class: the normalised matrix is made once and kept in CSR. Both shuffle with one permutation an epoch, where the
example's data loader walks the pairs in Python; no negative is checked against what the user has seen.
"""

import time

import torch
from terms import L2, LEARNING_RATE, Terms, answer, digest
from torch import Tensor
from torch_geometric.nn import LightGCN
from torch_geometric.nn.conv.gcn_conv import gcn_norm


def normalised(edges: Tensor, nodes: int) -> Tensor:
    """D^-½ A D^-½ in CSR; symmetric, so it is its own transpose."""
    edges, weights = gcn_norm(edges, None, nodes, add_self_loops=False)
    return torch.sparse_coo_tensor(edges, weights, (nodes, nodes)).to_sparse_csr()


def main() -> None:
    terms = Terms.read()
    torch.set_num_threads(terms.threads)
    torch.manual_seed(0)
    device = torch.device(terms.device)
    users, items = terms.part("train")
    pairs = torch.stack([torch.from_numpy(users), torch.from_numpy(items) + terms.n_users]).to(device)  # [2, E]
    nodes = terms.n_users + terms.n_items
    edges = torch.cat([pairs, pairs.flip(0)], dim=1)
    sparse = terms.variant == "sparse"
    graph = normalised(edges, nodes) if sparse else edges
    model = LightGCN(nodes, terms.dim, terms.layers, normalize=not sparse).to(device)
    optimiser = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    taken, losses, seen = [], [], 0
    for epoch in range(1 + terms.epochs):
        if device.type == "cuda":
            torch.cuda.synchronize()
        began = time.perf_counter()
        total, batches = torch.zeros((), device=device), 0
        for batch in torch.split(torch.randperm(pairs.shape[1], device=device), terms.batch):
            positive = pairs[:, batch]
            other = torch.randint(terms.n_users, nodes, (len(batch),), device=device)
            both = torch.cat([positive, torch.stack([positive[0], other])], dim=1)  # [2, 2B]
            optimiser.zero_grad()
            liked, random = model(graph, both).chunk(2)
            loss = model.recommendation_loss(liked, random, node_id=torch.unique(both), lambda_reg=L2)
            loss.backward()
            optimiser.step()
            total += loss.detach()
            batches += 1
            seen += len(batch) if epoch == 0 else 0
        losses.append(float(total) / batches)
        taken.append(time.perf_counter() - began)
    answer(taken, losses, seen, digest(users, items, terms.n_items), ["torch_geometric", "numpy"])


if __name__ == "__main__":
    main()
