#!/usr/bin/env python3
"""Batches per second on one core, on two, and by two processes on a core each, which shows what the machine allows.

    bench/system/cores.py --build build/release --data DATA --cores 0,1 --out bench/results/cores_DATE.jsonl

The R-MAT graph of bench/peers (made under DATA where it is not there), fanout [15, 10, 5], batches of 1024 seeds, every node of a
batch draws at each hop. Batches travel through Troupe's actors to a program that trains nothing. By turns in each round, sampling
alone and with rows.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from machine import Failed, Machine, Results, about, last_line  # noqa: E402

NODES, EDGES, SEEDS = 2449029, 61859140, 65536
IN_FLIGHT = ["auto", 4, 8]


def graph(troupe, data):
    """The store in one part."""
    store, parts = os.path.join(data, "cores-store"), os.path.join(data, "cores-parts")
    if not os.path.exists(store):
        words = ["--nodes", NODES, "--edges", EDGES, "--symmetrize", "--features", 100, "--classes", 47, "--train", SEEDS]
        subprocess.run([troupe, "generate", "rmat", store, *map(str, words), "--labels", "random", "--seed", "1"], check=True)
    if not os.path.exists(parts):
        subprocess.run([troupe, "partition", store, parts, "--parts", "1"], check=True)
    return parts


class Rates:
    def __init__(self, build, parts, epochs):
        self.troupe = os.path.join(build, "launcher", "troupe")
        self.take = os.path.join(build, "bench", "troupe_take")
        self.parts, self.epochs = parts, epochs

    def of(self, cores, rows, in_flight):
        """Batches per second of one process for each of `cores`, side by side, and the load of others."""
        with tempfile.TemporaryDirectory() as folder:
            commands = []
            for i, own in enumerate(cores):
                job = {
                    "dataset": {"path": self.parts},
                    "cluster": {"batches_in_flight": in_flight, "samplers_per_trainer": 1, "threads": len(own.split(","))},
                    "sample": {"fanout": [15, 10, 5], "batch_size": 1024, "frontier": "all"},
                    "features": {"collect": rows},
                    "train": {"epochs": 1},
                    "eval": {"every": 0, "predictions": False},
                    "digest": "off",
                    "seed": 1,
                    "output": os.path.join(folder, f"run-{i}"),
                }
                path = os.path.join(folder, f"job-{i}.json")
                with open(path, "w") as out:
                    json.dump(job, out)
                commands.append([self.troupe, "run", path, "--", self.take, str(self.epochs + 1)])
            outputs, others = Machine([]).run(commands, 240, cores)
        return [self._median(output) for output in outputs], others

    @staticmethod
    def _median(output):
        found = re.findall(r"rank 0 epoch \d+: \d+ batches in .*? = ([0-9.]+) batches/s", output)
        if len(found) < 2:
            raise Failed(f"no epochs: {last_line(output)}")
        return statistics.median(float(rate) for rate in found[1:])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--data", required=True, help="folder for the graph, 4 GB")
    parser.add_argument("--cores", default="0,1", help="two cores")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=4, help="of 64 batches, after one that does not count")
    parser.add_argument("--out", required=True, help="the result file, replaced")
    options = parser.parse_args()
    build = os.path.realpath(options.build)
    rates = Rates(build, graph(os.path.join(build, "launcher", "troupe"), options.data), options.epochs)
    first, second = options.cores.split(",")
    results = Results(options.out)
    results.add("about", **about(build), graph="R-MAT", nodes=NODES, edges=2 * EDGES)
    for rows in (False, True):
        for _ in range(options.rounds):
            (one,), others = rates.of([first], rows, 1)
            (other,), more = rates.of([second], rows, 1)
            apart, most = rates.of([first, second], rows, 1)
            line = {"rows": rows, "one": one, "the_other": other, "a_process_on_each": apart}
            mean = (one + other) / 2
            for in_flight in IN_FLIGHT:
                (both,), load = rates.of([options.cores], rows, in_flight)
                line[f"both_{in_flight}"] = both
                line[f"times_{in_flight}"] = round(both / mean, 2)
                most = max(most, load)
            line["times_apart"] = round(sum(apart) / mean, 2)
            results.add("round", **line, other_cpu=max(others, more, most))


if __name__ == "__main__":
    main()
