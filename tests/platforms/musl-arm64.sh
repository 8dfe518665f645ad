# musl on arm64: what musl.sh does, by qemu with Debian's musl for arm64.
require qemu-user-static binutils-aarch64-linux-gnu
emulator=(qemu-aarch64-static -L "$(foreign arm64 musl)")
processor=aarch64
target=aarch64-linux-musl
strip=aarch64-linux-gnu-strip
. "$here/musl.sh"
