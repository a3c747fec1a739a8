#!/usr/bin/env python3
"""Batches per second on one core, on two, and by two processes on a core each, which shows what the machine allows.

    bench/system/cores.py --build build/release --data DATA --cores 0,1 --out bench/results/cores_DATE.jsonl

The R-MAT graph of bench/peers (made under DATA where it is not there), fanout [15, 10, 5], batches of 1024 seeds, every node of a
batch draws at each hop. Batches travel through Troupe's actors to a program that trains nothing. By turns in each round, sampling
alone and with rows.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from machine import Machine, Results, about  # noqa: E402
from taking import RMAT, epochs_of, rmat_words, take_words, write_job  # noqa: E402

IN_FLIGHT = ["auto", 4, 8]


def graph(troupe, data):
    """The store in one part."""
    store, parts = os.path.join(data, "cores-store"), os.path.join(data, "cores-parts")
    if not os.path.exists(store):
        subprocess.run([troupe, "generate", "rmat", store, "--labels", "random", *rmat_words()], check=True)
    if not os.path.exists(parts):
        subprocess.run([troupe, "partition", store, parts, "--parts", "1"], check=True)
    return parts


class Rates:
    def __init__(self, build, parts, epochs):
        self.build, self.parts, self.epochs = build, parts, epochs

    def of(self, cores, rows, in_flight):
        """Batches per second of one process for each of `cores`, side by side, and the load of others."""
        with tempfile.TemporaryDirectory() as folder:
            commands = []
            for i, own in enumerate(cores):
                setting = in_flight, 1, len(own.split(","))
                path, output = os.path.join(folder, f"job-{i}.json"), os.path.join(folder, f"run-{i}")
                job = write_job(path, self.parts, "all", False, setting, output, features={"collect": rows})
                commands.append([os.path.join(self.build, "launcher", "troupe"), "run", job] + take_words(self.build, self.epochs))
            outputs, others = Machine([]).run(commands, 240, cores)
        return [statistics.median(epochs_of(output)[0][1:]) for output in outputs], others


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
    results.add("about", **about(build), graph="R-MAT", nodes=RMAT["nodes"], edges=2 * RMAT["edges"])
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
