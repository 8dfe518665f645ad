#!/usr/bin/env bash
# Makes the Debian packages of a build:   debian.sh BUILD_FOLDER OUTPUT_FOLDER [WHEEL]
# They are libdl4-1, libdl4-dev and, if the build has the command, dl4; of a wheel for this machine (wheel.py)
# python3-dl4. The build is configured with -DCMAKE_INSTALL_PREFIX=/usr; needs dpkg-dev, binutils, unzip for a wheel.
set -euo pipefail
usage="usage: debian.sh BUILD_FOLDER OUTPUT_FOLDER [WHEEL]"
build=$(realpath "${1:?$usage}")
out=$(realpath -m "${2:?$usage}")
wheel=${3:+$(realpath "$3")}
value() { sed -n "s/^$1:[A-Z]*=//p" "$build/CMakeCache.txt"; }
[ "$(value CMAKE_INSTALL_PREFIX)" = /usr ] ||
  { echo "$build is not configured with -DCMAKE_INSTALL_PREFIX=/usr" >&2; exit 1; }
version=$(value CMAKE_PROJECT_VERSION)
date=$(date -u -R -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}")
maintainer="libdl4 maintainers <maintainers@dl4.invalid>"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/debian" "$out"
cd "$work"
cat >debian/changelog <<END
dl4 ($version) unstable; urgency=medium

  * Release $version.

 -- $maintainer  $date
END
cat >debian/copyright <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: libdl4

Files: *
Copyright: $(date -u -d "$date" +%Y) libdl4 maintainers
License: Apache-2.0

License: Apache-2.0
 Licensed under the Apache License, Version 2.0. On Debian systems its full text
 is in /usr/share/common-licenses/Apache-2.0.
END
# libdl4.a of the full build needs the other libraries beside it.
static=
if [ -f "$build/libdl4.a" ] && [ "$(value DL4_BACKENDS)" = full ]; then static=", libdnnl-dev, libopenblas-dev"; fi
cat >debian/control <<END
Source: dl4
Section: libs
Priority: optional
Maintainer: $maintainer
Homepage: https://dl4.invalid

Package: libdl4-1
Architecture: any
Multi-Arch: same
Depends: \${shlibs:Depends}
Description: Deep-learning layers for any language: the library
 Builds, trains and runs neural networks on the CPU, with the layers, options,
 defaults and numbers of Keras 3. Reads and writes .keras, ONNX, NumPy and
 safetensors.

Package: libdl4-dev
Section: libdevel
Architecture: any
Multi-Arch: same
Depends: libdl4-1 (= $version)$static
Description: Deep-learning layers for any language: headers
 Headers for C and C++, what CMake and pkg-config need, the static library if
 there is one, and descriptions of the interface as JSON.

Package: dl4
Section: utils
Architecture: any
Multi-Arch: foreign
Depends: \${shlibs:Depends}
Description: Deep-learning layers for any language: the command
 Describes, converts, runs, trains, evaluates and compares models in files.

Package: python3-dl4
Section: python
Architecture: any
Depends: libdl4-1 (= $version), python3 (>= 3.9), python3-numpy
Description: Deep-learning layers for any language: Python
 Keras's API on libdl4: dl4.keras has the library's layers under Keras's
 names; dl4.keras_backend makes the library the backend of an installed Keras.
END
printf '%s 1 libdl4-1 (>= %s)\n' libdl4 "$version" libdl4_local "$version" >debian/shlibs.local

component() { # NAME COMPONENT
  DESTDIR=$work/$1 cmake --install "$build" --component "$2" --strip >/dev/null
  [ ! -d "$1" ] || package "$1"
}

package() { # NAME, a folder with its files
  local name=$1 doc=$1/usr/share/doc/$1 file programs
  rm -f "$name/usr/share/doc/dl4/LICENSE" # debian/copyright names it
  find "$name" -type d -empty -delete
  mkdir -p "$doc" "$name/DEBIAN"
  cp debian/copyright "$doc"
  gzip -9nc debian/changelog >"$doc/changelog.gz"
  find "$name" -path '*/man/*' -type f -exec gzip -9n {} +
  find "$name" -name '*.a' -exec strip --strip-unneeded --enable-deterministic-archives {} +
  find "$name" -name '*.so*' -type f -exec chmod 644 {} +
  : >debian/substvars
  programs=$(find "$name" -type f \( -name '*.so.*' -o -name '*.abi3.so' -o -path '*/bin/*' \))
  [ -z "$programs" ] || dpkg-shlibdeps -l"$build" -Tdebian/substvars $programs
  dpkg-gencontrol -p"$name" -P"$name" -Tdebian/substvars
  if [ "$name" = libdl4-1 ]; then
    cp debian/shlibs.local "$name/DEBIAN/shlibs"
    echo "activate-noawait ldconfig" >"$name/DEBIAN/triggers"
  fi
  (cd "$name" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$name/DEBIAN/md5sums"
  dpkg-deb --root-owner-group -b "$name" "$out" >/dev/null
  for file in "$out/${name}_$version"_*.deb; do echo "$file"; done
}
component libdl4-1 runtime
component libdl4-dev dev
component dl4 tool
if [ "$wheel" ]; then
  modules=python3-dl4/usr/lib/python3/dist-packages
  mkdir -p $modules python3-dl4/DEBIAN
  unzip -q "$wheel" -x 'dl4/lib/*' '*.dist-info/licenses/*' '*.dist-info/sboms/*' '*.dist-info/RECORD' -d $modules
  chmod -R u=rwX,go=rX $modules
  script() { # NAME PROGRAM
    printf '#!/bin/sh\nset -e\nif command -v %s >/dev/null; then %s -p python3-dl4; fi\n' "$2" "$2" >"python3-dl4/DEBIAN/$1"
    chmod 755 "python3-dl4/DEBIAN/$1"
  }
  script postinst py3compile
  script prerm py3clean
  package python3-dl4
fi
