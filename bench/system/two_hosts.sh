#!/usr/bin/env bash
# Two hosts on one machine against one, each process kept to one core, by turns in one run; beside them the bound: two cores
# over the processor time of a batch on one host and of its bytes on a link.
#   bench/system/two_hosts.sh BUILD PARTS1 PARTS2 [ROUNDS]
# BUILD has the programs (-DTROUPE_BUILD_BENCH=ON, release); PARTS1 and PARTS2 are the graph in one and in two parts.
set -euo pipefail
build=$(realpath "$1")
parts1=$2
parts2=$3
rounds=${4:-3}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT

take() { # NAME SETTINGS...: appends what the ranks print
  local name=$1
  shift
  timeout -s KILL 300 "$build/launcher/troupe" run "$root/bench/system/two_hosts.json" --overwrite --set "output=$folder/out" "$@" -- \
    "$build/bench/troupe_take" 3 >>"$folder/$name" 2>&1
}

for _ in $(seq "$rounds"); do
  take one --set "dataset.path=$parts1" --set partition.parts=1 --set 'cluster.hosts=["one cores=0 threads=1"]' --set cluster.transport=tcp
  take tcp --set "dataset.path=$parts2" --set cluster.transport=tcp
  take ucx --set "dataset.path=$parts2" --set cluster.transport=ucx || echo "ucx: skipped: $(tail -1 "$folder/ucx")"
  "$build/bench/troupe_net_bench" --only "1 MiB" --repeats 5 --seconds 0.3 >>"$folder/links"
done

median() { sort -g | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }
# The first epoch fills the page cache.
column() { grep "epoch [12]:" "$folder/$1" | sed -E "s/.*$2.*/\1/" | median; }
rate='= ([0-9.]+) batches\/s'
cpu='; ([0-9.]+) ms of processor'
gigabytes() { grep "$1  " "$folder/links" | sed -E 's/.* ([0-9.]+) GB\/s.*/\1/' | median; }

one=$(column one "$rate")
one_cpu=$(column one "$cpu")
echo "one host, one core: $one batches/s, $one_cpu ms of processor per batch"
for transport in tcp ucx; do
  grep -q batches/s "$folder/$transport" || continue
  each=$(column "$transport" "$rate")
  used=$(column "$transport" "$cpu")
  # Every byte is sent by one core and received by the other, each of them busy.
  link=$(gigabytes "$([ $transport = tcp ] && echo endpoint || echo 'link over UCX')")
  batches=$(grep "epoch [012]:" "$folder/$transport" | sed -E 's/.*: ([0-9]+) batches in.*/\1/' | awk '{ n += $1 } END { print n }')
  grep -o "carried [0-9]* requests and [0-9.]* MB" "$folder/$transport" | awk -v n="$batches" -v each="$each" -v used="$used" -v one="$one_cpu" -v link="$link" -v t="$transport" '
    { requests += $2; megabytes += $5 }
    END {
      mb = megabytes / n
      moving = 2 * mb / link
      bound = 2000 / (one + moving)
      printf "two hosts, %s: %.1f batches/s together = %.2f of the bound %.1f (2 cores / (%.1f ms + %.1f MB at %.2f GB/s)); %.1f ms of processor, %.1f MB, %.1f requests per batch\n",
        t, 2 * each, 2 * each / bound, bound, one, mb, link, used, mb, requests / n
    }'
  grep -o "rank [01] epoch 1:\|maps .*" "$folder/$transport" | paste - - | grep "epoch 1" | sort -u | sed "s/^/  /"
done
