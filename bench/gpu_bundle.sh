#!/usr/bin/env bash
# Packs stripped programs for any x86-64 processor with AVX2, with the libraries that they need, for machines with a GPU that
# have none of our packages: build/gpu_bundle.tar.xz, to be unpacked with python3 -m tarfile -e. There: bench/gpu_check.sh.
#   bench/gpu_bundle.sh        builds in build/gpu_bundle; needs a CUDA compiler: ./bootstrap cuda compiler
#   PYTHON=PROGRAM bench/gpu_bundle.sh     with the Python package for the release of that Python, which has pybind11 as a package
# The other machine needs: a C library and libstdc++ as new as Debian 12's, a driver and cuBLAS of CUDA 13, Python 3.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
most_bytes=$((35 * 1000 * 1000))
build=build/gpu_bundle
bundle=$build/bundle

say() { printf 'gpu_bundle: %s\n' "$*"; }

python=()
if [ -n "${PYTHON:-}" ]; then
  include=$("$PYTHON" -c 'import pybind11; print(pybind11.get_include())')
  python=("-DPython3_EXECUTABLE=$(command -v "$PYTHON")" "-DTROUPE_PYBIND11_INCLUDE=$include")
fi

# RPATH instead of RUNPATH: it also reaches what libraries need. Goldens are read from the working folder.
cmake --preset release -B "$build" -DTROUPE_PROCESSOR=x86-64-v3 -DTROUPE_BUILD_TESTS=ON -DTROUPE_BUILD_BENCH=ON \
  -DTROUPE_TEST_DATA=. -DTROUPE_UCX=OFF -DTROUPE_METIS_METHOD=OFF \
  '-DCMAKE_BUILD_RPATH=$ORIGIN/../lib:$ORIGIN/../../lib' "${python[@]}" \
  -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags >"$build.log"
cuda=$(sed -n 's/^set(CMAKE_CUDA_COMPILER_VERSION "\(.*\)")/\1/p' "$build"/CMakeFiles/*/CMakeCUDACompiler.cmake 2>/dev/null) || true
[ -n "$cuda" ] || {
  say "expected a CUDA compiler, found none; try: ./bootstrap cuda compiler" >&2
  exit 1
}
cmake --build "$build" --target troupe gpu_tests troupe_gpu_stages ${PYTHON:+troupe_python} --parallel "${JOBS:-$(nproc)}"

rm -rf "$bundle"
mkdir -p "$bundle/bin" "$bundle/lib" "$bundle/bench/gpu" "$bundle/bench/peers" "$bundle/tests/goldens" "$bundle/examples/data"
for program in launcher/troupe tests/gpu/gpu_tests bench/troupe_gpu_stages; do
  strip -o "$bundle/bin/$(basename "$program")" "$build/$program"
done
if [ -n "${PYTHON:-}" ]; then
  mkdir -p "$bundle/python/troupe" "$bundle/tests/python" "$bundle/examples/python" "$bundle/examples/links"
  cp -L "$build"/python/troupe/*.{py,so} "$bundle/python/troupe/"
  strip "$bundle"/python/troupe/*.so
  cp tests/python/{run_tests,support,torch_device_test}.py "$bundle/tests/python/"
  cp examples/python/cora.json "$bundle/examples/python/"
  cp examples/links/cora.json "$bundle/examples/links/"
fi
# What ldd names, also for libraries, but the C library's own parts and the compiler's.
ldd "$bundle"/bin/* ${PYTHON:+"$bundle"/python/troupe/*.so} | awk '$2 == "=>" && $3 ~ /^\// { print $3 }' | sort -u |
  grep -v -E '/(libc|libm|libdl|librt|libpthread|libresolv|libstdc\+\+|libgcc_s|ld-linux[^/]*)\.so' |
  while read -r library; do
    cp -L "$library" "$bundle/lib/"
  done
strip --strip-unneeded "$bundle"/lib/*
cp bench/gpu_check.sh "$bundle/bench/"
cp bench/gpu/{check.py,igbh.json,speed.json} "$bundle/bench/gpu/"
cp bench/peers/common.py bench/peers/gpu_epoch.py "$bundle/bench/peers/"
cp examples/quickstart.json examples/local.json "$bundle/examples/"
cp -r examples/data/cora "$bundle/examples/data/"
mkdir "$bundle/examples/knowledge"
cp -r examples/knowledge/family.json examples/knowledge/family "$bundle/examples/knowledge/"
cp -r tests/goldens/batches "$bundle/tests/goldens/"
cp LICENSE NOTICE "$bundle/"
printf '{"commit": "%s", "changed": %s, "compiler": "%s", "nvcc": "%s", "processor": "x86-64-v3"}\n' \
  "$(git rev-parse --short HEAD)" "$(git diff --quiet HEAD -- && echo false || echo true)" \
  "$(c++ --version | head -n 1)" \
  "$cuda" >"$bundle/about.json"

tar -C "$bundle" -cJf "$build.tar.xz" .
size=$(stat -c %s "$build.tar.xz")
[ "$size" -le "$most_bytes" ] || {
  say "expected at most $most_bytes bytes, found $size" >&2
  exit 1
}
say "made $build.tar.xz, $size bytes: $(ls "$bundle/lib" | paste -sd ' ')"
