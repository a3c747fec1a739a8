#!/usr/bin/env python3
"""How well a linear probe tells the classes of nodes from the rows of a run without labels.

    python3 probe.py RUN DATA

RUN is the output of a job with `task.kind: "unsupervised"` (predictions.npy), DATA a folder with y.npy and
train_idx.npy, val_idx.npy, test_idx.npy. Ridge regression from the rows, each divided by its length, and a
constant to one-hot classes; its weight is that with the best validation accuracy. Needs NumPy alone.
"""
import pathlib
import sys

import numpy as np


def main():
    run, data = map(pathlib.Path, sys.argv[1:3])
    rows = np.load(run / "predictions.npy").astype(np.float64)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    y = np.load(data / "y.npy").astype(np.int64)
    train, val, test = (np.load(data / f"{role}_idx.npy").astype(np.int64) for role in ("train", "val", "test"))
    targets = np.eye(y.max() + 1)[y[train]]
    product = rows[train].T @ rows[train]
    best = (-1.0, 0.0, 0.0)
    for weight in 10.0 ** np.arange(-4, 3):
        solved = np.linalg.solve(product + weight * np.eye(len(product)), rows[train].T @ targets)
        right = (rows @ solved).argmax(1) == y
        best = max(best, (right[val].mean(), right[test].mean(), weight))
    print(f"weight {best[2]:g}: valid accuracy {best[0]:.4f}, test accuracy {best[1]:.4f}")


main()
