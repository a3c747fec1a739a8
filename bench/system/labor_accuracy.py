#!/usr/bin/env python3
"""Test accuracy and distinct nodes of a batch with uniform sampling and with LABOR, on an example job.

    bench/system/labor_accuracy.py --build build/release --out bench/results/labor_accuracy_DATE.jsonl

The same recipe and fanout, seeds 1 to N; exact evaluation after each epoch, test score of the first best validation epoch.
Nodes and edges of a batch are the mean over all batches of training.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from machine import ROOT, Results, about  # noqa: E402

CHOICES = {
    "uniform": [],
    "LABOR": ["sample.choice=labor"],
    "LABOR, one number for all hops": ["sample.choice=labor", "sample.shared=true"],
}


def run(troupe, job, settings):
    """The report of a run."""
    with tempfile.TemporaryDirectory() as folder:
        words = [troupe, "run", job, "--set", f"output={folder}/run"]
        for setting in settings:
            words += ["--set", setting]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "run", "report.json")) as file:
            return json.load(file)


def per_batch(report, key):
    epochs = report["epochs"]
    return sum(epoch[key] for epoch in epochs) / sum(epoch["batches"] for epoch in epochs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", required=True)
    parser.add_argument("--job", default=os.path.join(ROOT, "examples", "amazon_computers.json"))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="of all runs")
    parser.add_argument("--out", required=True, help="the result file, replaced")
    options = parser.parse_args()
    troupe = os.path.join(os.path.realpath(options.build), "launcher", "troupe")
    results = Results(options.out)
    name = os.path.basename(options.job)
    results.add("about", **about(os.path.realpath(options.build)), job=name, settings=options.set)
    print("| choice | test score, % | nodes of a batch | edges |\n|---|--:|--:|--:|", file=sys.stderr)
    for choice, settings in CHOICES.items():
        reports = [run(troupe, options.job, [f"seed={seed}"] + options.set + settings) for seed in range(1, options.seeds + 1)]
        metric = reports[0]["job"]["eval"].get("metric", "accuracy")
        tests = [round(100 * report["scores"]["test"][metric], 2) for report in reports]
        nodes, edges = (statistics.mean(per_batch(report, key) for report in reports) for key in ("nodes", "edges"))
        mean, sd = statistics.mean(tests), statistics.stdev(tests)
        results.add(
            "accuracy",
            choice=choice,
            settings=settings,
            test_mean=round(mean, 2),
            test_sd=round(sd, 2),
            tests=tests,
            nodes_per_batch=round(nodes),
            edges_per_batch=round(edges),
        )
        print(f"| {choice} | {mean:.2f} ± {sd:.2f} | {nodes:.0f} | {edges:.0f} |", file=sys.stderr)


if __name__ == "__main__":
    main()
