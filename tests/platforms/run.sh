#!/usr/bin/env bash
# Builds libdl4 for a platform and runs all of it that can run there; says at its end what passed and what was left out.
#   bash tests/platforms/run.sh NAME [short|release|tools]    a platform is a file NAME.sh beside this one
# It installs what is missing with apt and works in build/platforms/NAME. The platform's file calls these functions.
# With `short` it does what continuous integration has time for; with `release` what cmake/release.sh publishes, in
# build/platforms/NAME/made; with `tools` it installs what that needs, and builds nothing. It ends with 77 where
# something cannot be installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. cmake/packages.sh
export PATH=/usr/bin:$PATH # Debian's Python, for which the packages are

here=tests/platforms
if [ $# = 0 ] || [ $# -gt 2 ] || [[ ! ${2-short} =~ ^(short|release|tools)$ ]] || [ "$1" = run ] || [ ! -f "$here/$1.sh" ]; then
  echo "usage: $here/run.sh NAME [short|release|tools], NAME one of: $(cd $here && ls ./*.sh | sed 's|./||; s|\.sh$||' | grep -v '^run$' | xargs)" >&2
  exit 2
fi
platform=$1
mode=${2:-}
if [[ $mode = @(release|tools) ]] && ! grep -qE '"\$mode" = release|^equipped|musl\.sh' "$here/$platform.sh"; then
  echo "$platform: nothing is released of it" >&2
  exit 2
fi
work=$PWD/build/platforms/$platform # prefix/: what libdl4 is built with; build/: the build; log/: what was said
prefix=$work/prefix/usr
build=$work/build
emulator=() # before a program of the platform
flags=-fPIC # of C and C++, and before them what the toolchain file begins with, if CMake has no file of its own for it
system_file=
mkdir -p "$work/log" "$prefix/lib/pkgconfig"
[ "$mode" = tools ] || rm -f "$work/finished" # of release.sh
results=()
failed=0

unavailable() {
  echo "==> left out $platform: this machine cannot install $*" >&2
  exit 77
}

# Installs these packages where they are missing.
require() { (installed "$@") || unavailable "one of the packages $*"; }

# All that the build needs is there: `tools` ends here.
equipped() { [ "$mode" != tools ] || exit 0; }

# On an older Debian the script goes on in a root of this one, with the same folders: debian VERSION CODENAME REASON
debian() {
  local root=$PWD/build/platforms/$2
  [ "$(. /etc/os-release && echo "${VERSION_ID:-0}")" -lt "$1" ] || return 0
  [ "$(id -u)" = 0 ] || { echo "$platform: needs Debian $1, $3, or root, who can make one" >&2; exit 1; }
  require debootstrap
  if [ ! -d "$root" ]; then
    say "debootstrap $2"
    debootstrap --variant=minbase "$2" "$root.new" >"$work/log/debootstrap" && cp /etc/resolv.conf "$root.new/etc" ||
      unavailable "Debian $1"
    mv "$root.new" "$root"
  fi
  mkdir -p "$root$PWD"
  exec unshare -m bash -c '
    mount --bind "$PWD" "$0$PWD" && mount -t proc proc "$0/proc" && exec chroot "$0" /usr/bin/env -i HOME=/root \
      PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 SOURCE_DATE_EPOCH="$SOURCE_DATE_EPOCH" bash "$PWD/$@"' \
    "$root" "$here/run.sh" "$platform" ${mode:+"$mode"}
}

# The emulator takes the names of programs with their suffix, the tests have them without: without_suffix .SUFFIX COMMAND
without_suffix() {
  mkdir -p "$work/bin"
  emulator=("$work/bin/emulator")
  cat >"${emulator[0]}" <<END
#!/bin/bash
program=\$1
shift
[ -f "\$program" ] || program+=$1
exec "$2" "\$program" "\$@"
END
  chmod +x "${emulator[0]}"
}

# ---- What it is built with -------------------------------------------------------------------------------------------

# The headers of libraries that libdl4 and its tests use by headers alone, apart from the system's others.
headers() {
  local package file
  require cmake ninja-build pkg-config dpkg-dev libhwy-dev libspdlog-dev nlohmann-json3-dev libcli11-dev googletest \
    python3-venv python3-numpy advancecomp unzip
  for package in libhwy-dev libspdlog-dev libfmt-dev nlohmann-json3-dev libcli11-dev; do
    dpkg -L "$package" | grep -E '^/usr/(include|share/cmake|lib/[^/]+/cmake)/' | grep -v -e '-none\.cmake$' |
      while read -r file; do [ -d "$file" ] || cp --parents -u "$file" "$work/prefix"; done
  done
  # Of headers alone a pointer's size says nothing.
  find "$prefix" -iname '*version.cmake' -exec sed -i 's/NOT CMAKE_SIZEOF_VOID_P STREQUAL "8"/FALSE/' {} +
  printf 'Name: hwy\nDescription: headers\nVersion: %s\nCflags: -I%s/include\n' \
    "$(pkg-config --modversion libhwy)" "$prefix" >"$prefix/lib/pkgconfig/libhwy.pc"
}

# Reads, in a folder of its own, what the archives have that the machine's packages come from; sets `apt`.
archives() { # FOLDER deb|deb-src APT OPTION...
  local folder=$1 list=/etc/apt/sources.list.d/debian.sources
  apt=(-qq -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$folder/parts"
    -o Dir::State::Lists="$folder/lists" "${@:3}")
  mkdir -p "$folder/lists/partial" "$folder/parts"
  if [ -f $list ]; then
    sed "s/^Types:.*/Types: $2/" $list >"$folder/parts/debian.sources"
  else
    sed -n "s/^deb /$2 /p" /etc/apt/sources.list >"$folder/parts/debian.list"
  fi
  apt-get "${apt[@]}" update >"$work/log/archives" 2>&1
}

# Where Debian's sources of a package lie.
sources() { # PACKAGE
  local folder=$PWD/build/platforms/sources version apt
  if ! ls -d "$folder/$1"-*/ >/dev/null 2>&1; then
    archives "$folder" deb-src
    # A mirror may list a version that it does not have yet.
    for version in $(apt-cache "${apt[@]}" showsrc --only-source "$1" | sed -n 's/^Version: //p' | sort -rV); do
      (cd "$folder" && apt-get "${apt[@]}" source "$1=$version") >>"$work/log/archives" 2>&1 && break
    done
    ls -d "$folder/$1"-*/ >/dev/null || { cat "$work/log/archives" >&2 && unavailable "Debian's sources of $1"; }
  fi
  ls -d "$folder/$1"-*/
}

# A folder with the files of a package for another architecture.
foreign() { # ARCHITECTURE PACKAGE
  local folder=$PWD/build/platforms/sources/$1 apt
  if [ ! -d "$folder/$2" ]; then
    archives "$folder" deb -o "APT::Architecture=$1" -o "APT::Architectures=$1"
    (cd "$folder" && apt-get "${apt[@]}" download "$2") >>"$work/log/archives" 2>&1 ||
      { cat "$work/log/archives" >&2 && unavailable "$2 for $1"; }
    dpkg -x "$folder/$2"_*.deb "$folder/$2"
  fi
  echo "$folder/$2"
}

# The compilers of a target of zig's, with its C and C++ libraries: bin/cc, bin/c++, bin/ar. Its notes for debuggers,
# which it writes unasked, would be a third of the time.
zig() { # TARGET FLAG...
  local folder=$PWD/build/platforms/zig name
  require python3-venv
  if [ ! -d "$folder" ]; then
    rm -rf "$folder.new" && python3 -m venv "$folder.new" && "$folder.new/bin/pip" -q install ziglang==0.13.0 ||
      unavailable "ziglang of PyPI"
    mv "$folder.new" "$folder"
  fi
  mkdir -p "$work/bin"
  for name in cc c++ ar; do
    printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$(ls "$folder"/lib/python*/site-packages/ziglang/zig)" \
      "$name$([ $name = ar ] || echo " -target $* -g0")" >"$work/bin/$name"
    chmod +x "$work/bin/$name"
  done
}

# A toolchain file, and for tests zlib and GoogleTest compiled by it.
#   toolchain SYSTEM PROCESSOR CC CXX AR   as CMake names the first two
toolchain() {
  equipped
  {
    [ -z "$system_file" ] || printf 'include(%s)\n' "$system_file"
    printf 'set(CMAKE_%s_FLAGS_INIT "%s")\n' C "$flags" CXX "$flags"
    printf 'set(CMAKE_SYSTEM_NAME %s)\nset(CMAKE_SYSTEM_PROCESSOR %s)\n' "$1" "$2"
    printf 'set(CMAKE_C_COMPILER %s)\nset(CMAKE_CXX_COMPILER %s)\nset(CMAKE_AR %s)\n' "$3" "$4" "$5"
    printf 'set(CMAKE_CROSSCOMPILING_EMULATOR "%s")\n' "$(IFS=';'; echo "${emulator[*]}")"
    printf 'set(CMAKE_FIND_ROOT_PATH %s)\n' "$prefix"
    for what in LIBRARY INCLUDE PACKAGE; do printf 'set(CMAKE_FIND_ROOT_PATH_MODE_%s ONLY)\n' $what; done
    printf 'set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)\n'
    printf 'set(%s)\n' "ENV{PKG_CONFIG_LIBDIR} $prefix/lib/pkgconfig" \
      "ENV{PKG_CONFIG_PATH} $prefix/lib/pkgconfig" \
      "spdlog_DIR $(dirname "$prefix"/lib/*/cmake/spdlog/spdlogConfig.cmake)" \
      "fmt_DIR $(dirname "$prefix"/lib/*/cmake/fmt/fmt-config.cmake)"
  } >"$work/toolchain.cmake"
  [ "$mode" != release ] || return 0
  if [ ! -f "$prefix/lib/libz.a" ]; then
    local zlib name
    zlib=$(sources zlib)
    mkdir -p "$work/zlib"
    for name in adler32 compress crc32 deflate gzclose gzlib gzread gzwrite infback inffast inflate inftrees trees \
      uncompr zutil; do
      "$3" -O2 $flags -w -DHAVE_UNISTD_H -c "$zlib/$name.c" -o "$work/zlib/$name.o"
    done
    "$5" rcs "$prefix/lib/libz.a" "$work"/zlib/*.o
    cp "$zlib/zlib.h" "$zlib/zconf.h" "$prefix/include"
  fi
  if [ ! -f "$prefix/lib/libgtest.a" ]; then
    cmake -S /usr/src/googletest -B "$work/gtest" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$work/toolchain.cmake" \
      -DCMAKE_BUILD_TYPE=Release -DBUILD_GMOCK=OFF -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
      >"$work/log/gtest" && cmake --build "$work/gtest" --target install >>"$work/log/gtest" ||
      { cat "$work/log/gtest"; exit 1; }
  fi
}

# ---- Building --------------------------------------------------------------------------------------------------------

configure() { # CMAKE ARGUMENT...
  # The tests run kernels of one instruction set; those of all take half of the build.
  if [ "$mode" = short ]; then
    set -- "$@" -DDL4_HOST_KERNELS=ON -DDL4_LTO=OFF
  else
    set -- "$@" -DDL4_HOST_KERNELS=OFF -UDL4_LTO
  fi
  [ "$mode" != release ] || set -- "$@" -DDL4_BUILD_TESTS=OFF -DDL4_BUILD_EXAMPLES=OFF
  cmake -S . -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$work/toolchain.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DDL4_BACKENDS=own -DDL4_STATIC=ON "$@" >"$work/log/configure" 2>&1 || { cat "$work/log/configure"; exit 1; }
}

compile() { # TARGET...
  say "building $*"
  nice -n 5 cmake --build "$build" --target "$@" -- -j "$(nproc)" -k 0 # all that is wrong at once
}

# ---- Packages --------------------------------------------------------------------------------------------------------

# An object that replaces the C++ library's terminate handler, which prints, and with it 50 kB of a demangler.
silent_terminate() { # CC
  echo 'void abort(void); void _ZN9__gnu_cxx27__verbose_terminate_handlerEv(void) { abort(); }' |
    "$1" -x c -O2 -fPIC -fvisibility=hidden -c - -o "$work/silent_terminate.o"
  echo "$work/silent_terminate.o"
}

# Linker flags of a shared library that needs glibc and its unwinder alone, and of that 2.28: with the C++ library inside
# and what glibc 2.28 lacks. Before 2.34 threads and dlopen() are libraries apart.
older_glibc() { # CC
  "$1" -O2 -fPIC -fno-builtin -fvisibility=hidden -c capi/bindings/python/older_glibc.c -o "$work/older_glibc.o"
  echo "-static-libstdc++ $(silent_terminate "$1") $work/older_glibc.o" \
    "-Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,-z,nopack-relative-relocs"
}

# The build's wheel in $work/made: make_wheel STRIP. A library of this machine, which DL4_LIBRARY names, tells what the
# type stubs are made of.
make_wheel() {
  local library=${DL4_LIBRARY:-$PWD/build/platforms/glibc/native/libdl4.so.1}
  [ "$platform" != glibc ] || library=$build/libdl4.so.1
  [ -f "$library" ] || { echo "there is no $library: run.sh glibc makes it, or DL4_LIBRARY names one"; return 1; }
  rm -rf "$work/made" "$work/native"
  STRIP=$1 DL4_LIBRARY=$library python3 capi/bindings/python/wheel.py "$build" "$work/made" || return
  advzip -q -z -3 "$work"/made/*.whl # deflated better than zlib does
  unzip -qj "$work"/made/*.whl 'dl4/lib/*' -d "$work/native"
}

# site PLATFORM [REQUIREMENT]: in $work/site what pip installs of the wheel, with NumPy for the platform.
site() {
  local tag
  rm -rf "$work/site"
  [ -d "$work/venv" ] || python3 -m venv "$work/venv"
  tag=$(basename "$work"/made/*.whl .whl)
  "$work/venv/bin/pip" -q install --target "$work/site" --platform "${tag##*-}" --platform "$1" --python-version 3.11 \
    --only-binary=:all: --find-links "$work/made" dl4 "${@:2}"
}

# Headers, the shared and the static library as libdl4-VERSION-NAME.tar.gz in $work/made, with what CMake and pkg-config
# need. The shared one is the wheel's.   archive NAME STRIP
archive() {
  local name file folder
  name=libdl4-$(project_version)-$1
  folder=$work/$name
  file=$(basename "$work"/native/*)
  rm -rf "$folder"
  cmake --install "$build" --prefix "$folder" --component runtime >/dev/null &&
    cmake --install "$build" --prefix "$folder" --component dev >/dev/null &&
    described "$folder" &&
    cp "$work/native/$file" "$(find "$folder" -name "$file" -exec realpath {} \;)" &&
    find "$folder" -name '*.a' -exec "$2" --strip-debug {} + &&
    tar_of "$work" "$name" "$work/made/$name.tar.gz"
}

# What a compiler for another platform cannot ask its library: the descriptions, and the header made of them.
described() { # FOLDER
  local glibc=build/platforms/glibc/build
  mkdir -p "$1/share/dl4" &&
    cp -u $glibc/registry.json $glibc/dl4-api.json "$1/share/dl4" &&
    cp -u $glibc/include/dl4/layers.hpp "$1/include/dl4"
}

# release NAME STRIP [TARGET...]: what release.sh takes of a build.
release() {
  compile dl4 dl4_static "${@:3}"
  check "wheel" make_wheel "$2"
  check "archive" archive "$1" "$2"
}

size_of() { echo "$(basename "$1"), $(stat -c %s "$1") bytes"; }

# ---- Running ---------------------------------------------------------------------------------------------------------

result() { results+=("$(printf '%-8s %-34s %s' "$1" "$2" "${3:-}")"); printf '==> %s\n' "${results[-1]}"; }

# check NAME COMMAND...: runs it; its last line says what it found.
check() {
  local good=0
  "${@:2}" >"$(log_of "$1")" 2>&1 || good=$?
  found "$1" $good
}

# begin NAME COMMAND...: runs it beside what follows; `finish` waits for all that were begun.
begun=()
begin() {
  ("${@:2}" || exit) >"$(log_of "$1")" 2>&1 &
  begun+=("$!" "$1")
}
finish() {
  local good
  while [ ${#begun[@]} != 0 ]; do
    good=0
    wait "${begun[0]}" || good=$?
    found "${begun[1]}" $good
    begun=("${begun[@]:2}")
  done
}

log_of() { echo "$work/log/${1//[^a-zA-Z0-9]/_}"; }
found() { # NAME STATUS
  local log
  log=$(log_of "$1")
  if [ "$2" = 0 ]; then
    result passed "$1" "$(tail -1 "$log")"
  else
    tail -40 "$log"
    result FAILED "$1" "$log"
    failed=1
  fi
}

left_out() { result "left out" "$1" "$2"; } # NAME REASON

# gtest ROOM [FILTER]: the program ROOM_tests, on all cores.
gtest() {
  local program=$build/tests/$1_tests n shard pids=() good=0
  n=$(nproc)
  for ((shard = 0; shard < n; ++shard)); do
    GTEST_TOTAL_SHARDS=$n GTEST_SHARD_INDEX=$shard nice -n 5 "${emulator[@]}" "$program" --gtest_brief=1 \
      --gtest_color=no --gtest_filter="${2:-*}" >"$work/log/$1_tests.$shard" 2>&1 &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || good=1; done
  grep -hE '^\[  FAILED|Failure' "$work/log/$1_tests".[0-9]* || true
  cat "$work/log/$1_tests".[0-9]* | awk '/^\[==========\]/ { n += $2 } /^\[  SKIPPED \] [0-9]+ test/ { s += $4 }
    END { print n + 0 " tests" (s ? ", " s " of them skipped" : ""); exit !n }' || good=1
  return $good
}

# refused SENTENCE: what `dl4 verify` says, and nothing else.
refused() {
  local said
  said=$(verify 2>&1) && return 1
  echo "$said"
  [ "$(wc -l <<<"$said")" = 1 ] && grep -qF -e "$1" <<<"$said"
}

# The published sums of all nets, by the command `dl4`.
verify() { "${emulator[@]}" "$build/capi/tool/dl4" verify; }

. "$here/$platform.sh"

say "$platform: $(git log -1 --format=%h 2>/dev/null || true)"
printf '%s\n' "${results[@]}"
exit $failed
