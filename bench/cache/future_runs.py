#!/usr/bin/env python3
"""Rows from other hosts in real runs with a cache that knows the future, beside one that keeps the hottest rows.

  bench/cache/future_runs.py [--troupe build/release/launcher/troupe] [--folder DIR] [--graphs rmat powerlaw cora]
                             [--ahead 8 32 128] [--percent 5 10] [--in-flight 4]

Two simulated hosts with a part each (assigned at random, ordered by hotness), three epochs, of which the last one counts;
generated graphs of 100,000 nodes, 1 M edges and 20,000 seeds, fanouts 10, 10. All runs of a graph and batch must have the
digest of batches of the run without a cache. Prints a table in Markdown: rows that are not on the host, those that each
policy leaves to be read from there, and their share of what `hotness` leaves.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

GENERATED = ["--nodes", "100000", "--edges", "1000000", "--features", "4", "--classes", "2", "--train", "20000",
             "--val", "100", "--test", "100"]


def data_of(graph, troupe, folder):
    if graph == "cora":
        return pathlib.Path(__file__).resolve().parents[2] / "examples/data/cora"
    path = folder / graph
    if not path.exists():
        subprocess.run([troupe, "generate", graph, path] + GENERATED, check=True, stdout=subprocess.DEVNULL)
    return path


def run(troupe, folder, graph, data, batch_size, in_flight, settings):
    job = {
        "dataset": {"path": str(data)},
        "partition": {"parts": 2, "method": "random", "order": "hotness"},
        "cluster": {"hosts": 2, "batches_in_flight": in_flight},
        "sample": {"fanout": [10, 10], "batch_size": batch_size},
        "features": {"cache": settings},
        "model": {"hidden": 4, "layers": 2},
        "train": {"epochs": 3},
        "eval": {"every": 0},
        "output": str(folder / f"runs-{graph}"),
    }
    path = folder / "job.json"
    path.write_text(json.dumps(job))
    subprocess.run([troupe, "run", path, "--overwrite"], check=True, stdout=subprocess.DEVNULL)
    report = json.loads((folder / f"runs-{graph}" / "report.json").read_text())
    return report["digests"]["batches"], report["epochs"][-1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--troupe", default="build/release/launcher/troupe", type=pathlib.Path)
    parser.add_argument("--folder", type=pathlib.Path)
    parser.add_argument("--graphs", nargs="+", default=["rmat:64", "rmat:512", "powerlaw:64", "powerlaw:512", "cora:32"])
    parser.add_argument("--percent", type=float, nargs="+", default=[5, 10])
    parser.add_argument("--ahead", type=int, nargs="+", default=[8, 32, 128])
    parser.add_argument("--in-flight", type=int, default=4)
    arguments = parser.parse_args()
    folder = arguments.folder or pathlib.Path(tempfile.mkdtemp(prefix="troupe-future-"))
    folder.mkdir(exist_ok=True)
    print("| graph, batch, room | rows elsewhere | `hotness` leaves | " +
          " | ".join(f"`future`, {ahead} ahead" for ahead in arguments.ahead) + " |")
    print("|---|--:|--:|" + "--:|" * len(arguments.ahead))
    for which in arguments.graphs:
        graph, batch_size = which.split(":")
        data = data_of(graph, arguments.troupe, folder)
        def one(settings):
            return run(arguments.troupe, folder, graph, data, int(batch_size), arguments.in_flight, settings)
        digest, plain = one({"policy": "none"})
        for percent in arguments.percent:
            left = []
            for settings in [{"policy": "hotness"}] + [{"policy": "future", "lookahead": n} for n in arguments.ahead]:
                of_run, epoch = one(settings | {"ratio": percent / 100})
                if of_run != digest:
                    raise SystemExit(f"{which}, {settings}: other batches than without a cache")
                left.append(epoch["rows_remote"])
            shares = " | ".join(f"{rows} ({rows / max(left[0], 1):.2f})" for rows in left[1:])
            print(f"| {graph}, {batch_size}, {percent:g} % | {plain['rows_remote']} | {left[0]} | {shares} |", flush=True)


if __name__ == "__main__":
    main()
