#!/usr/bin/env python3
"""Compares the training steps of two builds by turns.

    compare_steps.py OLD NEW STORE [--pairs 30]

OLD and NEW are troupe_bench programs, STORE a partitioned store of one node type with features and
training seeds. Each pair runs both programs, in alternating order. Prints medians and the quartiles of
new / old, whose spread is the noise of this machine.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import tempfile

JOB = pathlib.Path(__file__).parent / "data_path.json"
THREADS = 2


def steps(program: str, store: str, folder: str) -> dict:
    out = pathlib.Path(folder) / "result.json"
    subprocess.run(
        [program, JOB, "--set", f"dataset.path={store}", "--only", "training", "--epochs", "1",
         "--threads", str(THREADS), "--out", out],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return {run["threads"]: run for run in json.loads(out.read_text())["training"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("store")
    parser.add_argument("--pairs", type=int, default=30)
    arguments = parser.parse_args()
    programs = {"old": arguments.old, "new": arguments.new}
    runs = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as folder:
        for pair in range(arguments.pairs):
            for name in sorted(programs, reverse=pair % 2 == 0):
                runs[name].append(steps(programs[name], arguments.store, folder))
    for threads in (1, THREADS):
        times = {name: [run[threads]["step_ms"]["median"] for run in of]
                 for name, of in runs.items()}
        ratios = [new / old for new, old in zip(times["new"], times["old"])]
        low, middle, high = statistics.quantiles(ratios, n=4)
        print(f"{threads} threads: old {statistics.median(times['old']):.1f} ms, "
              f"new {statistics.median(times['new']):.1f} ms, new / old {middle:.3f} "
              f"({low:.3f} to {high:.3f}), {arguments.pairs} pairs")
    last = runs["new"][-1][1]
    print(f"new, 1 thread: {last['products_gf']:.2f} GF of products, alone at "
          f"{last['product_gf_s']['median']:.0f} GF/s = {100 * last['share_of_products']:.0f} % of "
          f"the step; aggregation alone {last['aggregate_gb_s']['median']:.1f} GB/s")


if __name__ == "__main__":
    main()
