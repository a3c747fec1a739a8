#!/usr/bin/env python3
"""Weights and times of the edges of a generated graph, and some of its edges as links, for `troupe import --from npy`.

    edge_columns.py FOLDER

FOLDER is what `troupe generate --npy` wrote. It gets edges.npy, weights.npy (log-normal), times.npy (uniform in
[0, 2^30)), links.npy (20,000 edges), all in the order of indices64.npy, and weights.json, times.json and both.json, which
name them.
"""

import os
import sys

import numpy as np

GRAPH = """{"node_types": {"node": {"features": "x.npy", "labels": "y.npy"}},
 "edge_types": {"edge": {"source": "node", "destination": "node", "edges": "edges.npy", %s}},
 "splits": {"": {"train": {"node": "train_idx.npy"}}},
 "links": {"": {"train": {"edge": "links.npy"}}}}"""


def main():
    os.chdir(sys.argv[1])
    offsets, sources = np.load("indptr.npy"), np.load("indices64.npy")
    destinations = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    np.save("edges.npy", np.stack([sources, destinations]))
    random = np.random.default_rng(1)
    np.save("weights.npy", random.lognormal(0, 1, len(sources)).astype(np.float32))
    np.save("times.npy", random.integers(0, 1 << 30, len(sources)))
    some = random.integers(0, len(sources), 20_000)  # as many batches as of nodes
    np.save("links.npy", np.stack([sources[some], destinations[some]], 1))
    columns = {data: f'"{data}": "{data}.npy"' for data in ("weights", "times")}
    for name, data in (*columns.items(), ("both", ", ".join(columns.values()))):
        with open(f"{name}.json", "w") as out:
            out.write(GRAPH % data)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: edge_columns.py FOLDER")
    main()
