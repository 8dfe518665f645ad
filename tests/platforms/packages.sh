# Packages of the build with our kernels alone, for x86-64 and glibc. Each is installed without a network in a root that
# has its language and nothing else, and trains XOR there.
[ "$(id -u)" = 0 ] || { echo "$platform: mounting and changing roots is root's" >&2; exit 1; }
require g++ cmake ninja-build pkg-config libhwy-dev libspdlog-dev $tool_packages binutils patchelf \
  python3-dev python3-numpy debootstrap lintian zip advancecomp

root=$PWD
made=$work/made
full=$root/build/release # of the two commands
pool=$work/pool          # of packages that are not ours
rm -rf "$made"
mkdir -p "$made" "$pool" "$work/bin"
. /etc/os-release

# ---- Roots -----------------------------------------------------------------------------------------------------------

# beneath NETWORK FOLDER LOWER COMMAND...: in a root that is LOWER, and in FOLDER what is written.
beneath() {
  local network=$1 folder=$2 lower=$3
  shift 3
  mkdir -p "$folder"/{upper,work,root}
  unshare -m $network bash -c '
    set -e
    mount -t overlay overlay -o "lowerdir=$1,upperdir=$0/upper,workdir=$0/work" "$0/root"
    mkdir -p "$0/root/made" "$0/root/source"
    mount --bind "$2" "$0/root/made"
    mount --bind "$3" "$0/root/source"
    mount -t proc proc "$0/root/proc"
    shift 3
    exec chroot "$0/root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
  ' "$folder" "$lower" "$made" "$root" "$@"
}

# A root with these packages of Debian's: root_of NAME PACKAGE...
root_of() {
  local folder=$work/roots/$1
  shift
  if [ ! -d "$work/base/etc" ]; then
    say "debootstrap"
    debootstrap --variant=minbase "$VERSION_CODENAME" "$work/new" >"$work/log/debootstrap" &&
      cp /etc/resolv.conf "$work/new/etc" && mv "$work/new" "$work/base"
  fi
  if [ "$(cat "$folder/packages" 2>/dev/null)" != "$*" ]; then
    say "a root with $*"
    rm -rf "$folder"
    beneath "" "$folder" "$work/base" sh -c "apt-get -qq update &&
      DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $* && apt-get clean" \
      >"$work/log/root" 2>&1 || { tail "$work/log/root"; exit 1; }
    echo "$*" >"$folder/packages"
  fi
}

# in_root NAME SCRIPT: in a fresh one, without a network; /made has the packages, /source this repository.
in_root() {
  rm -rf "$work/tried"
  beneath -n "$work/tried" "$work/roots/$1/upper:$work/base" sh -ec "$2"
}

# ---- The library -----------------------------------------------------------------------------------------------------

# The one that needs glibc alone.
portable() {
  configure "${options[@]}" "-DCMAKE_SHARED_LINKER_FLAGS=$(older_glibc gcc)"
  compile dl4
  mkdir -p "$work/portable"
  python3 capi/bindings/python/wheel.py "$build" "$made"
  advzip -q -z -3 "$made"/dl4-*.whl # deflated better than zlib does
  unzip -oqj "$made"/dl4-*.whl dl4/lib/libdl4.so.1 -d "$work/portable"
}

options=(-DCMAKE_INSTALL_PREFIX=/usr -DDL4_BUILD_TESTS=OFF -DDL4_BUILD_EXAMPLES=OFF)
: >"$work/toolchain.cmake"
portable
configure "${options[@]}" -DCMAKE_SHARED_LINKER_FLAGS=
compile all
export DL4_LIBRARY=$work/portable/libdl4.so.1 # describes itself to what is generated of it

# ---- Python ----------------------------------------------------------------------------------------------------------

wheel() {
  in_root python '
    python3 -m venv --system-site-packages /v
    /v/bin/pip -q install --no-index --find-links /made dl4
    /v/bin/python /source/capi/bindings/python/examples/xor.py
    /v/bin/python /source/capi/bindings/python/tests/test_lives.py Lives.test_the_interpreter_ends_while_a_daemon_thread_trains
    /v/bin/python -c "import dl4; print(open(\"/proc/self/maps\").read())" |
      grep -q "/dl4/lib/libdl4.so.1"' &&
    size_of "$made"/dl4-*.whl
}

extra() {
  python3 capi/bindings/python/wheel.py --full "$full" "$made" && in_root python '
    python3 -m venv --system-site-packages /v
    /v/bin/pip -q install --no-index --find-links /made "dl4[full]"
    /v/bin/python /source/capi/bindings/python/examples/xor.py
    /v/bin/python -c "import dl4; print(open(\"/proc/self/maps\").read())" |
      grep -q "/dl4_full/lib/libdl4.so.1"' &&
    size_of "$made"/dl4_full-*.whl
}

root_of python python3-venv python3-numpy
check "wheel" wheel
if [ -f "$full/libdl4.so.1" ]; then
  check "wheel dl4-full" extra
else
  left_out "wheel dl4-full" "there is no build/release of the two commands"
fi

# ---- Debian ----------------------------------------------------------------------------------------------------------

