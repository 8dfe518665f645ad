#!/bin/bash -eu
# OSS-Fuzz: a fuzzer of each reader of files, with its seeds and the words that readers look for, in $OUT. The image has
# what cmake/packages.sh lists for the tests, zip and patchelf, and the sources in $SRC/libdl4.
cd "$SRC/libdl4"
# GoogleTest comes with the system's C++ library; libFuzzer's own is inside of it.
export CXXFLAGS=${CXXFLAGS//-stdlib=libc++/}
cmake -S . -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE=None -DDL4_FUZZ=ON -DDL4_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" \
  -DDL4_WERROR=OFF -DDL4_BUILD_TESTS=ON
cmake --build "$WORK/build" --target dl4_fuzz

fuzzer=$WORK/build/tests/dl4_fuzz
mkdir -p "$OUT/lib"
ldd "$fuzzer" | awk '$3 ~ /^\// && $1 !~ /^(libc|libm|libdl|librt|libpthread)\.so/ { print $3 }' |
  xargs -I{} cp -L {} "$OUT/lib"
for library in "$OUT"/lib/*; do patchelf --set-rpath '$ORIGIN' "$library"; done
for corpus in "$WORK"/build/tests/fuzz/*/; do
  reader=$(basename "$corpus")
  cp "$fuzzer" "$OUT/dl4_fuzz_$reader"
  patchelf --set-rpath '$ORIGIN/lib' "$OUT/dl4_fuzz_$reader"
  cp "$WORK/build/tests/fuzz/words" "$OUT/dl4_fuzz_$reader.dict"
  (cd "$corpus" && zip -qr "$OUT/dl4_fuzz_${reader}_seed_corpus.zip" .)
done
