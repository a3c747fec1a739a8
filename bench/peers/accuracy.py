#!/usr/bin/env python3
"""Test scores of PyG with the recipe of an example job: NeighborLoader training, evaluation on the whole graph.

One process trains with batches of both ranks' seeds. The test score at the first best validation epoch counts, per seed.
"""

import argparse
import json
import os
import re
import statistics

import common


def rows_of(folder, columns, torch):
    import numpy

    if os.path.exists(os.path.join(folder, "x.npy")):
        return torch.from_numpy(numpy.load(os.path.join(folder, "x.npy"))).float()
    offsets = numpy.load(os.path.join(folder, "x_indptr.npy"))
    indices = numpy.load(os.path.join(folder, "x_indices.npy"))
    rows = numpy.zeros((len(offsets) - 1, columns or int(indices.max()) + 1), numpy.float32)
    rows[numpy.repeat(numpy.arange(len(offsets) - 1), numpy.diff(offsets)), indices] = 1
    return torch.from_numpy(rows)


def edges_of(folder, torch):
    """[2, edges]: sources, destinations."""
    import numpy

    if os.path.exists(os.path.join(folder, "edge_index.npy")):
        return torch.from_numpy(numpy.load(os.path.join(folder, "edge_index.npy"))).long()
    offsets = numpy.load(os.path.join(folder, "indptr.npy"))
    sources = numpy.load(os.path.join(folder, "indices.npy"))
    destinations = numpy.repeat(numpy.arange(len(offsets) - 1), numpy.diff(offsets))
    return torch.from_numpy(numpy.stack([sources, destinations])).long()


def normalized(x, how):
    if how == "row":
        return x / x.sum(1, keepdim=True).clamp(min=1)
    if how == "column":
        return (x - x.mean(0)) / x.std(0).clamp(min=1e-6)
    return x


def area_under_curve(scores, positive):
    """Of the ROC curve; ties count half."""
    values, ranks, counts = scores.unique(return_inverse=True, return_counts=True)
    mean_ranks = counts.cumsum(0).double() - (counts.double() - 1) / 2
    n = positive.sum().double()
    return float((mean_ranks[ranks][positive].sum() - n * (n + 1) / 2) / (n * (len(scores) - n)))


def make_net(torch, job, columns, classes):
    from torch_geometric.nn import GCNConv, SAGEConv
    from torch_geometric.utils import trim_to_layer

    model = job["model"]
    layer = {"graphsage": SAGEConv, "gcn": GCNConv}[model["kind"]]
    sizes = [columns] + [model["hidden"]] * (model["layers"] - 1) + [classes]

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(layer(sizes[i], sizes[i + 1]) for i in range(len(sizes) - 1))
            norm = torch.nn.LayerNorm if model["norm"] == "layer" else torch.nn.Identity
            self.norms = torch.nn.ModuleList(norm(size) for size in sizes[1:-1])

        def forward(self, x, edges, batch=None):
            for i, layer in enumerate(self.layers):
                if batch is not None:
                    x, edges, _ = trim_to_layer(i, batch.num_sampled_nodes, batch.num_sampled_edges, x, edges)
                dropout = model["dropout"] if i > 0 else model["input_dropout"]
                x = layer(torch.nn.functional.dropout(x, dropout, self.training), edges)
                x = self.norms[i](x).relu() if i + 1 < len(self.layers) else x
            return x

    return Net()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--job", required=True, help="examples/NAME.json; its dataset is read as NumPy files")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    torch = common.use_threads(options.threads)
    import numpy
    from torch_geometric import seed_everything
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader
    from torch_geometric.utils import to_torch_csr_tensor

    with open(options.job) as file:
        job = json.loads(re.sub(r"^\s*//.*$|\s//.*$", "", file.read(), flags=re.M))
    folder = os.path.join(os.path.dirname(options.job), job["dataset"]["path"])
    with open(os.path.join(folder, "meta.json")) as file:
        meta = json.load(file)
    x = normalized(rows_of(folder, meta.get("num_features"), torch), job["features"]["normalize"])
    y = torch.from_numpy(numpy.load(os.path.join(folder, "y.npy"))).long()
    edges = edges_of(folder, torch)
    seeds = {role: torch.from_numpy(numpy.load(os.path.join(folder, role + "_idx.npy"))).long() for role in ("train", "val", "test")}
    whole = to_torch_csr_tensor(edges.flip(0), size=(len(x), len(x)))
    recipe, sample, optimizer = job["train"], job["sample"], job["train"]["optimizer"]

    def score(out, nodes):
        if job["eval"]["metric"] == "auc":
            return 100 * area_under_curve(out[nodes].softmax(1)[:, 1], y[nodes] == 1)
        return 100 * float((out[nodes].argmax(1) == y[nodes]).double().mean())

    tests = []
    for seed in range(options.seeds):
        seed_everything(seed)
        net = make_net(torch, job, x.shape[1], int(y.max()) + 1)
        adam = torch.optim.Adam(net.parameters(), lr=optimizer["lr"], weight_decay=optimizer["weight_decay"])
        loader = NeighborLoader(
            Data(x=x, y=y, edge_index=edges),
            sample["fanout"],
            input_nodes=seeds["train"],
            batch_size=sample["batch_size"] * job["cluster"]["hosts"],
            shuffle=True,
        )
        best = (-1.0, 0.0)
        for epoch in range(recipe["epochs"]):
            net.train()
            for batch in loader:
                adam.zero_grad()
                out = net(batch.x, batch.edge_index, batch)[: batch.batch_size]
                torch.nn.functional.cross_entropy(out, batch.y[: batch.batch_size]).backward()
                adam.step()
            if epoch % job["eval"]["every"] == 0 or epoch + 1 == recipe["epochs"]:
                net.eval()
                with torch.no_grad():
                    out = net(x, whole)
                valid = score(out, seeds["val"])
                if valid > best[0]:
                    best = (valid, score(out, seeds["test"]))
        tests.append(round(best[1], 2))
    common.print_result(
        test_mean=round(statistics.mean(tests), 2),
        test_sd=round(statistics.stdev(tests), 2),
        tests=tests,
        metric=job["eval"]["metric"],
        versions=common.versions("torch", "torch_geometric", "pyg_lib"),
    )


if __name__ == "__main__":
    main()
