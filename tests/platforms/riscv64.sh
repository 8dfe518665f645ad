# RISC-V (rv64gc) on Linux: Debian's cross compiler, and qemu. The kernels are those of four floats that the compiler
# makes of loops: Highway's for RVV are of vectors without a size, which no array holds.
debian 13 trixie "whose GCC 14 makes no mistakes in these loops"
require g++-riscv64-linux-gnu qemu-user
emulator=(qemu-riscv64 -L /usr/riscv64-linux-gnu)
headers
toolchain Linux riscv64 riscv64-linux-gnu-gcc riscv64-linux-gnu-g++ riscv64-linux-gnu-ar
configure
compile dl4 dl4_static dl4_tool base_tests golden_tests
check "portable is refused" refused \
  '"reproducible": expected a processor with a mode that takes denormal numbers for 0 for "portable", got'
check base gtest base
check goldens gtest golden
left_out "kernels_tests" "more than ten minutes of one core under qemu"
left_out "the other rooms" "to be built by hand: compile ROOM_tests, run them by qemu"
