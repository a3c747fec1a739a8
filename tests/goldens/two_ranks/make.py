"""Makes the files beside it: one step of two ranks on Cora, by PyTorch 2.1.2 and PyG 2.6.1.

The job is that of tests/e2e/goldens_test.cpp. Seeds, neighbors and initial weights come from
../batch_reference.py, that is from docs/design.md; features, layers, loss and gradients from PyG.
Everything is computed in float64 and rounded to float32 in the end.

    pip install torch==2.1.2 'numpy<2' torch_geometric==2.6.1
    python make.py
"""
import pathlib
import sys

import numpy as np
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, SAGEConv
from torch_geometric.transforms import NormalizeFeatures

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
import batch_reference as reference  # noqa: E402

CORA = HERE.parents[2] / "examples" / "data" / "cora"
JOB_SEED, RANKS, BATCH_SIZE, FANOUT, HIDDEN, CLASSES = 7, 2, 80, [5, 3], 16, 7
RATE = 512  # of SGD: the step then hides the initial weights, not the other way round


def cora(name):
    return np.load(CORA / f"{name}.npy").astype(np.int64)


def dense_features():
    x = np.zeros((len(cora("y")), 1433))
    indptr, indices = cora("x_indptr"), cora("x_indices")
    for node in range(len(x)):
        x[node, indices[indptr[node]:indptr[node + 1]]] = 1
    return x


class Model(torch.nn.Module):
    """Two convolutions with a ReLU between them, on all edges of a batch."""

    def __init__(self, conv):
        super().__init__()
        self.conv1, self.conv2 = conv(1433, HIDDEN), conv(HIDDEN, CLASSES)

    def forward(self, x, edges):
        return self.conv2(self.conv1(x, edges).relu(), edges)


def initial_weights(kind, name, shape, inputs):
    """GraphSAGE: PyTorch's Linear, ±1/sqrt(inputs); GCN: Glorot, biases 0 (docs/job-file.md)."""
    layer, order = int(name[4]) - 1, {
        "sage": ["lin_l.weight", "lin_l.bias", "lin_r.weight"], "gcn": ["lin.weight", "bias"]}[kind]
    number = layer * len(order) + order.index(name[6:])
    if kind == "sage":
        bound = 1 / np.sqrt(inputs)
    else:
        bound = np.sqrt(6 / sum(shape)) if len(shape) == 2 else 0
    return reference.uniform_weights(JOB_SEED, number, shape, bound)


def batch_of(rank):
    """The batch of a rank's first step: its nodes' original ids, edges and seeds' indices."""
    train = np.sort(cora("train_idx"))
    seeds = train[reference.seed_positions(JOB_SEED, len(train), BATCH_SIZE, rank)]
    edge_type = reference.EdgeType(0, 0, cora("edge_index").T.tolist())
    batch = reference.sample(1, [edge_type], reference.Settings([FANOUT], JOB_SEED), seeds.tolist(),
                             batch=rank)
    edges = batch.edges[0]
    destinations = np.repeat(np.arange(len(edges.offsets) - 1), np.diff(edges.offsets))
    return (np.array(batch.nodes[0].originals), np.stack([edges.sources, destinations]),
            np.array(batch.seed_index))


def step(kind, batches, x, labels):
    """Weights after one step, the loss before it, and the distance that equal ranks would make."""
    model = Model({"sage": SAGEConv, "gcn": GCNConv}[kind]).double()
    start = {}
    for name, value in model.named_parameters():
        inputs = 1433 if name.startswith("conv1") else HIDDEN
        start[name] = initial_weights(kind, name, tuple(value.shape), inputs).astype(np.float64)
        value.data = torch.tensor(start[name])
    sums, means, loss_sum, seed_count = {}, {}, 0, 0
    for nodes, edges, seeds in batches:
        logits = model(torch.tensor(x[nodes]), torch.tensor(edges))[seeds]
        loss = torch.nn.functional.cross_entropy(logits, torch.tensor(labels[nodes[seeds]]))
        model.zero_grad()
        loss.backward()
        for name, value in model.named_parameters():
            gradient = value.grad.numpy()
            sums[name] = sums.get(name, 0) + gradient * len(seeds)
            means[name] = means.get(name, 0) + gradient / len(batches)
        loss_sum, seed_count = loss_sum + loss.item() * len(seeds), seed_count + len(seeds)
    after = {}
    for name, total in sums.items():
        gradient = total / seed_count
        after[name] = start[name] - RATE * gradient
        largest = np.abs(after[name]).max()
        off = RATE * np.abs(means[name] - gradient).max()
        print(f"{kind} {name}: largest weight {np.abs(start[name]).max():.3g} before, "
              f"{largest:.3g} after; with a plain mean over ranks {off:.2g} off")
        assert off > 1e-3 * largest, "ranks too alike"
    return after, loss_sum / seed_count


def main():
    torch.manual_seed(0)
    x = NormalizeFeatures()(Data(x=torch.tensor(dense_features()))).x.numpy()
    labels = cora("y")
    batches = [batch_of(rank) for rank in range(RANKS)]
    for nodes, edges, seeds in batches:
        print(f"batch: {len(seeds)} seeds, {len(nodes)} nodes, {edges.shape[1]} edges")
    for kind in ("sage", "gcn"):
        (HERE / kind).mkdir(exist_ok=True)
        weights, loss = step(kind, batches, x, labels)
        np.save(HERE / kind / "loss.npy", np.array([loss]))
        for name, value in weights.items():
            np.save(HERE / kind / (name.replace(".", "_") + ".npy"), value.astype(np.float32))


if __name__ == "__main__":
    main()
