#!/usr/bin/env bash
# An epoch on a graph that no process may hold as a whole: four hosts of one machine, each with a part, a rank and a bound
# on its memory of a third of the store's bytes; then the same with a process killed in the middle, which must have the
# same digests.
#   bench/system/large_run.sh BUILD DATA OUT
# BUILD has the program (release); DATA gets the graph, once (14 GB, 32 GB while it is made); OUT is a text file, replaced.
# From the environment: NODES, EDGES (directed), COLUMNS (f16), SEEDS, CAP (bytes; else a third of the store), KILL_AT (the
# step after which host 2 is killed), SETTINGS (further KEY=VALUE for --set, separated by spaces).
# Bounds are memory groups of the kernel (cgroup v2 or v1), which count mapped files too and need root; without them nothing
# is bounded, and the output says so.
set -euo pipefail
usage="usage: large_run.sh BUILD DATA OUT"
build=$(realpath "${1:?$usage}")
mkdir -p "${2:?$usage}"
data=$(realpath "$2")
out=${3:?$usage}
nodes=${NODES:-28000000}
edges=${EDGES:-400000000}
columns=${COLUMNS:-128}
seeds=${SEEDS:-65536}
kill_at=${KILL_AT:-6}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
troupe=$build/launcher/troupe
parts=$data/large-$nodes-parts4
folder=$(mktemp -d)
read -ra settings <<<"${SETTINGS:-}"

say() { echo "$*" | tee -a "$out"; }

make_graph() {
  local began=$SECONDS
  "$troupe" generate rmat "$data/large-store" --nodes "$nodes" --edges $((edges / 2)) --symmetrize --features "$columns" \
    --feature-dtype f16 --classes 47 --train "$seeds" --seed 1 >&2
  say "generated in $((SECONDS - began)) s"
  began=$SECONDS
  "$troupe" partition "$data/large-store" "$parts" --parts 4 >&2
  say "partitioned in $((SECONDS - began)) s"
  rm -r "$data/large-store"
}

# ---- memory groups ----

groups=
make_groups() { # where they are, and the names of their files
  local at
  for at in /sys/fs/cgroup /sys/fs/cgroup/memory; do
    if [ -e "$at/cgroup.controllers" ] && grep -qw memory "$at/cgroup.controllers"; then
      echo +memory >"$at/cgroup.subtree_control" 2>/dev/null || continue
      limit=memory.max peak=memory.peak anonymous=anon
    elif [ -e "$at/memory.limit_in_bytes" ]; then
      limit=memory.limit_in_bytes peak=memory.max_usage_in_bytes anonymous=total_rss
    else
      continue
    fi
    mkdir "$at/troupe-large-$$" 2>/dev/null || continue
    groups=$at/troupe-large-$$
    [ "$limit" != memory.max ] || echo +memory >"$groups/cgroup.subtree_control"
    return
  done
}

remove_groups() { # of processes that have ended
  local group
  [ -n "$groups" ] || return 0
  for group in "$groups"/host-*; do
    [ ! -d "$group" ] || rmdir "$group"
  done
}

# The command runs in the group of host K.
inside() { # K COMMAND...
  local k=$1
  shift
  if [ -n "$groups" ]; then
    exec sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$groups/host-$k" "$@"
  fi
  exec "$@"
}

new_groups() {
  local k
  remove_groups
  [ -n "$groups" ] || return 0
  for k in 0 1 2 3; do
    mkdir "$groups/host-$k"
    echo "$cap" >"$groups/host-$k/$limit"
  done
  # Pages that lie in memory already would count for nobody.
  sync
  find "$parts" -type f -exec dd if={} iflag=nocache count=0 status=none \;
}

# ---- runs ----

trap 'kill -9 $(jobs -p) 2>/dev/null || true; wait; remove_groups; [ -z "$groups" ] || rmdir "$groups"; rm -r "$folder"' EXIT

keep_largest() { # NAME: anonymous bytes of the hosts, now and then
  local k
  [ -n "$groups" ] || return 0
  for k in 0 1 2 3; do
    awk -v name="$anonymous" -v k="$k" '$1 == name { print k, $2 }' "$groups/host-$k/memory.stat" >>"$folder/$1.memory"
  done
}

run() { # NAME KILL: an epoch; with KILL 1 the process of host 2 is killed after a step
  local name=$1 kill_it=$2 output=$folder/$1 token=$folder/$1.token killed='' director k agents=() began=$SECONDS
  local words=("$root/bench/system/large_run.json" --set "dataset.path=$parts" --set "output=$output" --set "cluster.token_file=$token")
  for k in "${settings[@]}"; do words+=(--set "$k"); done
  new_groups
  "$troupe" run "${words[@]}" >"$folder/$name.log" 2>&1 &
  director=$!
  until [ -s "$token" ] && grep -q "waiting for" "$folder/$name.log"; do
    kill -0 "$director" 2>/dev/null || { cat "$folder/$name.log"; exit 1; }
    sleep 0.1
  done
  for k in 0 1 2 3; do
    (inside "$k" "$troupe" join "${words[@]}" --director 127.0.0.1:7070 --token-file "$token" --host-rank "$k") >"$folder/$name.host-$k" 2>&1 &
    agents+=($!)
  done
  while kill -0 "$director" 2>/dev/null; do
    keep_largest "$name"
    if [ "$kill_it" = 1 ] && [ -z "$killed" ] && grep -q "step *$kill_at/" "$folder/$name.log"; then
      # The agent of host 2 has one process, with the part and the rank.
      killed=$(awk '{ print $1; exit }' /proc/"${agents[2]}"/task/*/children)
      kill -9 "$killed"
    fi
    sleep 0.5
  done
  wait "$director" || { tail -n 20 "$folder/$name.log" "$folder/$name".host-*; exit 1; }
  say "$name: $((SECONDS - began)) s with start and end; $(grep '^epoch 1.*seeds/s' "$folder/$name.log")"
  if [ "$kill_it" = 1 ]; then
    [ -n "$killed" ] || { say "$name: nobody was killed: no step $kill_at"; exit 1; }
    grep "is lost\|go back" "$folder/$name.log" | sed "s/^/  /" | tee -a "$out" || { say "$name: no line names the loss"; exit 1; }
  fi
  for k in 0 1 2 3; do
    [ -z "$groups" ] || say "  host $k: at most $(($(cat "$groups/host-$k/$peak") >> 20)) MiB of $((cap >> 20)) MiB, of it anonymous $(
      awk -v k="$k" '$1 == k && $2 > most { most = $2 } END { print int(most / 1048576) }' "$folder/$name.memory") MiB"
  done
  wait
}

digests() { tr -d ' \n' <"$folder/$1/report.json" | grep -o '"digests":{[^}]*}'; }

"$root/bench/about.sh" "$build" >"$out"
[ -d "$parts" ] || make_graph
bytes=$(du -sb "$parts" | cut -f1)
cap=${CAP:-$((bytes / 3))}
say "$nodes nodes, $edges edges, $columns columns of f16: $((bytes >> 20)) MiB in four parts, $seeds seeds"
make_groups
if [ -n "$groups" ]; then
  say "each host may have $((cap >> 20)) MiB, its agent and mapped files included"
else
  say "no memory groups can be made here: nothing is bounded"
fi
run undisturbed 0
run killed 1
say "undisturbed $(digests undisturbed)"
say "killed      $(digests killed)"
if [ "$(digests undisturbed)" != "$(digests killed)" ]; then
  say "THE DIGESTS DIFFER"
  exit 1
fi
say "the digests are equal"
