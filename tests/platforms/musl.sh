# musl on x86-64: zig's clang with the musl and the libc++ that it brings (musl-gcc has no C++ library). The tests run by
# Debian's musl; a program with all in it needs nothing. musl-arm64.sh does the same for arm64.
if [ "$platform" = musl ]; then
  require musl
  processor=x86_64
  target="x86_64-linux-musl -mcpu=baseline+evex512" # as Highway 1.0 knows AVX-512; alone that enables nothing
  strip=strip
fi
zig $target
headers
toolchain Linux "$processor" "$work/bin/cc" "$work/bin/c++" "$work/bin/ar"
configure -DCMAKE_CXX_FLAGS=-D_LARGEFILE64_SOURCE # for stat64 of spdlog 1.10
if [ "$mode" = release ]; then
  release "linux-musl-$processor" "$strip" dl4_local
  return
fi
compile dl4_tool base_tests golden_tests

# Emulated, these take a minute; they are the same code on every processor, which the fast tests run.
long_texts=
if [ "$mode" ]; then
  long_texts=Json.MutatedTexts*:Json.MemoryIs*:Json.LargeTexts*:Json.TimeIsLinear*
  left_out "$long_texts" "run.sh $platform runs them"
fi
begin "published sums" verify
begin base gtest base "-$long_texts"
begin goldens gtest golden
finish
if [ "$mode" ]; then
  left_out "static programs, the wheel" "run.sh $platform makes them"
  return
fi

compile dl4_static dl4_local

# A C program that has all of libdl4 in it, as pkg-config says how: static_program NAME ARGUMENT...
static_program() {
  local name=$1
  shift
  cmake --install "$build" --component dev --prefix "$work/installed" >/dev/null
  "$work/bin/cc" -static -Os -s "capi/examples/$name.c" -o "$work/$name" -I"$prefix/include" \
    $(PKG_CONFIG_LIBDIR=$work/installed/lib/pkgconfig pkg-config --static --cflags --libs dl4) -L"$prefix/lib"
  (cd "$work" && "${emulator[@]}" "./$name" "$@") && echo "$(stat -c %s "$work/$name") bytes"
}

# The wheel's library, in a program of musl's that loads it.
wheel() {
  make_wheel "$strip" && site "musllinux_1_2_$processor" || return
  "$work/bin/cc" capi/examples/xor.c "$work/site/dl4/lib/libdl4.so.1" -o "$work/loading" -Iinclude &&
    LD_LIBRARY_PATH=$work/site/dl4/lib "${emulator[@]}" "$work/loading" && size_of "$work"/made/*.whl
}

check "xor, static" static_program xor
check "four_layers, static" static_program four_layers "$PWD/tests/data/fashion-mnist"
check "wheel" wheel
left_out "the wheel in Python" "Debian has none for musl"
left_out "the other rooms" "to be built by hand: compile ROOM_tests, run them in build/platforms/$platform/build/tests"
