# x86-64 with glibc, the build with our kernels alone: of it are the packages of most languages and Debian's. Its tests
# are those of packages.sh, where they are installed.
require g++ cmake ninja-build pkg-config libhwy-dev libspdlog-dev $tool_packages binutils dpkg-dev patchelf \
  python3-dev python3-numpy lintian advancecomp unzip
equipped
: >"$work/toolchain.cmake"
mode=release

# The library that needs glibc alone.
configure -DCMAKE_INSTALL_PREFIX=/opt/dl4 -DCMAKE_INSTALL_LIBDIR=lib \
  "-DCMAKE_SHARED_LINKER_FLAGS=$(older_glibc gcc)"
compile dl4_layers_header
release linux-x86_64 strip dl4_local

# The one that takes all from Debian.
configure -DCMAKE_INSTALL_PREFIX=/usr -UCMAKE_INSTALL_LIBDIR -DCMAKE_SHARED_LINKER_FLAGS=
compile all
# Python's module takes all from the interpreter and is linked with nothing.
debs() {
  bash cmake/debian.sh "$build" "$work/made" "$work"/made/dl4-*.whl &&
    lintian --allow-root --fail-on error,warning --suppress-tags shared-library-lacks-prerequisites "$work"/made/*.deb &&
    for package in "$work"/made/*.deb; do size_of "$package"; done | paste -sd ' '
}
check "Debian packages" debs
