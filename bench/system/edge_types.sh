#!/usr/bin/env bash
# Sampling along one edge type and along four: one thread, 600,000 nodes of one type, lists of 40 edges each. Then along one and along
# 474 with as many edges in all: fb15k237 with its reverses, and a random graph of its size, where nearly each list has one edge. All
# edges of two hops from 256 seeds, and training steps of R-GCN on them.
#   bench/system/edge_types.sh BUILD FOLDER FB15k-237.tar.gz [ROUNDS]
# BUILD is a folder of the release preset with benchmarks; FOLDER gets the graphs (2.5 GB), once. ONLY=many leaves out four types.
set -euo pipefail
usage="usage: edge_types.sh BUILD FOLDER FB15k-237.tar.gz [ROUNDS]"
build=$(realpath "${1:?$usage}")
folder=${2:?$usage}
archive=$(realpath "${3:?$usage}")
rounds=${4:-2}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$folder"
cd "$folder"

schema() { # TYPES NODES EDGES
  local types=() k
  for ((k = 0; k < $1; ++k)); do
    types+=("\"e$k\": {\"source\": \"n\", \"destination\": \"n\", \"edges\": $3}")
  done
  echo "{\"classes\": 4, \"node_types\": {\"n\": {\"count\": $2, \"features\": 16, \"labels\": true}},"
  echo "\"edge_types\": {$(IFS=,; echo "${types[*]}")},"
  echo "\"splits\": {\"\": {\"nodes\": \"n\", \"train\": $(($2 / 10)), \"val\": 10, \"test\": 10}}}"
}

make_parts() { # NAME TYPES NODES EDGES
  [ ! -d "$1" ] || return 0
  schema "$2" "$3" "$4" >"$1.json"
  "$build"/launcher/troupe generate heterogeneous "$1-store" --schema "$1.json" >&2
  "$build"/launcher/troupe partition "$1-store" "$1" --parts 1 >&2
  rm -r "$1-store"
}

measure() { # ONLY LINE TYPES PARTS FANOUT [SETTING...]
  local only=$1 line=$2 types=$3 parts=$4 fanout=$5
  shift 5
  "$build"/bench/troupe_bench "$here/data_path.json" --only "$only" --set "dataset.path=$PWD/$parts" --set "sample.fanout=$fanout" \
    --set model.layers=2 --set eval.mode=sampled "$@" 2>/dev/null | sed -n "s/^$line/$types edge types, fanout $fanout: &/p"
}

import_fb15k237() {
  [ ! -d fb474 ] || return 0
  "${PYTHON:-python3}" "$here/fb15k237_types.py" "$archive" fb
  local name
  for name in one:fb1 many:fb474; do
    "$build"/launcher/troupe import "fb/${name%:*}.json" fb-store >&2
    "$build"/launcher/troupe partition fb-store "${name#*:}" --parts 1 >&2
    rm -r fb-store
  done
}

fanouts=("[15,10]" "[10,5]")
[ "${ONLY:-}" != many ] || fanouts=()
for types in 1 4; do
  [ ${#fanouts[@]} -eq 0 ] || make_parts types$types $types 600000 24000000
done
make_parts few1 1 14541 544230
make_parts few474 474 14541 1148
import_fb15k237
for ((round = 1; round <= rounds; ++round)); do
  for fanout in "${fanouts[@]}"; do
    for types in 1 4; do
      measure kernels 'one thread: sampling' $types types$types "$fanout"
    done
  done
  few=(--set sample.batch_size=256 --set model.kind=rgcn --set model.hidden=64)
  for types in 1 474; do
    for graph in few fb; do
      # Five batches an epoch: three epochs are over in 30 ms.
      measure kernels 'one thread:' "$graph, $types" $graph$types '[-1,-1]' "${few[@]}" --epochs 200
      measure training 'training step' "$graph, $types" $graph$types '[-1,-1]' "${few[@]}"
    done
  done
done
