#!/usr/bin/env python3
"""Cut, balance and time of METIS by pymetis: k-way, one try per seed, on the neighbor lists of a graph store."""

import argparse
import glob
import importlib.metadata
import os
import statistics
import time

import numpy
import pymetis

import common


def neighbor_lists(store):
    (folder,) = glob.glob(os.path.join(store, "edges-*", "in"))
    return numpy.load(os.path.join(folder, "offsets.npy")).astype(numpy.int64), numpy.load(
        os.path.join(folder, "neighbours.npy")
    ).astype(numpy.int64)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", required=True, help="graph store of one type, symmetric, without loops and parallels")
    parser.add_argument("--parts", type=int, required=True)
    parser.add_argument("--imbalance", type=float, default=1.03)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()

    offsets, neighbors = neighbor_lists(options.store)
    nodes = len(offsets) - 1
    ends = numpy.repeat(numpy.arange(nodes), numpy.diff(offsets))
    tries = []
    for seed in range(options.seeds):
        settings = pymetis.Options(seed=seed, ncuts=1, ufactor=round(1000 * (options.imbalance - 1)))
        began = time.perf_counter()
        _, assigned = pymetis.part_graph(options.parts, xadj=offsets, adjncy=neighbors, recursive=False, options=settings)
        seconds = time.perf_counter() - began
        part = numpy.asarray(assigned)
        cut = float((part[ends] != part[neighbors]).mean())
        balance = float(numpy.bincount(part, minlength=options.parts).max() * options.parts / nodes)
        tries.append((cut, balance, seconds))
    cuts, balances, seconds = zip(*tries)
    common.print_result(
        cut_percent=round(100 * statistics.median(cuts), 4),
        cut_percent_of_seeds=[round(100 * cut, 4) for cut in cuts],
        largest_part=round(max(balances), 4),
        seconds=round(statistics.median(seconds), 3),
        entries=len(neighbors),
        versions={"pymetis": importlib.metadata.version("pymetis")},
    )


if __name__ == "__main__":
    main()
