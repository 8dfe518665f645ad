# Sourced by demo.sh, test.sh, release.sh and tests/platforms: installs the Debian packages that are missing, and builds.
#   need PACKAGE...    all present afterwards, or the script ends with their names
#   want PACKAGE...    all present afterwards, if that can be done
#   build TARGET ARGUMENT...  configures (with these CMake arguments) and builds the target in build/release
#   project_version           as CMake has it
#   tar_of FOLDER NAME FILE   FOLDER/NAME as a .tar.gz, the same bytes for the same files and commit

say() { printf '==> %s\n' "$*"; }

build_packages="g++ cmake ninja-build pkg-config libdnnl-dev libhwy-dev libspdlog-dev zlib1g-dev"
# Without these the command dl4, or what it does with pictures, is left out.
tool_packages="libcli11-dev nlohmann-json3-dev libpng-dev"
test_packages="libgtest-dev nlohmann-json3-dev"

present() { dpkg-query -W -f '${db:Status-Status}\n' "$1" 2>/dev/null | grep -q '^installed$'; }

# Any variant of OpenBLAS will do; libdl4 likes the OpenMP one best, for it is safe to call from many threads.
blas_present() {
  local variant
  for variant in libopenblas-openmp-dev libopenblas-pthread-dev libopenblas-serial-dev; do
    if present "$variant"; then return 0; fi
  done
  return 1
}

need() {
  local blas=()
  if ! command -v dpkg-query >/dev/null; then
    without_apt
    return
  fi
  blas_present || blas=(libopenblas-openmp-dev)
  installed "$@" "${blas[@]}"
}

# Installs those that are missing, or ends the script with their names.
installed() {
  local package missing=()
  for package in "$@"; do present "$package" || missing+=("$package"); done
  if [ ${#missing[@]} = 0 ]; then
    say "all packages are there"
    return
  fi
  if ! command -v apt-get >/dev/null; then
    say "missing, and there is no apt to install it: ${missing[*]}"
    exit 1
  fi
  local root=()
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { say "run me as root, or install: ${missing[*]}"; exit 1; }
    root=(sudo)
  fi
  say "installing ${missing[*]}"
  local apt=("${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o Dpkg::Use-Pty=0)
  "${apt[@]}" update
  "${apt[@]}" install --no-install-recommends -y "${missing[@]}" >/dev/null
}

want() {
  local package
  command -v dpkg-query >/dev/null || return 0
  for package in "$@"; do
    present "$package" && continue
    (need "$@") || say "going on without: $*"
    return
  done
}

# The other variants of OpenBLAS, unpacked in build/openblas for the tests. Installed, they would be everyone's default.
unpack_openblas_variants() {
  [ ! -d build/openblas ] && command -v apt-get >/dev/null || return 0
  mkdir -p build/openblas
  (cd build/openblas && apt-get -qq download libopenblas0-pthread libopenblas0-serial 2>/dev/null) ||
    say "going on without the other variants of OpenBLAS"
  local package
  for package in build/openblas/*.deb; do [ ! -f "$package" ] || dpkg -x "$package" build/openblas; done
}

# No Debian: look for the things themselves, name the packages they are in on Debian, go on if all are there.
without_apt() {
  local missing=() name
  for name in c++:g++ cmake:cmake ninja:ninja-build pkg-config:pkg-config; do
    command -v "${name%%:*}" >/dev/null || missing+=("${name##*:}")
  done
  for name in openblas:libopenblas-openmp-dev libhwy:libhwy-dev spdlog:libspdlog-dev zlib:zlib1g-dev; do
    pkg-config --exists "${name%%:*}" 2>/dev/null || missing+=("${name##*:}")
  done
  printf '#include <oneapi/dnnl/dnnl.hpp>\n' | c++ -x c++ -std=c++20 -fsyntax-only - 2>/dev/null || missing+=(libdnnl-dev)
  if [ ${#missing[@]} != 0 ]; then
    say "this is no Debian, and these are missing (Debian's names): ${missing[*]}"
    exit 1
  fi
}

build() {
  say "building Release in build/release (the first time takes some minutes)"
  mkdir -p build
  local target=$1
  shift
  cmake -S . -B build/release -G Ninja -DCMAKE_BUILD_TYPE=Release -DDL4_WERROR="${DL4_WERROR:-OFF}" "$@" \
    >build/configure.log 2>&1 || { cat build/configure.log; exit 1; }
  grep -E '^-- (oneDNN|The command)' build/configure.log | sed 's/^-- /    /'
  cmake --build build/release --target "$target"
}

project_version() { sed -nE 's/^project\(dl4 VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt; }

tar_of() {
  tar --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}" -C "$1" -cf - "$2" |
    gzip -9n >"$3"
}
