# arm64 on Linux: Debian's cross compiler, and qemu, which runs NEON.
require g++-aarch64-linux-gnu qemu-user-static
emulator=(qemu-aarch64-static -L /usr/aarch64-linux-gnu)
headers
toolchain Linux aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ aarch64-linux-gnu-ar
configure "-DCMAKE_SHARED_LINKER_FLAGS=$(older_glibc aarch64-linux-gnu-gcc)"
if [ "$mode" = release ]; then
  release linux-aarch64 aarch64-linux-gnu-strip dl4_local
  return
fi
compile dl4_tool base_tests golden_tests

check "published sums" verify
check base gtest base
check goldens gtest golden
if [ "$mode" ]; then
  left_out "the wheel, tests of pooling" "run.sh arm64 makes them"
  return
fi

require debootstrap
compile dl4_static kernels_tests

# In Debian's Python for arm64. Of its root nothing is run but that, so it need not be configured.
python() {
  make_wheel aarch64-linux-gnu-strip && site manylinux_2_28_aarch64 || return
  local root=$work/root package release
  if [ ! -d "$root" ]; then
    release=$(. /etc/os-release && echo "$VERSION_CODENAME")
    debootstrap --foreign --arch=arm64 --variant=minbase --include=python3 "$release" "$work/new" || return
    for package in "$work"/new/var/cache/apt/archives/*.deb; do dpkg -x "$package" "$work/new"; done
    mv "$work/new" "$root"
  fi
  cp "$(command -v qemu-aarch64-static)" capi/bindings/python/examples/xor.py "$root"
  rm -rf "$root/site" && cp -r "$work/site" "$root" || return
  env -i PYTHONPATH=/site LC_ALL=C.UTF-8 "$(command -v chroot)" "$root" /qemu-aarch64-static /usr/bin/python3 /xor.py &&
    size_of "$work"/made/*.whl
}

check "pooling" gtest kernels "Pool.*"
if [ "$(id -u)" = 0 ]; then check "wheel" python; else left_out "wheel" "changing roots is root's"; fi
left_out "the other kernels" "kernels_tests takes more than ten minutes of one core under qemu"
left_out "the other rooms" "to be built by hand: compile ROOM_tests, run them by qemu"
