# Windows on x86-64: Debian's mingw-w64 with winpthreads, and Wine. The C++ library is linked statically: dl4.dll and the
# programs need Windows alone.
installed g++-mingw-w64-x86-64-posix wine64
export WINEPREFIX=$work/wine WINEPATH=Z:$build WINEDEBUG=-all
without_suffix .exe "$(command -v wine64 || echo /usr/lib/wine/wine64)"

headers
toolchain Windows x86_64 x86_64-w64-mingw32-gcc-posix x86_64-w64-mingw32-g++-posix x86_64-w64-mingw32-ar
configure -DCMAKE_SHARED_LINKER_FLAGS=-static -DCMAKE_EXE_LINKER_FLAGS=-static
compile dl4 dl4_tool article xor base_tests

# The example in C, linked with the import library as a user links it.
imported() {
  x86_64-w64-mingw32-gcc-posix -std=c99 -Iinclude capi/examples/xor.c "$build/libdl4.dll.a" -o "$work/xor.exe" &&
    "${emulator[@]}" "$work/xor"
}

check "the sums of dl4 verify" verify
check "the article's four layers" "${emulator[@]}" "$build/capi/examples/article"
check "C with the import library" imported
inexact=Math.ErrorsAreOfAFewUnitsInTheLastPlace:Math.AnglesAreReducedExactlyHoweverLarge:Math.EdgesAreThoseOfC
check "base tests" gtest base "-$inexact"
left_out "$inexact" "they compare with the C library's long double, which is not exact here"
left_out "tests of other rooms, goldens, the static library" "not built for Windows yet"
left_out "workers on one machine, fork, dlopen" "POSIX's"
left_out "Python" "Debian has none for Wine"
