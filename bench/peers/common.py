"""Arrays, timing and output that the measuring scripts of the peers share."""

import argparse
import json
import os
import resource
import statistics
import sys
import time

FANOUT = [15, 10, 5]  # from the seeds outward
BATCH = 1024
LINKS = 341  # of a batch, with a negative each
LAYER_SIZES = [100, 256, 256, 47]


def hosts_parser(description, roles):
    """Command line of a script whose two hosts train together: what run.py gives to each."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("role", choices=roles)
    parser.add_argument("--graph", help="folder of NumPy files")
    parser.add_argument("--parts", required=True, help="folder of the partitioned graph")
    parser.add_argument("--rank", type=int, default=0)
    parser.add_argument("--addresses", default="", help="of both hosts, comma-separated")
    parser.add_argument("--interface", default="eth0")
    parser.add_argument("--epochs", type=int, default=3)
    return parser


def pace_parser(description, systems, warm, batches, seconds):
    """Command line of a script that measures batches of one system at a `Pace`."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--graph", required=True, help="folder of NumPy files")
    parser.add_argument("--system", required=True, choices=systems)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--warm", type=int, default=warm, help="batches before the clock starts")
    parser.add_argument("--batches", type=int, default=batches, help="most batches that are counted")
    parser.add_argument("--seconds", type=float, default=seconds, help="time after which no further batch is counted")
    return parser


def use_threads(threads):
    """Limits the threads of this process; called before torch and the peers are imported."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    os.environ["DGLBACKEND"] = "pytorch"
    import torch

    torch.set_num_threads(threads)
    return torch


def load_graph(folder, features=True, weights=False, links=False):
    """The arrays that `troupe generate --npy` and edge_columns.py wrote, as tensors: in-neighbors of each node, their
    weights, rows, classes, seeds, links."""
    import numpy
    import torch

    def array(name):
        return torch.from_numpy(numpy.load(os.path.join(folder, name)))

    graph = {"indptr": array("indptr.npy"), "indices": array("indices64.npy"), "train": array("train_idx.npy")}
    graph["nodes"] = len(graph["indptr"]) - 1
    if features:
        graph["x"] = array("x.npy")
        graph["y"] = array("y.npy").long()
    if weights:
        graph["weights"] = array("weights.npy")
    if links:
        graph["links"] = array("links.npy")
    return graph


def shuffled_seeds(seeds, batches, size=BATCH):
    """Seeds of that many whole batches, drawn once for all systems; several epochs where one is too short."""
    import torch

    generator = torch.Generator().manual_seed(0)
    per_epoch = len(seeds) // size
    epochs = [seeds[torch.randperm(len(seeds), generator=generator)][: per_epoch * size] for _ in range(-(-batches // per_epoch))]
    return torch.cat(epochs)[: batches * size].contiguous()


class Pace:
    """Time per batch after the first `warm` ones, until `seconds` are over."""

    def __init__(self, warm, seconds):
        self.warm = warm
        self.seconds = seconds
        self.batches = 0
        self.edges = 0
        self.rows = 0
        self.times = []

    def add(self, edges, rows):
        """Counts a batch. Returns whether there is time for another."""
        now = time.perf_counter()
        self.batches += 1
        if self.batches == self.warm:
            self.began = self.last = now
        elif self.batches > self.warm:
            self.times.append(1e3 * (now - self.last))
            self.last = now
            self.edges += edges
            self.rows += rows
        return self.batches <= self.warm or now - self.began < self.seconds

    def result(self):
        n = len(self.times)
        return {
            "batches": n,
            "ms_per_batch": round(1e3 * (self.last - self.began) / n, 2),
            "median_ms": round(statistics.median(self.times), 2),
            "edges_per_batch": round(self.edges / n),
            "rows_per_batch": round(self.rows / n),
        }


def versions(*modules):
    return {name: sys.modules[name].__version__ for name in modules if hasattr(sys.modules.get(name), "__version__")}


def peak_gib():
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, 2)


def print_result(**fields):
    """One JSON object on a line of its own, which run.py looks for."""
    print("RESULT " + json.dumps(fields), flush=True)
