#!/usr/bin/env python3
"""Rows that a cache with knowledge of the coming batches leaves to read, beside the best fixed rows.

  bench/cache/future.py [--ranks 2] [--ahead 8 32 0] [--percent 5 10 20] EPOCH_FOLDER...

Each folder holds one epoch as `troupe batches --epoch E` writes it; the last one is measured, those before it warm the
cache. Nodes are spread over the ranks by a hash; rank 0's batches read those of the others. `fixed`: the rows that the
measured epoch reads most often, which no policy that keeps the same rows can beat. Columns with a number of batches: before
each batch the cache holds, of the rows it had and those of the batch before, the ones that are read again first, as far as
so many batches are known (0: all); rows that none of them reads are kept by how often they were read. Needs NumPy.
"""
import argparse
import json
import pathlib

import numpy as np

NEVER = 2**40


def remote_reads(folder, rank, ranks):
    """[batches of the rank] original ids of the rows that it reads elsewhere."""
    count = len(list(folder.glob("batch-*")))
    for number in range(rank, count, ranks):
        for ids in sorted(folder.glob(f"batch-{number}/nodes-*/ids.npy"))[:1]:
            nodes = np.load(ids).astype(np.int64)
            owner = (nodes * 0x9E3779B1 >> 16) % ranks
            yield nodes[owner != rank]


def next_reads(batches, nodes):
    """[batch][row] the next batch that reads the row."""
    last = np.full(nodes, NEVER)
    result = [None] * len(batches)
    for number in range(len(batches) - 1, -1, -1):
        result[number] = last[batches[number]].copy()
        last[batches[number]] = number
    return result


def missed(batches, next_read, nodes, room, ahead, first_measured):
    cached = np.zeros(nodes, bool)
    known = np.full(nodes, NEVER)
    reads = np.zeros(nodes, np.int64)
    misses = 0
    for number, batch in enumerate(batches):
        if number >= first_measured:
            misses += np.count_nonzero(~cached[batch])
        known[batch] = next_read[number]
        reads[batch] += 1
        cached[batch] = True
        rows = np.flatnonzero(cached)
        when = known[rows]
        if ahead:
            when = np.where(when > number + ahead, NEVER, when)
        kept = rows[np.lexsort((-reads[rows], when))[:room]]
        cached[:] = False
        cached[kept] = True
    return misses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("epochs", nargs="+", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--ahead", type=int, nargs="+", default=[8, 32, 0])
    parser.add_argument("--percent", type=float, nargs="+", default=[5, 10, 20])
    arguments = parser.parse_args()
    epochs = [list(remote_reads(folder, 0, arguments.ranks)) for folder in arguments.epochs]
    batches = [batch for epoch in epochs for batch in epoch]
    nodes = int(max(batch.max() for batch in batches)) + 1
    next_read = next_reads(batches, nodes)
    measured = epochs[-1]
    counts = np.zeros(nodes, np.int64)
    for batch in measured:
        counts[batch] += 1
    for percent in arguments.percent:
        room = int(nodes * percent / 100)
        fixed = int(counts.sum() - np.sort(counts)[::-1][:room].sum())
        left = {ahead: missed(batches, next_read, nodes, room, ahead, len(batches) - len(measured))
                for ahead in arguments.ahead}
        print(json.dumps({"percent": percent, "batches": len(measured), "reads": int(counts.sum()), "fixed": fixed,
                          "ahead": {str(ahead): int(rows) for ahead, rows in left.items()},
                          "of_fixed": {str(ahead): round(float(rows) / max(fixed, 1), 3) for ahead, rows in left.items()}}))


if __name__ == "__main__":
    main()
