"""A trainer of our own in NumPy: softmax regression on features averaged over two hops.

troupe run examples/python/cora.json -- python3 examples/python/train_numpy.py
"""

import os
import sys

import numpy as np

import troupe


def average(x, block):
    """Means over each destination of a block and its sampled neighbors."""
    sums = x[: block.destinations].copy()
    offsets = block.offsets
    degree = np.diff(offsets)
    some = degree > 0  # reduceat knows no empty rows
    if some.any():
        rows = x[block.sources[offsets[0] : offsets[-1]]]
        sums[some] += np.add.reduceat(rows, (offsets[:-1] - offsets[0])[some], axis=0)
    return sums / (1 + degree)[:, None].astype(np.float32)


def inputs(batch):
    """Of the seeds: [seeds, columns]."""
    x = batch.features
    for layer in range(2):
        x = average(x, batch.block(layer, 2))
    return x[batch.seed_index]


def probabilities(weights, x):
    scores = np.exp(x @ weights.T)
    return scores / scores.sum(axis=1, keepdims=True)


def test_accuracy(session, weights):
    """Each rank looks at its own share of the test nodes."""
    counts = np.zeros(2, np.float32)  # right, all
    nodes = session.seeds("test").nodes
    for first in range(0, len(nodes), 100):
        batch = session.sample_neighbors(nodes[first : first + 100], [10, 10], with_rows=True)
        right = (inputs(batch) @ weights.T).argmax(axis=1) == batch.labels
        counts += [right.sum(), len(right)]
    session.all_reduce(counts)
    return counts[0] / counts[1]


def train(session, rate=20.0, momentum=0.9):
    weights = np.zeros((session.classes, session.columns), np.float32)
    velocity = np.zeros_like(weights)
    loss = np.zeros(1, np.float32)  # sum over this rank's seeds of the epoch
    session.keep(weights=weights, velocity=velocity, loss=loss)
    for e in range(session.first_epoch, session.epochs):
        for batch in session.epoch(e):
            x = inputs(batch)
            slope = probabilities(weights, x)
            mine = np.arange(batch.seeds), batch.labels
            loss -= np.log(slope[mine]).sum()
            slope[mine] -= 1
            gradient = slope.T @ x
            session.all_reduce_gradients(gradient, of_sum=True)
            velocity *= momentum
            velocity -= np.float32(rate) * gradient
            weights += velocity
            session.end_step()
        session.all_reduce(loss)
        if session.rank == 0:
            print(f"epoch {e + 1}: loss {loss[0]:.4f}")
        loss[:] = 0
    accuracy = test_accuracy(session, weights)
    if session.rank == 0:
        print(f"test accuracy {accuracy:.4f}")
        if len(sys.argv) > 1:
            np.save(sys.argv[1], weights)


if __name__ == "__main__":
    troupe.run(train, os.path.join(os.path.dirname(os.path.abspath(__file__)), "cora.json"))
