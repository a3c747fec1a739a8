"""Classes of nodes from learned rows alone, in NumPy: softmax regression on rows averaged over two hops.

troupe run examples/python/learned.json -- python3 examples/python/train_learned.py
"""

import os
import sys

import numpy as np

import troupe


def sums(values, places, rows):
    """Sums of values with the same place, in their order: [rows, columns]."""
    out = np.zeros((rows, values.shape[1]), np.float32)
    if len(places):
        order = np.argsort(places, kind="stable")
        sorted_places = places[order]
        firsts = np.flatnonzero(np.r_[True, sorted_places[1:] != sorted_places[:-1]])
        out[sorted_places[firsts]] = np.add.reduceat(values[order], firsts, axis=0)
    return out


class Average:
    """Means over each destination of a block and its sampled neighbors."""

    def __init__(self, block):
        degree = np.diff(block.offsets)
        self.rows = block.destinations
        self.sources = block.sources[block.offsets[0] : block.offsets[-1]]
        self.targets = np.repeat(np.arange(self.rows), degree)
        self.share = (1 / (1 + degree)).astype(np.float32)[:, None]

    def forward(self, x):
        self.inputs = len(x)
        return (x[: self.rows] + sums(x[self.sources], self.targets, self.rows)) * self.share

    def backward(self, slope):
        slope = slope * self.share
        out = sums(slope[self.targets], self.sources, self.inputs)
        out[: self.rows] += slope
        return out


def forward(batch, rows):
    """Averages of the seeds, and what leads back from them."""
    layers = [Average(batch.block(layer, 2)) for layer in range(2)]
    for layer in layers:
        rows = layer.forward(rows)
    return rows[batch.seed_index], layers, len(rows)


def accuracy(session, table, weights, role):
    """Each rank looks at its own share of the nodes."""
    counts = np.zeros(2, np.float32)  # right, all
    nodes = session.seeds(role).nodes
    for first in range(0, len(nodes), 500):
        batch = session.sample_neighbors(nodes[first : first + 500], [10, 10], with_rows=True)
        x, _, _ = forward(batch, table.rows(batch.nodes))
        counts += [((x @ weights.T).argmax(axis=1) == batch.labels).sum(), len(batch.labels)]
    session.all_reduce(counts)
    return counts[0] / counts[1]


def train(session, rate=np.float32(0.5)):
    table = session.embedding("node")
    weights = np.random.default_rng(session.seed).normal(0, 0.3, (session.classes, table.dim)).astype(np.float32)
    session.keep(weights=weights)
    for e in range(session.first_epoch, session.epochs):
        for batch in session.epoch(e):
            x, layers, outputs = forward(batch, table.rows(batch.nodes))
            scores = np.exp(x @ weights.T)
            slope = scores / scores.sum(axis=1, keepdims=True)
            slope[np.arange(batch.seeds), batch.labels] -= 1  # of the sum of the losses
            back = sums(slope @ weights, batch.seed_index, outputs)
            for layer in reversed(layers):
                back = layer.backward(back)
            table.gradient(batch.nodes, back, of_sum=True)
            gradient = slope.T @ x
            session.all_reduce_gradients(gradient, of_sum=True)
            weights -= rate * gradient
            session.end_step()
        right = accuracy(session, table, weights, "val")
        if session.rank == 0:
            print(f"epoch {e + 1}: valid accuracy {right:.4f}")
    right = accuracy(session, table, weights, "test")
    if session.rank == 0:
        print(f"test accuracy {right:.4f}")
        if len(sys.argv) > 1:
            np.save(sys.argv[1], weights)


if __name__ == "__main__":
    troupe.run(train, os.path.join(os.path.dirname(os.path.abspath(__file__)), "learned.json"))
