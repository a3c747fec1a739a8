#!/usr/bin/env python3
"""Writes the training triples of fb15k237 for `troupe import --from npy`: many.json with an edge type and its reverse for each relation,
one.json with all edges and their reverses as one type. Nodes have 16 random features and 4 random classes, a tenth of them is for training.

    bench/system/fb15k237_types.py FB15k-237.tar.gz FOLDER
"""
import json
import pathlib
import sys
import tarfile

import numpy as np


def main():
    archive, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as tar:
        name = next(n for n in tar.getnames() if n.endswith("train.txt"))
        triples = [line.split() for line in tar.extractfile(name).read().decode().splitlines() if line.strip()]
    entities, relations = {}, {}
    heads, kinds, tails = [], [], []
    for head, relation, tail in triples:
        heads.append(entities.setdefault(head, len(entities)))
        kinds.append(relations.setdefault(relation, len(relations)))
        tails.append(entities.setdefault(tail, len(entities)))
    ends, kinds = np.array([heads, tails]), np.array(kinds)
    random = np.random.default_rng(0)
    nodes = len(entities)
    order = random.permutation(nodes)
    roles = {"train": order[: nodes // 10], "val": order[nodes // 10 : nodes // 5], "test": order[nodes // 5 : nodes // 4]}
    for role, ids in roles.items():
        np.save(folder / f"{role}.npy", ids)
    np.save(folder / "x.npy", random.standard_normal((nodes, 16), dtype=np.float32))
    np.save(folder / "y.npy", random.integers(0, 4, nodes))
    np.save(folder / "all.npy", ends)
    for kind in range(len(relations)):
        np.save(folder / f"r{kind}.npy", np.ascontiguousarray(ends[:, kinds == kind]))

    def write(name, edge_types):
        job = {
            "node_types": {"n": {"count": nodes, "features": "x.npy", "labels": "y.npy"}},
            "edge_types": {t: {"source": "n", "destination": "n", **of_type} for t, of_type in edge_types.items()},
            "splits": {"": {role: {"n": f"{role}.npy"} for role in roles}},
        }
        (folder / name).write_text(json.dumps(job))

    write("one.json", {"e": {"edges": "all.npy", "symmetrize": True}})
    write("many.json", {f"r{k}": {"edges": f"r{k}.npy", "reverse_edges": True} for k in range(len(relations))})


if __name__ == "__main__":
    main()
