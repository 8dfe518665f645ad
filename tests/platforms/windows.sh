# Windows on x86-64: Debian's mingw-w64 with winpthreads, and Wine. The C++ library is linked statically: dl4.dll and
# programs need Windows alone.
require g++-mingw-w64-x86-64-posix
[ "$mode" ] || require wine64
export WINEPREFIX=$work/wine WINEPATH=Z:$build WINEDEBUG=-all
without_suffix .exe "$(command -v wine64 || echo /usr/lib/wine/wine64)"

headers
toolchain Windows x86_64 x86_64-w64-mingw32-gcc-posix x86_64-w64-mingw32-g++-posix x86_64-w64-mingw32-ar
configure -DCMAKE_EXE_LINKER_FLAGS=-static \
  "-DCMAKE_SHARED_LINKER_FLAGS=-static $(silent_terminate x86_64-w64-mingw32-gcc-posix)"
if [ "$mode" = release ]; then
  release windows-x86_64 x86_64-w64-mingw32-strip
  return
fi
rooms=(base graph io kernels ops plan train)
compile dl4 dl4_static dl4_tool article xor golden_tests "${rooms[@]/%/_tests}"

# The example in C, linked with the import library as a user links it.
imported() {
  x86_64-w64-mingw32-gcc-posix -std=c99 -Iinclude capi/examples/xor.c "$build/libdl4.dll.a" -o "$work/xor.exe" &&
    "${emulator[@]}" "$work/xor"
}

# With all of libdl4 in it.
static_program() {
  x86_64-w64-mingw32-gcc-posix -std=c99 -Os -s -DDL4_STATIC -Iinclude capi/examples/xor.c "$build/libdl4.a" \
    "$prefix/lib/libz.a" -static -lstdc++ -lm -lpthread -lssp -o "$work/static.exe" &&
    "${emulator[@]}" "$work/static" && size_of "$work/static.exe"
}

# In a Python for Windows, which Maven Central has. Wine 8 lacks what NumPy 2 asks of the C library, and gives
# Python no file to write to.
wheel() {
  make_wheel x86_64-w64-mingw32-strip && site win_amd64 "numpy<2" || return
  if [ ! -d "$work/python" ]; then
    mvn -q -B dependency:copy -DoutputDirectory="$work" \
      -Dartifact=org.bytedeco:cpython:3.11.3-1.5.9:jar:windows-x86_64 &&
      unzip -q "$work"/cpython-*.jar -d "$work/python" || return
  fi
  python examples/xor.py && size_of "$work"/made/*.whl
}

# A file of the binding's: python FILE [VARIABLE=VALUE]
python() {
  local folder=$work/python/org/bytedeco/cpython/windows-x86_64
  env -u DL4_LIBRARY PYTHONHOME="Z:$folder" PYTHONPATH="Z:$work/site;Z:$folder/lib" "${@:2}" \
    "${emulator[@]}" "$folder/python" "capi/bindings/python/$1" </dev/null 2>&1 | cat
}

check "the sums of dl4 verify" verify
check "the article's four layers" "${emulator[@]}" "$build/capi/examples/article"
check "C with the import library" imported
check "C with the static library" static_program
inexact=Math.ErrorsAreOfAFewUnitsInTheLastPlace:Math.AnglesAreReducedExactlyHoweverLarge:Math.EdgesAreThoseOfC
inexact+=:Unary.SpecialValues:Unary.Accuracy
for room in "${rooms[@]}"; do check "$room" gtest "$room" "-$inexact"; done
check goldens gtest golden
left_out "$inexact" "they compare with the C library's long double and sines of large numbers, which are not exact here"
left_out "the other rooms" "to be built by hand: compile ROOM_tests"
left_out "workers on one machine, fork, dlopen" "POSIX's"
if command -v mvn >/dev/null; then
  check "wheel" wheel
  for name in conformance cancel; do
    check "Python: $name" python "tests/test_$name.py" "DL4_LIBRARY=Z:$work/site/dl4/lib/dl4.dll"
  done
else
  left_out "wheel" "there is no Maven to get Python by"
fi
