#!/usr/bin/env python3
"""How the pace and the memory of batches grow with the graph and with the settings of a job.

    bench/system/growth.py --build build/release --data FOLDER --out bench/results/growth_DATE.jsonl
    bench/system/plot_growth.py bench/results/growth_DATE.jsonl docs/plots

Batches with their rows travel through Troupe's actors to a program that trains nothing (troupe_take). One quantity grows,
the others stay at 1,024 seeds, fanout [15, 10, 5], one host with one part, 8 batches in flight, 2 threads; the graph is
R-MAT in both directions, of 10^6 nodes with 25 edges and 100 float32 columns each unless nodes grow. Each line of the
result file is a JSON object: "about" first, then a "point" or a "failed" each. A point has the median of the epochs after
the first: milliseconds per batch of all hosts, edges per second, bytes of rows per second; and the peak memory of the
process, the mapped files of the store included, of which `copied` bytes are copies that the process made.

nodes      10^5, 10^6 (25 edges a node, 100 columns), 10^7, 2 x 10^7 (16, 16)
batch      64 to 8,192 seeds
fanout     two hops of 5 to 50
parts      1 to 16, all at one host
hosts      1 to 16 simulated ones on the same cores, each with a part and a rank, over links without delay; 8 batches in
           flight are dealt to them, 16 hosts have one each
in_flight  1 to 32 batches
scratch    one hop with a frontier of 2^20 seeds: what a process keeps for later batches
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from machine import Failed, Machine, Results, about, last_line  # noqa: E402

SMALL = {"edges_per_node": 25, "columns": 100, "seeds": 1 << 18}
LARGE = {"edges_per_node": 16, "columns": 16, "seeds": 1 << 20}
BASE = {"nodes": 10**6, **SMALL}
SIZES = [{"nodes": 10**5, **SMALL}, BASE, {"nodes": 10**7, **LARGE}, {"nodes": 2 * 10**7, **LARGE}]
SEVERAL = [1, 2, 4, 8, 16]
# Name of the sweep: (graph, settings that differ) of each point.
SWEEPS = {
    "nodes": [(graph, {}) for graph in SIZES],
    "batch": [(BASE, {"batch": 64 << k}) for k in range(8)],
    "fanout": [(BASE, {"fanout": [k, k]}) for k in (5, 10, 15, 20, 30, 40, 50)],
    "parts": [(BASE, {"parts": parts}) for parts in SEVERAL],
    "hosts": [(BASE, {"parts": hosts, "hosts": hosts, "in_flight": max(1, 8 // hosts)}) for hosts in SEVERAL],
    "in_flight": [(BASE, {"in_flight": 1 << k}) for k in range(6)],
    "scratch": [(SIZES[2], {"batch": 1 << 20, "fanout": [10], "in_flight": 1})],
}
SETTINGS = {"batch": 1024, "fanout": [15, 10, 5], "parts": 1, "hosts": 1, "in_flight": 8}


class Graphs:
    """Partitioned stores, made when they are first needed."""

    def __init__(self, folder, troupe, keep):
        self.folder = folder
        self.troupe = troupe
        self.keep = keep

    def parts(self, graph, parts):
        name = f"growth-{graph['nodes']}"
        store = os.path.join(self.folder, name + "-store")
        target = os.path.join(self.folder, f"{name}-parts{parts}")
        if os.path.exists(target):
            return target
        if not os.path.exists(store):
            self._troupe(
                ["generate", "rmat", store, "--nodes", graph["nodes"], "--edges", graph["nodes"] * graph["edges_per_node"] // 2]
                + ["--symmetrize", "--features", graph["columns"], "--train", graph["seeds"], "--seed", 1]
            )
        self._troupe(["partition", store, target, "--parts", parts])
        return target

    def drop(self, graph):
        """Removes what was made of the graph, unless it shall stay."""
        for name in os.listdir(self.folder):
            if not self.keep and name.startswith(f"growth-{graph['nodes']}-"):
                shutil.rmtree(os.path.join(self.folder, name))

    def _troupe(self, words):
        words = [self.troupe] + [str(word) for word in words]
        print("preparing:", *words, file=sys.stderr, flush=True)
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def scaled(graph, scale):
    nodes = round(graph["nodes"] * scale)
    return {**graph, "nodes": nodes, "seeds": min(graph["seeds"], nodes // 2)}


def job_of(store, settings, threads, output):
    return {
        "dataset": {"path": store},
        "cluster": {
            "hosts": settings["hosts"],
            "batches_in_flight": settings["in_flight"],
            "threads": threads,
        },
        "sample": {"fanout": settings["fanout"], "batch_size": settings["batch"], "drop_last": True},
        "eval": {"every": 0, "predictions": False},
        "digest": "off",
        "seed": 1,
        "output": output,
    }


def epochs_of(text):
    """For each epoch: seconds per batch of all ranks; of the last one: milliseconds of processor, nodes, edges per batch.

    All ranks are in one process, whose processor time each of them sees over its own batches.
    """
    lines = re.findall(
        r"rank \d+ epoch (\d+): (\d+) batches in .*? = ([0-9.]+) batches/s; ([0-9.]+) ms of processor.*?; (\d+) nodes, (\d+) edges", text
    )
    if not lines:
        raise Failed(f"no epochs: {last_line(text)}")
    rates = {}
    for epoch, _, rate, _, _, _ in lines:
        rates[int(epoch)] = rates.get(int(epoch), 0) + float(rate)
    last = [line for line in lines if int(line[0]) == max(rates) and line[1] != "0"]
    mean = [statistics.mean(float(line[k]) for line in last) for k in (3, 4, 5)]
    return [1 / rates[epoch] for epoch in sorted(rates)], mean


class Growth:
    def __init__(self, options, results):
        build = os.path.realpath(options.build)
        self.troupe = os.path.join(build, "launcher", "troupe")
        self.take = os.path.join(build, "bench", "troupe_take")
        self.graphs = Graphs(os.path.realpath(options.data), self.troupe, options.keep)
        self.machine = Machine(options.cores)
        self.options = options
        self.results = results

    def point(self, graph, settings):
        """Takes epochs of batches. Returns what is known of them."""
        store = self.graphs.parts(graph, settings["parts"])
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "run")
            path = os.path.join(folder, "job.json")
            with open(path, "w") as out:
                json.dump(job_of(store, settings, len(self.options.cores), output), out)
            command = [self.troupe, "run", path, "--", self.take, str(self.options.epochs + 1)]
            outputs, others = self.machine.run([command], 1800)
            with open(os.path.join(output, "report.json")) as file:
                report = json.load(file)
        seconds, (processor, nodes, edges) = epochs_of(outputs[0])
        median = statistics.median(seconds[1:])
        return {
            "ms_per_batch": round(1e3 * median, 3),
            "processor_ms_per_batch": round(processor / settings["hosts"], 3),
            "edges_per_batch": round(edges),
            "nodes_per_batch": round(nodes),
            "m_edges_s": round(edges / median / 1e6, 2),
            "rows_gb_s": round(nodes * graph["columns"] * 4 / median / 1e9, 3),
            "peak_mib": round(report["hardware"]["peak_memory_bytes"] / 2**20),
            "copied_mib": round(report["store_copied_bytes"] / 2**20),
            "scratch_mib": round(report["scratch_bytes"] / 2**20, 1),
            "other_cpu": others,
        }

    def sweep(self, name):
        for graph, differing in SWEEPS[name]:
            graph = scaled(graph, self.options.scale)
            settings = {**SETTINGS, **differing}
            settings["batch"] = min(settings["batch"], graph["seeds"])
            shown = {"sweep": name, **graph, **settings, "threads": len(self.options.cores)}
            try:
                self.results.add("point", **shown, **self.point(graph, settings))
            except (Failed, subprocess.CalledProcessError) as failed:
                self.results.add("failed", **shown, reason=str(failed))
            if graph["nodes"] != scaled(BASE, self.options.scale)["nodes"]:
                self.graphs.drop(graph)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True, help="release build with -DTROUPE_BUILD_BENCH=ON")
    parser.add_argument("--data", required=True, help="folder for graphs (12 GB at most)")
    parser.add_argument("--out", required=True, help="the result file, replaced")
    parser.add_argument("--only", default=",".join(SWEEPS), help="comma-separated")
    parser.add_argument("--cores", type=lambda text: [int(core) for core in text.split(",")], default=[0, 1])
    parser.add_argument("--epochs", type=int, default=3, help="after one to warm up")
    parser.add_argument("--scale", type=float, default=1, help="of the nodes, to try it")
    parser.add_argument("--keep", action="store_true", help="keep the graphs; else those of 10^6 nodes alone stay until the end")
    options = parser.parse_args()
    unknown = set(options.only.split(",")) - set(SWEEPS)
    if unknown:
        parser.error(f"--only: expected some of {', '.join(SWEEPS)}, got {', '.join(sorted(unknown))}")
    os.makedirs(options.data, exist_ok=True)
    results = Results(options.out)
    results.add("about", **about(os.path.realpath(options.build)), cores=options.cores, epochs=options.epochs, scale=options.scale)
    growth = Growth(options, results)
    for name in options.only.split(","):
        growth.sweep(name)
    growth.graphs.drop(scaled(BASE, options.scale))


if __name__ == "__main__":
    main()
