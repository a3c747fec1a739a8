#!/usr/bin/env python3
"""Training steps of several kinds of layers, ours and PyTorch Geometric's by turns on the same batch.

Three layers of 256 (attention: four heads of 64, one in the last layer; hgt: four in all, behind a linear input), 100 columns, 47 classes,
1024 seeds, Adam. The graph is an R-MAT of 2^18 nodes and 15 M edges; rgcn has four edge types of its own. PyG's layers see the edges of the
hops that they need, trimmed by hand, so that neither side computes rows that nobody reads. Prints a line of JSON for each kind: medians of
all rounds, and their ratio.

    model_steps.py --build build/release --scratch FOLDER      with a Python that has torch, torch_geometric and NumPy
"""

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import time

import common

ATTENTION = ["model.heads=4", "model.out_heads=1"]
SETTINGS = {
    "graphsage": [],
    "gat": ATTENTION,
    "gatv2": ATTENTION,
    "gin": ["model.train_eps=true"],
    "rgcn": [],
    "hgt": ["model.heads=4", "model.input=linear"],
}
WARM = 2
STEPS = 7


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))}: {done.stderr}")
    return done.stdout


def make_graphs(troupe, scratch):
    """Partitioned graphs of one edge type and of four."""
    if not (scratch / "one").exists():
        run(troupe, "generate", "rmat", scratch / "one-graph", "--nodes", 1 << 18, "--edges", 7_700_000, "--symmetrize", "--features", 100,
            "--classes", 47, "--train", 65536)  # fmt: skip
        run(troupe, "partition", scratch / "one-graph", scratch / "one", "--parts", 1)
    if not (scratch / "four").exists():
        edges = {f"e{k}": {"source": "n", "destination": "n", "edges": 4_000_000} for k in range(4)}
        schema = {
            "classes": 47,
            "node_types": {"n": {"count": 1 << 18, "features": 100, "labels": True}},
            "edge_types": edges,
            "splits": {"": {"nodes": "n", "train": 65536, "val": 10, "test": 10}},
        }
        (scratch / "four.json").write_text(json.dumps(schema))
        run(troupe, "generate", "heterogeneous", scratch / "four-graph", "--schema", scratch / "four.json")
        run(troupe, "partition", scratch / "four-graph", scratch / "four", "--parts", 1)


def job_of(kind, scratch):
    """The job of a kind, and the settings that name it."""
    four = kind == "rgcn"
    job = {
        "dataset": {"path": str(scratch / ("four" if four else "one"))},
        "cluster": {"hosts": 1, "trainers_per_host": 1, "samplers_per_trainer": 1},
        "sample": {"fanout": [3, 1, 1] if four else common.FANOUT, "batch_size": common.BATCH},
        "model": {"layers": 3, "hidden": 256},
        "digest": "off",
        "eval": {"mode": "sampled"},
        "seed": 1,
    }
    path = scratch / f"{kind}.json"
    path.write_text(json.dumps(job))
    return path, [word for setting in (f"model.kind={kind}", *SETTINGS[kind]) for word in ("--set", setting)]


def load_array(path, dtype="int64"):
    import numpy
    import torch

    return torch.from_numpy(numpy.load(path).astype(dtype))


def edges_of_layers(of_type):
    """Edges of one type that each of three layers needs, from its folder of a batch."""
    import torch

    offsets, sources, rows = (load_array(of_type / f"{name}.npy") for name in ("offsets", "sources", "row_begin"))
    destinations = torch.repeat_interleave(torch.arange(len(offsets) - 1), offsets[1:] - offsets[:-1])
    counts = [int(offsets[rows[3 - layer]]) for layer in range(3)]
    return [torch.stack([sources[:count], destinations[:count]]) for count in counts]


def load_batch(folder):
    """Trimmed edges of each layer by edge type, rows, classes, and nodes known after each hop."""
    nodes = next(folder.glob("nodes-*"))
    ends = load_array(nodes / "hop_end.npy").tolist()
    edges = [{}, {}, {}]
    for of_type in sorted(folder.glob("edges-*")):
        for layer, of_layer in enumerate(edges_of_layers(of_type)):
            edges[layer][of_type.name] = of_layer
    return edges, load_array(nodes / "features.npy", "float32"), load_array(folder / "labels.npy"), ends


