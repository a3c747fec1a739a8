#!/usr/bin/env bash
# Sampling by weight, by LABOR, in trees, as of a time and for links, and batches of more edges, beside uniform
# sampling: one thread, one host, one graph.
#   bench/system/samplers.sh BUILD FOLDER [ROUNDS]
# BUILD is a folder of the release preset with benchmarks; FOLDER gets the graph (2.9 GB), once. Needs NumPy.
set -euo pipefail
build=$(realpath "${1:?usage: samplers.sh BUILD FOLDER [ROUNDS]}")
folder=${2:?usage: samplers.sh BUILD FOLDER [ROUNDS]}
rounds=${3:-3}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$folder"
cd "$folder"

make_graph() { # R-MAT in both directions, weights log-normal, times uniform in [0, 2^30)
  "$build"/launcher/troupe generate rmat arrays --npy --nodes 600000 --edges 15000000 --symmetrize \
    --features 100 --classes 47 --train 60000 >&2
  "${PYTHON:-python3}" "$here/edge_columns.py" arrays
  for data in weights times both; do
    "$build"/launcher/troupe import --from npy "arrays/$data.json" "$data-store" >&2
    "$build"/launcher/troupe partition "$data-store" "$data" --parts 1 >&2
    rm -r "$data-store"
  done
  rm -r arrays
}
[ -d both ] || make_graph

measure() { # NAME STORE [KEY=VALUE...]
  local name=$1 store=$2
  shift 2
  "$build"/bench/troupe_bench "$here/data_path.json" --only kernels --set "dataset.path=$PWD/$store" \
    --set eval.mode=sampled "${@/#/--set=}" 2>/dev/null |
    sed -n "s/^one thread: sampling/$name:/p"
}

for ((round = 1; round <= rounds; ++round)); do
  echo "round $round"
  measure "uniform, a store with weights" weights
  measure "weighted" weights sample.choice=weighted
  measure "uniform with replacement" weights sample.replace=true
  measure "weighted with replacement" weights sample.choice=weighted sample.replace=true
  measure "labor" weights sample.choice=labor
  measure "edges both ways" weights sample.subgraph=bidirectional
  # Edges are those of the graph among the nodes of three hops.
  measure "induced" weights sample.subgraph=induced
  measure "uniform, a store with times" times
  measure "disjoint" times sample.disjoint=true
  measure "before the last time" times sample.time.at=1073741824
  measure "before the middle" times sample.time.at=536870912
  measure "in a window of three tenths" times sample.time.at=900000000 sample.time.window=322122547
  measure "by weight before the middle" both sample.choice=weighted sample.time.at=536870912
  measure "the most recent" times sample.time.at=1073741824 sample.choice=last
  # Of as many seeds: the ends of links are hubs more often, so compare the time of an edge.
  links=(task.kind=link sample.batch_size=341 task.negatives.kind=triplet)
  measure "links, nothing excluded" weights "${links[@]}" task.exclude=none
  measure "links" weights "${links[@]}"
  measure "links, strict negatives" weights "${links[@]}" task.negatives.strict=true
  measure "with ids and times of edges" times 'sample.edge_data=["ids", "times"]'
done
