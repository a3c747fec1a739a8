#!/usr/bin/env bash
# Trains for long on real processes (placement server_client) while a random one is killed again and
# again, and says whether digests are those of an undisturbed run and memory stayed flat.
#   tests/soak/soak.sh PROGRAM EPOCHS [SECONDS_BETWEEN_KILLS] [-- SETTINGS for --set...]
# PROGRAM is `troupe`. Exit code 0: both hold. Ends by itself after 3 hours at most.
set -euo pipefail

program=$(realpath "$1")
epochs=$2
pause=${3:-20}
shift $(($# < 3 ? $# : 3))
[ "${1:-}" != -- ] || shift
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
settings=(--set "train.epochs=$epochs" --set eval.every=0 --set log_every=0 --set checkpoint.every.steps=50
  --set cluster.hosts=2 --set partition.parts=2 --set cluster.threads=1)
for setting in "$@"; do
  settings+=(--set "$setting")
done
longest=$((3 * 3600))

run() { # OUTPUT SETTINGS...: its process id in $run_pid
  local output=$1
  shift
  TROUPE_SOAK=$folder timeout -s KILL "$longest" "$program" run "$root/examples/quickstart.json" --set "output=$output" \
    "${settings[@]}" "$@" >"$output.log" 2>&1 &
  run_pid=$!
}

digests() { tr -d ' \n' <"$1/report.json" | grep -o '"digests":{[^}]*}'; }

# Lines "PID RSS_KIB NAME" of the agents' and servers' and ranks' processes of the run.
processes() {
  local dir
  for dir in /proc/[0-9]*; do
    cat "$dir/environ" 2>/dev/null | tr '\0' '\n' | grep -x "TROUPE_SOAK=$folder" >/dev/null || continue
    cat "$dir/cmdline" 2>/dev/null | tr '\0' '\n' | awk -v pid="${dir#/proc/}" '
      /^--name$/ { getline; name = $0 }
      END { if (name != "") print pid, name }' | while read -r pid name; do
      echo "$pid $(awk '/^VmRSS/ { print $2 }' "/proc/$pid/status" 2>/dev/null || echo 0) $name"
    done
  done
}

echo "soak: $epochs epochs, a kill every $pause s, output in $folder"
run "$folder/calm" --set cluster.launch=simulate # beside the other; it has the data ready first
calm_pid=$run_pid
while kill -0 "$calm_pid" 2>/dev/null && ! grep -q '^epoch\|^{' "$folder/calm.log"; do
  sleep 0.2
done
run "$folder/disturbed" --set cluster.launch=local --set cluster.placement=server_client --set cluster.servers=2 \
  --set cluster.heartbeat=0.2 --set cluster.lost_after=1.5
began=$SECONDS
kills=0
next=$((SECONDS + pause))
while kill -0 "$run_pid" 2>/dev/null; do
  sleep 2
  list=$(processes)
  echo "$list" | awk -v t=$((SECONDS - began)) 'NF > 2 { print t, $2, $3, $4, $5, $6 }' >>"$folder/memory"
  if [ $SECONDS -ge $next ] && [ -n "$list" ]; then
    victim=$(echo "$list" | shuf -n 1)
    if kill -9 "${victim%% *}" 2>/dev/null; then
      kills=$((kills + 1))
      echo "$((SECONDS - began)) s: killed ${victim#* * }"
    fi
    next=$((SECONDS + pause))
  fi
done
code=0
wait "$run_pid" || code=$?
lasted=$((SECONDS - began))
wait "$calm_pid"

# The largest sum of all processes' memory in the second and in the last quarter.
sums=$(awk -v all="$lasted" '
  { sum[$1] += $2 }
  END {
    for (t in sum) {
      if (t >= all / 4 && t < all / 2 && sum[t] > second) second = sum[t]
      if (t >= all * 3 / 4 && sum[t] > last) last = sum[t]
    }
    print int(second / 1024), int(last / 1024)
  }' "$folder/memory")
second=${sums% *}
last=${sums#* }
verdict=0
[ "$code" -eq 0 ] || { echo "soak: the run ended with exit code $code"; tail -5 "$folder/disturbed.log"; exit 1; }
[ "$(digests "$folder/calm")" = "$(digests "$folder/disturbed")" ] && same=same || { same=OTHER; verdict=1; }
[ "$last" -le $((second + second / 10 + 4)) ] && flat=flat || { flat=GROWING; verdict=1; }
left=$(processes)
[ -z "$left" ] || { echo "soak: left: $left"; verdict=1; }
echo "soak: $lasted s, $kills kills, $(grep -c 'is lost' "$folder/disturbed.log") losses told; digests $same;" \
  "memory of all processes $second MiB in the second quarter, $last MiB in the last: $flat"
exit $verdict
