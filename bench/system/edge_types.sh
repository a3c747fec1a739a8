#!/usr/bin/env bash
# Sampling along one edge type and along four: one thread, 600,000 nodes of one type, lists of 40 edges each.
#   bench/system/edge_types.sh BUILD FOLDER [ROUNDS]
# BUILD is a folder of the release preset with benchmarks; FOLDER gets the graphs (2.5 GB), once.
set -euo pipefail
build=$(realpath "${1:?usage: edge_types.sh BUILD FOLDER [ROUNDS]}")
folder=${2:?usage: edge_types.sh BUILD FOLDER [ROUNDS]}
rounds=${3:-2}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$folder"
cd "$folder"

schema() { # TYPES
  local types=() k
  for ((k = 0; k < $1; ++k)); do
    types+=("\"e$k\": {\"source\": \"n\", \"destination\": \"n\", \"edges\": 24000000}")
  done
  echo "{\"classes\": 4, \"node_types\": {\"n\": {\"count\": 600000, \"features\": 16, \"labels\": true}},"
  echo "\"edge_types\": {$(IFS=,; echo "${types[*]}")},"
  echo '"splits": {"": {"nodes": "n", "train": 60000, "val": 10, "test": 10}}}'
}

for types in 1 4; do
  [ ! -d "types$types" ] || continue
  schema $types >"types$types.json"
  "$build"/launcher/troupe generate heterogeneous "store$types" --schema "types$types.json" >&2
  "$build"/launcher/troupe partition "store$types" "types$types" --parts 1 >&2
  rm -r "store$types"
done
for ((round = 1; round <= rounds; ++round)); do
  for fanout in '[15,10]' '[10,5]'; do
    for types in 1 4; do
      "$build"/bench/troupe_bench "$here/data_path.json" --only kernels --set "dataset.path=$PWD/types$types" \
        --set "sample.fanout=$fanout" --set model.layers=2 --set eval.mode=sampled 2>/dev/null |
        sed -n "s/^one thread: sampling/$types edge types, fanout $fanout:/p"
    done
  done
done
