#!/usr/bin/env bash
# One line for the head of a result file: commit, program, processor, cores, flags of the build, date.
#   bench/about.sh BUILD
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
flags=$(grep -E '^(CMAKE_BUILD_TYPE|TROUPE_OPTIMIZE|TROUPE_PROCESSOR):' "$1/CMakeCache.txt" | sed 's/:[A-Z]*=/=/' | paste -sd' ')
echo "# commit $(git -C "$root" rev-parse --short HEAD), $("$1/launcher/troupe" --version)," \
  "$(grep -m1 'model name' /proc/cpuinfo | sed 's/.*: //'), $(nproc) cores, $flags, $(date +%F)"
