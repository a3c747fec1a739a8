#!/usr/bin/env bash
# Python environments of the systems that Troupe is measured against, in FOLDER/torch21 and FOLDER/glt (8 GB).
#   bench/peers/setup.sh FOLDER [PYG_LIB PARALLEL_HASHMAP]
# PYG_LIB and PARALLEL_HASHMAP are folders with the sources of pyg-team/pyg-lib 0.4.0 and of greg7mdp/parallel-hashmap
# 01ea809, which it includes: the package index has no wheel of pyg-lib. Without them PyG is skipped by the measurements.
# Needs g++ and Python 3.11 (PYTHON names another). What cannot be installed is reported and left out.
set -uo pipefail
folder=${1:?usage: setup.sh FOLDER [PYG_LIB PARALLEL_HASHMAP]}
pyg_lib=${2:-}
hashmap=${3:-}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mkdir -p "$folder"
folder=$(realpath "$folder")
left_out=0

leave_out() { # NAME REASON
  echo "setup.sh: $1 is left out: $2" >&2
  left_out=1
}

environment() { # NAME: a virtual environment with the packages of requirements-NAME.txt
  [ -x "$folder/$1/bin/python" ] || "${PYTHON:-python3}" -m venv "$folder/$1" || return 1
  "$folder/$1/bin/pip" install --quiet --requirement "$here/requirements-$1.txt"
}

site_packages() { "$folder/$1/bin/python" -c 'import site; print(site.getsitepackages()[0])'; }

# The processor's part of pyg-lib, without its METIS: libpyg.so beside the package.
build_pyg_lib() {
  local site torch include flags
  site=$(site_packages torch21) || return 1
  [ -f "$site/libpyg.so" ] && return
  torch=$site/torch
  include=$("$folder/torch21/bin/python" -c 'import sysconfig; print(sysconfig.get_paths()["include"])')
  rm -rf "$folder/pyg-lib"
  cp -r "$pyg_lib" "$folder/pyg-lib" && mkdir -p "$folder/pyg-lib/objects" || return 1
  cd "$folder/pyg-lib" || return 1
  sed 's/@WITH_MKL_BLAS@/0/' pyg_lib/csrc/config.h.in >pyg_lib/csrc/config.h
  flags="-std=c++17 -O3 -DNDEBUG -fPIC -fopenmp -D_GLIBCXX_USE_CXX11_ABI=0 -DUSE_PYTHON -I. -I$(realpath "$hashmap") \
    -I$torch/include -I$torch/include/torch/csrc/api/include -I$include"
  find pyg_lib/csrc -name '*.cpp' ! -path '*partition*' | FLAGS=$flags xargs -P "$(nproc)" -I{} \
    sh -c 'g++ $FLAGS -c "{}" -o "objects/$(echo {} | tr / _).o"' || return 1
  g++ -shared -fopenmp -o libpyg.so objects/*.o -L"$torch/lib" -ltorch -ltorch_cpu -lc10 -ltorch_python \
    '-Wl,-rpath,$ORIGIN/torch/lib' || return 1
  mkdir -p "$site/pyg_lib"
  cp -r pyg_lib/*.py pyg_lib/ops pyg_lib/sampler pyg_lib/partition "$site/pyg_lib/" && cp libpyg.so "$site/"
}

# GLT without a GPU: torch 2.5 refuses torch.device(0), which GLT evaluates at its import, but takes the device by name.
install_glt() {
  environment glt || return 1
  "$folder/glt/bin/pip" install --quiet --no-deps graphlearn-torch==0.2.4 || return 1
  grep -rl 'torch.device(0)' "$(site_packages glt)/graphlearn_torch" --include=*.py |
    xargs -r sed -i "s/torch\.device(0)/torch.device('cuda', 0)/"
}

if environment torch21; then
  if [ -z "$pyg_lib" ] || [ -z "$hashmap" ]; then
    leave_out pyg-lib "no folders with its sources were given"
  else
    (build_pyg_lib) || leave_out pyg-lib "it was not built (above)"
  fi
else
  leave_out "DGL, GraphBolt, PyG and pymetis" "pip failed (above)"
fi
install_glt || leave_out GLT "pip failed (above)"
exit "$left_out"
