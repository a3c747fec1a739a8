"""Batches that travel through Troupe's actors to a program that trains nothing: the job, the command, its rates."""

import json
import os
import re

from machine import Failed, last_line

RMAT = {"nodes": 2449029, "edges": 61859140}  # ogbn-products' size, once symmetrized
SEEDS = 65536
FANOUT = [15, 10, 5]
BATCH = 1024


def rmat_words(divisor=1):
    """Options of `troupe generate rmat` for the graph, or one so many times smaller."""
    words = ["--nodes", RMAT["nodes"] // divisor, "--edges", RMAT["edges"] // divisor, "--symmetrize"]
    words += ["--features", 100, "--classes", 47, "--train", SEEDS, "--seed", 1]
    return [str(word) for word in words]


def write_job(path, store, frontier, replace, setting, output, **sections):
    """Writes a job file with `sections` over what all have. Returns its path.

    setting  batches in flight, samplers, threads
    """
    in_flight, samplers, threads = setting
    job = {
        "dataset": {"path": store},
        "cluster": {"batches_in_flight": in_flight, "samplers_per_trainer": samplers, "threads": threads},
        "sample": {"fanout": FANOUT, "batch_size": BATCH, "frontier": frontier, "replace": replace},
        "model": {"kind": "graphsage", "layers": 3, "hidden": 256},
        "train": {"epochs": 1},
        "eval": {"every": 0, "predictions": False},
        "digest": "off",
        "seed": 1,
        "output": output,
    }
    for section, values in sections.items():
        job.setdefault(section, {}).update(values)
    with open(path, "w") as out:
        json.dump(job, out)
    return path


def take_words(build, epochs):
    """What follows `troupe run JOB`: the program, for so many epochs after the first, which does not count."""
    return ["--", os.path.join(build, "bench", "troupe_take"), str(epochs + 1)]


def epochs_of(output, rank=0):
    """Batches per second of each epoch of a rank; edges and rows of a batch."""
    found = re.findall(rf"rank {rank} epoch \d+: \d+ batches in .*? = ([0-9.]+) batches/s;.*?; (\d+) nodes, (\d+) edges per batch", output)
    if not found:
        raise Failed(f"no epochs: {last_line(output)}")
    return [float(rate) for rate, _, _ in found], int(found[-1][2]), int(found[-1][1])
