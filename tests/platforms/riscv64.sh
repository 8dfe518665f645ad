# riscv64 on Linux: Debian's cross compiler and qemu. The kernels are compiled without vectors.
installed g++-riscv64-linux-gnu qemu-user-static
emulator=(qemu-riscv64-static -L /usr/riscv64-linux-gnu)
headers
toolchain Linux riscv64 riscv64-linux-gnu-gcc riscv64-linux-gnu-g++ riscv64-linux-gnu-ar
configure
compile dl4 dl4_tool base_tests
check verify verify
check base gtest base
