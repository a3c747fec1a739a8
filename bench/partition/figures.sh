#!/usr/bin/env bash
# The figures of docs/partitioning.md: every command with its output, and what was measured on what.
#   bench/partition/figures.sh BUILD DATA SMALL [SECTION ...] >>bench/results/partitioning_DATE.txt
# BUILD is a release build with -DTROUPE_BUILD_BENCH=ON; DATA has the graphs that bench/peers/run.py makes (rmat, rmat8 and
# their stores, cnr2000, ego_twitter); SMALL has the folder amazon_computers of NumPy files. Sections: quality large order
# caches jobs speed; all of them by default.
set -euo pipefail
build=$(realpath "$1")
data=$(realpath "$2")
small=$(realpath "$3")
shift 3
sections=${*:-quality large order caches jobs speed}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -r "$scratch"' EXIT
troupe=$build/launcher/troupe

# Folders of this machine have short names in what is printed.
show() { sed -e "s#$build/launcher/##g; s#$build/bench/##g; s#$data/##g; s#$small/##g; s#$scratch/##g; s#$root/##g"; }
run() { # COMMAND...: the command and what it prints
  echo "\$ $*" | show
  "$@" 2>&1 | show
}

quality() {
  run "$troupe" import --from npy "$small/amazon_computers" "$scratch/amazon_computers"
  for graph in "$data/cnr2000" "$data/ego_twitter" "$scratch/amazon_computers"; do
    run "$build/bench/troupe_partition_bench" "$graph" --methods random,range,ldg,fennel,metis,multilevel \
      --parts 2,4,8 --passes 3,10 --imbalance 1.03
    run "$build/bench/troupe_partition_bench" "$graph" --methods ldg,metis --parts 4 --passes 10 \
      --imbalance 1.03 --balance edges
  done
}

large() {
  for method in metis multilevel fennel; do
    run "$troupe" partition "$data/rmat8-store" "$scratch/rmat8-$method" --parts 4 --method "$method" --threads 1 | large_lines
  done
  run "$troupe" partition "$data/rmat-store" "$scratch/rmat-fennel" --parts 4 --method fennel --threads 1 | large_lines
  rm -r "$scratch"/rmat*
}
large_lines() { grep -E '^\$|edges cut|peak memory'; }

order() {
  for order in original degree hotness; do
    run "$troupe" partition "$data/rmat-store" "$scratch/$order" --parts 1 --order "$order" --fanout 15,10,5 | large_lines
  done
  for round in 1 2; do
    for order in original degree hotness; do
      echo "\$ troupe_bench bench/system/data_path.json --set dataset.path=$order --only kernels   # round $round"
      "$build/bench/troupe_bench" "$root/bench/system/data_path.json" --set "dataset.path=$scratch/$order" \
        --set "partition.order=$order" --only kernels --epochs 2 --out "$scratch/kernels.json" >"$scratch/out" 2>&1 || cat "$scratch/out"
      jq -r '.kernels | "sampling \(.sample_us.median) us, of it drawing \(.draw_us.median) us, gathering \(.collect_us.median) us"' \
        "$scratch/kernels.json"
    done
  done
  rm -r "$scratch"/{original,degree,hotness}
}

caches() {
  run "$build/bench/troupe_cache_bench" "$data/rmat8-store" --fanout 15,10,5
  run "$troupe" hotness "$data/rmat-store" --fanout 15,10,5 --batch-size 1024
}

job() { # SETTINGS...: the last epoch of the quickstart, its test score and its batches
  local settings=()
  for setting in "$@"; do settings+=(--set "$setting"); done
  run "$troupe" run "$root/examples/quickstart.json" --set "output=$scratch/quickstart" --overwrite "${settings[@]}" |
    grep -E '^\$|^epoch 30/|^test|^batches'
}

jobs() {
  job partition.method=fennel
  job partition.method=fennel partition.halo=1 partition.halo_features=true
  job partition.method=fennel sample.seed_order=local
  job partition.method=fennel sample.seed_order=local partition.halo=1 partition.halo_features=true
  job partition.order=degree features.cache.policy=degree features.cache.budget=1MB features.cache.measure=true
  job features.cache.policy=presample features.cache.presample_batches=3 features.cache.budget=1MB features.cache.measure=true
  job partition.order=hotness features.cache.policy=hotness features.cache.budget=1MB features.cache.measure=true
  for ratio in 0.05 0.1 0.2; do
    job partition.order=hotness features.cache.policy=hotness "features.cache.ratio=$ratio" features.cache.measure=true
  done
  for budget in 0B 20KB 100KB; do
    job "sample.cache.budget=$budget"
    jq -c '.epochs[-1].remote_share_of_hops' "$scratch/quickstart/report.json"
  done
}

speed() {
  for cores in 0 0,1; do
    local threads=$((1 + (${#cores} > 1)))
    run taskset --cpu-list "$cores" "$troupe" import --from npy "$data/rmat" "$scratch/store" --threads "$threads" --memory 4GB
    for method in fennel ldg; do
      run taskset --cpu-list "$cores" "$troupe" partition "$scratch/store" "$scratch/parts" --parts 4 --method "$method" \
        --threads "$threads" | large_lines
      rm -r "$scratch/parts"
    done
    rm -r "$scratch/store"
  done
}

"$root/bench/about.sh" "$build"
for section in $sections; do
  echo
  echo "## $section"
  "$section"
done
