#!/bin/sh
# CMake refuses by name what an option can't be:   refused_options.sh SOURCE FOLDER
source=$1 folder=$2

refused() { # SENTENCE CMAKE ARGUMENT...
  sentence=$1
  shift
  rm -rf "$folder"
  if cmake -G Ninja -S "$source" -B "$folder" "$@" >"$folder.log" 2>&1 || ! grep -qF "$sentence" "$folder.log"; then
    cat "$folder.log"
    echo "expected a refusal of $*: $sentence"
    exit 1
  fi
}

refused 'DL4_BACKENDS is full or own, not "none"' -DDL4_BACKENDS=none
if command -v clang++ >/dev/null; then
  refused 'DL4_LTO needs GCC; the compiler is Clang' -DDL4_LTO=ON -DCMAKE_CXX_COMPILER=clang++
else
  echo "skipped: no clang++ to refuse DL4_LTO with"
fi
