#!/usr/bin/env bash
# Checks a device, or measures on it; from the bundle of gpu_bundle.sh, or from a build folder.
#   bench/gpu_check.sh correct [--device cuda|cuda:N|emulated:1] [--build BUILD] [--out FOLDER] [--work FOLDER]
#     tests on the device, equal runs, batches of the CPU, ranks, kill and resume, compute-sanitizer: at most 4 minutes
#   bench/gpu_check.sh speed [the same options]
#     sampling, gathering, training steps and whole runs on graphs made here, beside the device's limits: at most 8 minutes
#   bench/gpu_check.sh large [the same options]
#     epochs on a graph of 28 M nodes and 404 M edges made here: 45 GB in FOLDER of --work, at most 5 minutes
# Writes gpu_MODE_DATE.json and .md to FOLDER. Exit code 1: a check failed. What was not run, and what is short
# of its aim, is marked so.
set -euo pipefail
[ $# -ge 1 ] || {
  sed -n '2,10s/^# \{0,1\}//p' "$0" >&2
  exit 2
}
exec python3 -B "$(dirname "${BASH_SOURCE[0]}")/gpu/check.py" "$@"
