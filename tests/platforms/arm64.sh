# arm64 on Linux: Debian's cross compiler, and qemu, which runs NEON.
installed g++-aarch64-linux-gnu qemu-user-static
emulator=(qemu-aarch64-static -L /usr/aarch64-linux-gnu)
headers
toolchain Linux aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ aarch64-linux-gnu-ar
configure
compile dl4 dl4_static dl4_tool base_tests golden_tests kernels_tests
check "published sums" verify
check base gtest base
check goldens gtest golden
check "pooling" gtest kernels "Pool.*"
left_out "the other kernels" "kernels_tests takes more than ten minutes of one core under qemu"
left_out "the other rooms" "to be built by hand: compile ROOM_tests, run them by qemu"