def pyg_net(torch, kind, types):
    from torch_geometric.nn import GATConv, GATv2Conv, GINConv, HGTConv, SAGEConv

    sizes = common.LAYER_SIZES
    if kind == "hgt":
        return hgt_net(torch, HGTConv, sizes)

    class Relations(torch.nn.Module):
        def __init__(self, columns, out):
            super().__init__()
            self.own = torch.nn.Linear(columns, out)
            self.of_type = torch.nn.ModuleDict({name: SAGEConv(columns, out, root_weight=False, bias=False) for name in types})

        def forward(self, x, edges):
            return self.own(x[1]) + sum(layer(x, edges[name]) for name, layer in self.of_type.items())

    def attention(layer):
        return lambda columns, out, last: layer(columns, out) if last else layer(columns, out // 4, heads=4)

    def gin(columns, out, last):
        linear = torch.nn.Linear
        return GINConv(torch.nn.Sequential(linear(columns, 256 if last else out), torch.nn.ReLU(), linear(256 if last else out, out)), train_eps=True)

    make = {
        "graphsage": lambda columns, out, last: SAGEConv(columns, out),
        "gat": attention(GATConv),
        "gatv2": attention(GATv2Conv),
        "gin": gin,
        "rgcn": lambda columns, out, last: Relations(columns, out),
    }[kind]

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = torch.nn.ModuleList(make(sizes[i], sizes[i + 1], i == 2) for i in range(3))

        def forward(self, x, edges, ends):
            for i, layer in enumerate(self.layers):
                of_layer = edges[i] if kind == "rgcn" else next(iter(edges[i].values()))
                x = layer((x, x[: ends[2 - i]]), of_layer)
                x = x.relu() if i < 2 else x
            return x

    return Net()


def hgt_net(torch, layer, sizes):
    """Its layers give rows of all nodes that they see: those of hops that the next layer does not need are cut off behind each."""
    node, edge, hidden = "n", ("n", "e", "n"), sizes[1]

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = torch.nn.Linear(sizes[0], hidden)
            self.layers = torch.nn.ModuleList(layer(hidden, hidden, ([node], [edge]), heads=4) for _ in range(3))
            self.last = torch.nn.Linear(hidden, sizes[3])

        def forward(self, x, edges, ends):
            x = self.first(x)
            for i, of_layer in enumerate(self.layers):
                x = of_layer({node: x}, {edge: next(iter(edges[i].values()))})[node][: ends[2 - i]]
            return self.last(x)

    return Net()


def time_steps(step):
    """Milliseconds of each call but the first ones."""
    times = []
    for call in range(WARM + STEPS):
        began = time.perf_counter()
        step()
        if call >= WARM:
            times.append(1e3 * (time.perf_counter() - began))
    return times


def pyg_steps(torch, kind, batch):
    """Milliseconds of each step."""
    edges, x, labels, ends = batch
    torch.manual_seed(0)
    net = pyg_net(torch, kind, list(edges[0]))
    adam = torch.optim.Adam(net.parameters(), lr=0.001)

    def step():
        adam.zero_grad()
        torch.nn.functional.cross_entropy(net(x, edges, ends)[: len(labels)], labels).backward()
        adam.step()

    return time_steps(step)


def our_steps(build, job, settings, threads):
    """Median milliseconds of a step, as troupe_bench prints them, and edges of its batches."""
    printed = run(build / "bench/troupe_bench", job, "--only", "training", "--threads", threads, *settings)
    found = re.search(rf"training step, {threads} threads: ([0-9.]+) ms, (\d+) edges a batch", printed)
    return float(found[1]), int(found[2])


def steps_parser(description, rounds):
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--scratch", type=pathlib.Path, required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=rounds)
    return parser


def by_turns(options, kind, our, pyg, pyg_edges):
    """Runs both and returns the line of results. `our` gives milliseconds and edges, `pyg` milliseconds of each step."""
    ours, theirs = [], []
    for _ in range(options.rounds):
        milliseconds, edges = our()
        ours.append(milliseconds)
        theirs += pyg()
    mine, its = statistics.median(ours), statistics.median(theirs)
    return {
        "kind": kind,
        "threads": options.threads,
        "troupe_ms": round(mine, 1),
        "pyg_ms": round(its, 1),
        "edges": [edges, pyg_edges],
        "ratio": round(its / pyg_edges * edges / mine, 2),
        "pyg_range": [round(min(theirs), 1), round(max(theirs), 1)],
        "troupe_values": ours,
        **common.versions("torch", "torch_geometric"),
    }


def main():
    parser = steps_parser(__doc__, rounds=3)
    parser.add_argument("--kinds", default=",".join(SETTINGS))
    options = parser.parse_args()
    torch = common.use_threads(options.threads)
    troupe = options.build / "launcher/troupe"
    options.scratch.mkdir(parents=True, exist_ok=True)
    make_graphs(troupe, options.scratch)
    for kind in options.kinds.split(","):
        job, settings = job_of(kind, options.scratch)
        folder = options.scratch / f"batches-{kind}"
        if not folder.exists():
            run(troupe, "batches", job, "--count", 1, "--out", folder, *settings)
        batch = load_batch(folder / "batch-0")
        pyg_edges = sum(of_type.shape[1] for of_type in batch[0][0].values())
        line = by_turns(
            options,
            kind,
            lambda: our_steps(options.build, job, settings, options.threads),
            lambda: pyg_steps(torch, kind, batch),
            pyg_edges,
        )
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
