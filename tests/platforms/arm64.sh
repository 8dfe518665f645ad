# arm64 on Linux: Debian's cross compiler, and qemu, which runs NEON.
installed g++-aarch64-linux-gnu qemu-user-static
emulator=(qemu-aarch64-static -L /usr/aarch64-linux-gnu)
headers
toolchain Linux aarch64 aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ aarch64-linux-gnu-ar
configure
compile dl4 dl4_tool base_tests
check verify verify
check base gtest base
