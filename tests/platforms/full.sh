# x86-64 with glibc, OpenBLAS and oneDNN: of the build of the two commands the wheel dl4-full. That build's tests are
# those of `cmake/test.sh`.
require $build_packages binutils patchelf python3-numpy
equipped
build dl4
full() {
  rm -rf "$work/made"
  python3 capi/bindings/python/wheel.py --full build/release "$work/made" && size_of "$work"/made/*.whl
}
check "wheel dl4-full" full
