# x86-64 of other types: the build of the two commands, which brings kernels of three instruction sets, by qemu.
need $build_packages $tool_packages $test_packages qemu-user-static
build dl4_tool -DDL4_BUILD_EXAMPLES=ON -DDL4_BUILD_TESTS=ON
build=$PWD/build/release
compile xor article

on() { emulator=(qemu-x86_64-static -cpu "$1"); } # qemu has no AVX-512
example() { (cd "$work" && "${emulator[@]}" "$build/capi/examples/$1"); }

on Haswell
check "AVX2: published sums" verify
on Nehalem # SSE4 and no fused operations
check "Nehalem: portable is refused" refused '"reproducible": expected a processor with fused multiply-add for "portable", got'
for name in xor article; do check "Nehalem: $name" example $name; done
on qemu64 # no SSE4
check "qemu64: the first context is refused" refused 'expected a processor with SSE4.2'
left_out "tests" "kernels_tests run on every instruction set that the processor has, under qemu they take too long"
left_out "AVX-512" "qemu does not know it; the two commands run it where the processor does"
