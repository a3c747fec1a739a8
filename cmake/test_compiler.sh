#!/usr/bin/env bash
# test_compiler.sh CLANG GXX COMMAND ...: runs the command, a compilation with GXX, with CLANG in its place and without the
# options that only g++ knows. CMake 3.25 has one compiler per language; this is the launcher of targets that have another.
set -euo pipefail
clang=$1 gxx=$2
shift 2
words=() before='' output='' header=0
for word in "$@"; do
  case $word in
    "$gxx") word=$clang ;;
    # libgomp is linked: pragmas of OpenMP are left out, as if there was one thread.
    -fopenmp | -fpch-preprocess | --param=* | -Wshadow=local | -Wno-subobject-linkage) continue ;;
    c++-header) header=1 ;;
  esac
  [ "$before" != -o ] || output=$word
  before=$word
  words+=("$word")
done
if [ "$header" = 1 ]; then
  rm -f "$output" # clang would read the one of before
  words+=(-Xclang -fno-pch-timestamp)
fi
exec "${words[@]}" -Wno-unused-command-line-argument -Wno-unknown-pragmas
