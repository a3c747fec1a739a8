#!/usr/bin/env python3
"""Batches per second in Python: `session.epoch` with `to_pyg` beside PyG's NeighborLoader, by turns in one process.

    troupe generate rmat --npy GRAPH --nodes 306128 --edges 7732392 --symmetrize --features 100 --classes 47 --train 65536 --seed 1
    troupe import --from npy GRAPH STORE && troupe partition STORE PARTS --parts 1
    PYTHONPATH=BUILD/python ENVIRONMENT/bin/python bench/peers/python_loader.py --graph GRAPH --parts PARTS

Both give `Data` with rows, classes, edges and the numbers of nodes and edges per hop, of the same arrays, fanout and batch
size; nothing is trained. NeighborLoader is tried with several numbers of workers, Troupe with and without the digest of
batches; each setting takes part in every turn, and medians count. The last line is the result as JSON.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time

import common

import troupe

EPOCHS = 1000


class Pace(common.Pace):
    """With the processor time of this process, which other work on the machine changes little; not that of workers."""

    def add(self, edges, rows):
        if self.batches < self.warm:
            self.processor_began = time.process_time()
        self.processor_last = time.process_time()
        return super().add(edges, rows)

    def result(self):
        milliseconds = 1e3 * (self.processor_last - self.processor_began)
        return {**super().result(), "processor_ms_per_batch": round(milliseconds / len(self.times), 2)}


def pace_of_pyg(torch, graph, options, workers):
    from torch_geometric.data import Data
    from torch_geometric.loader import NeighborLoader

    columns = torch.repeat_interleave(torch.arange(graph["nodes"]), graph["indptr"].diff())
    data = Data(x=graph["x"], y=graph["y"], edge_index=torch.stack([graph["indices"], columns]))
    loader = NeighborLoader(
        data, common.FANOUT, input_nodes=graph["train"], batch_size=common.BATCH, shuffle=True, num_workers=workers,
        is_sorted=True, persistent_workers=workers > 0, filter_per_worker=workers > 0,
    )  # fmt: skip

    def measure():
        pace = Pace(options.warm, options.seconds)
        while True:
            for batch in loader:
                if not pace.add(batch.edge_index.shape[1], batch.x.shape[0]):
                    return pace.result()

    return measure


def pace_of_troupe(options, digest):
    settings = {
        "dataset.path": os.path.abspath(options.parts),
        "cluster.hosts": 1,
        "cluster.samplers_per_trainer": options.samplers,
        "cluster.batches_in_flight": options.in_flight,
        "sample.fanout": common.FANOUT,
        "sample.batch_size": common.BATCH,
        "train.epochs": EPOCHS,
        "digest": digest,
    }

    def measure():
        pace = Pace(options.warm, options.seconds)

        def train(session):
            for e in range(session.epochs):
                for batch in session.epoch(e):
                    data = batch.to_pyg()
                    if not pace.add(data.edge_index.shape[1], data.x.shape[0]):
                        return

        with tempfile.TemporaryDirectory() as folder:
            job = f"{folder}/job.json"
            with open(job, "w") as out:
                out.write('{"dataset": {"path": "none"}}')
            troupe.run(train, job, set={**settings, "output": f"{folder}/run"})
        return pace.result()

    return measure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", required=True, help="folder of NumPy files")
    parser.add_argument("--parts", required=True, help="the same graph as Troupe's parts")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--warm", type=int, default=8)
    parser.add_argument("--threads", type=int, default=1, help="of PyTorch, in each process")
    parser.add_argument("--workers", default="0,2", help="of NeighborLoader, each of these")
    parser.add_argument("--samplers", type=int, default=2)
    parser.add_argument("--in-flight", type=int, default=8)
    options = parser.parse_args()
    torch = common.use_threads(options.threads)
    import pyg_lib  # noqa: F401  its sampler is the one measured; without it PyG needs torch-sparse
    import torch_geometric  # noqa: F401

    graph = common.load_graph(options.graph)
    settings = {f"pyg, {n} workers": pace_of_pyg(torch, graph, options, int(n)) for n in options.workers.split(",")}
    settings.update({f"troupe, digest {mode}": pace_of_troupe(options, mode) for mode in ("full", "off")})
    times = {name: [] for name in settings}
    processor = {name: [] for name in settings}
    for turn in range(options.turns):
        for name, measure in settings.items():
            result = measure()
            times[name].append(result["ms_per_batch"])
            processor[name].append(result["processor_ms_per_batch"])
            print(f"turn {turn + 1}: {name}: {result}", flush=True)
    pace = {name: round(1e3 / statistics.median(of_setting), 1) for name, of_setting in times.items()}
    best = max(value for name, value in pace.items() if name.startswith("pyg"))
    ratios = {name: round(value / best, 2) for name, value in pace.items()}
    versions = common.versions("torch", "torch_geometric", "pyg_lib")
    processor = {name: statistics.median(of_setting) for name, of_setting in processor.items()}
    common.print_result(batches_per_second=pace, beside_best_pyg=ratios, processor_ms_per_batch=processor, peak_gib=common.peak_gib(), versions=versions)


if __name__ == "__main__":
    sys.exit(main())