debs() {
  bash cmake/debian.sh "$build" "$made" || return
  lintian --allow-root --fail-on error,warning --info "$made"/*.deb || return
  in_root c '
    dpkg -i /made/*.deb
    cc -std=c99 /source/capi/examples/xor.c -o /xor $(pkg-config --cflags --libs dl4)
    /xor
    cc -std=c99 /source/capi/examples/xor.c -o /xor $(pkg-config --cflags dl4) \
      "/usr/lib/$(gcc -print-multiarch)/libdl4.a" -lstdc++ -lm
    dpkg -r libdl4-dev dl4 libdl4-1
    /xor
    [ -z "$(find /usr -name "*dl4*")" ]' || return
  for package in "$made"/*.deb; do size_of "$package"; done | paste -sd ' '
}
root_of c g++ pkg-config libc6-dev libpng16-16
check "Debian packages" debs

# ---- Node.js ---------------------------------------------------------------------------------------------------------

npm_package() {
  rm -rf "$work/npm"
  mkdir -p "$work/npm/lib/native/linux-x64"
  cp -r capi/bindings/node/{package.json,types.js,README.md,lib,examples} "$work/npm"
  cp "$work/portable/libdl4.so.1" "$work/npm/lib/native/linux-x64"
  local module=build/platforms/wasm/build/capi/bindings/node
  [ ! -f $module/dl4.wasm ] || cp $module/dl4.{mjs,wasm} "$work/npm/lib"
  [ -n "$(ls "$pool"/koffi-*.tgz 2>/dev/null)" ] ||
    (cd "$pool" && npm pack --loglevel=error koffi@3 "@koromix/koffi-linux-x64@3") || return
  # What the types are generated with.
  npm install --prefix "$work/koffi" --offline --no-save --ignore-scripts --no-audit --no-fund --loglevel=error \
    "$pool"/*.tgz || return
  ln -s "$work/koffi/node_modules" "$work/npm"
  (cd "$work/npm" && npm pack --loglevel=error --pack-destination "$made") || return
  cp "$pool"/*.tgz "$made"
  in_root node '
    mkdir /p && cd /p && npm init -y >/dev/null
    npm install --offline --ignore-scripts --no-audit --no-fund /made/dl4-*.tgz /made/koffi-*.tgz /made/koromix-*.tgz
    cp /source/capi/bindings/node/examples/xor.js /p/xor.mjs
    node xor.mjs 2>&1' && size_of "$made"/dl4-*.tgz
}
if command -v npm >/dev/null; then
  root_of node nodejs npm
  check "npm package" npm_package
else
  left_out "npm package" "there is no npm"
fi

# ---- Java ------------------------------------------------------------------------------------------------------------

jar_with_natives() {
  bash capi/bindings/java/build.sh "$work/java" || return
  mkdir -p "$work/java/with/natives/linux-x86_64"
  cp "$work/portable/libdl4.so.1" "$work/java/with/natives/linux-x86_64"
  cp "$work/java/dl4.jar" "$made"
  jar --update --file "$made/dl4.jar" -C "$work/java/with" natives
  in_root java '
    java -cp /made/dl4.jar:/usr/share/java/jna.jar /source/capi/bindings/java/examples/Xor.java
    [ -z "$(find /tmp -name "libdl4*")" ]' && size_of "$made/dl4.jar"
}
if command -v jar >/dev/null; then
  root_of java openjdk-17-jdk-headless libjna-java
  check "jar" jar_with_natives
else
  left_out "jar" "there is no JDK"
fi

# ---- Rust and Go, which link with what libdl4-dev installs -----------------------------------------------------------

crates() {
  CARGO_TARGET_DIR=$work/cargo cargo package --quiet --workspace --no-verify --allow-dirty \
    --manifest-path capi/bindings/rust/Cargo.toml || return
  mkdir -p "$made/crates"
  local file
  for file in "$work"/cargo/package/*.crate; do
    tar xzf "$file" -C "$made/crates"
    echo '{"files":{}}' >"$made/crates/$(basename "$file" .crate)/.cargo-checksum.json"
    cp "$file" "$made"
  done
  in_root rust '
    dpkg -i /made/libdl4-*.deb
    mkdir -p /p/.cargo /p/src && cd /p
    printf "%s\n" "[source.crates-io]" "replace-with = \"made\"" "[source.made]" "directory = \"/made/crates\"" \
      >.cargo/config.toml
    printf "%s\n" "[package]" "name = \"p\"" "version = \"0.1.0\"" "edition = \"2021\"" "[dependencies.dl4]" \
      "version = \"1\"" >Cargo.toml
    cp /source/capi/bindings/rust/dl4/examples/xor.rs src/main.rs
    cargo run --offline --quiet
    printf "features = [\"static\"]\n" >>Cargo.toml
    cargo build --offline --quiet
    dpkg -r libdl4-dev libdl4-1
    target/debug/p' && size_of "$made"/dl4-1*.crate
}

module() {
  local path=dl4.invalid/dl4 version=v1.0.0
  local folder=$made/go/$path/@v
  rm -rf "$work/go"
  mkdir -p "$folder" "$work/go/$path@$version"
  cp -r capi/bindings/go/. LICENSE "$work/go/$path@$version"
  (cd "$work/go" && zip -qr "$folder/$version.zip" "$path@$version")
  cp capi/bindings/go/go.mod "$folder/$version.mod"
  echo $version >"$folder/list"
  echo "{\"Version\": \"$version\"}" >"$folder/$version.info"
  in_root go "
    dpkg -i /made/libdl4-*.deb
    mkdir /p && cd /p
    export GOPROXY=file:///made/go GOSUMDB=off GOFLAGS=-mod=mod
    go mod init example
    go get $path@$version
    cp /source/capi/bindings/go/examples/xor/main.go .
    go run ." && size_of "$folder/$version.zip"
}
if command -v cargo >/dev/null; then
  root_of rust cargo rustc g++ pkg-config
  check "crates" crates
else
  left_out "crates" "there is no cargo"
fi
root_of go golang-go gcc libc6-dev pkg-config
check "Go module" module

left_out "wheels for arm64, musl, Windows" "made by run.sh arm64, musl, windows"
