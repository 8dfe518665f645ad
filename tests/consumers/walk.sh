#!/usr/bin/env bash
# A newcomer's first steps on a Debian 12 or 13 that has nothing: installs the packages of a release, as root, and does
# in each language what the documents say. Prints a line for each step; ends with 1 if one stumbled.
#   bash tests/consumers/walk.sh [FOLDER]   FOLDER: a release's files; else build/release-files, which cmake/release.sh
#                                           makes of x86-64 and glibc if it is not there
# What apt and npm get of others comes by the network; a language whose tools cannot be had is left out.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
. cmake/packages.sh
source=$PWD
here=$source/tests/consumers/walk
files=${1:-build/release-files}
[ -f "$files/SHA256SUMS" ] || [ $# -gt 0 ] || bash cmake/release.sh glibc || exit 1
[ -f "$files/SHA256SUMS" ] || { echo "walk.sh: $files has no SHA256SUMS, so no release" >&2; exit 1; }
files=$(realpath "$files")
version=$(project_version)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
good=0 stumbled=()

# step NAME SCRIPT: in an empty folder; each of its commands has to pass.
step() {
  local folder
  folder=$(mktemp -d -p "$work")
  if (cd "$folder" && bash -euo pipefail -c "$2") >"$work/log" 2>&1 </dev/null; then
    good=$((good + 1))
    echo "ok        $1"
  else
    stumbled+=("$1")
    echo "STUMBLED  $1"
    sed 's/^/          | /' "$work/log" | tail -20
  fi
}

# has PACKAGE...: they are installed, or a line says what is left out.
has() { (installed "$@") >"$work/log" 2>&1 || { echo "left out  what needs $*"; return 1; }; }

# A program's listing in a document: listing FILE LANGUAGE NUMBER
listing() { awk -v l="\`\`\`$2" -v n="$3" '$1 == l { if (++at == n) { on = 1; next } } on && /^```$/ { exit } on' "$source/$1"; }
# A page's commands, one listing after the other: commands PAGE
commands() {
  local n
  for ((n = 1;; ++n)); do
    listing "$1" sh $n >commands.sh
    [ -s commands.sh ] || break
    bash -euo pipefail commands.sh
  done
}
export -f listing commands
export source here files version

# ---- The command and C -----------------------------------------------------------------------------------------------

has gcc libc6-dev || exit 1
has g++ cmake pkg-config make clang
step "apt takes the packages" 'apt-get install -qq -y "$files"/libdl4-1_*.deb "$files"/libdl4-dev_*.deb "$files"/dl4_*.deb'
strict="-std=c99 -Wall -Wextra -pedantic -Wconversion -Wshadow -Werror"
export strict
for cc in gcc clang; do
  command -v $cc >/dev/null || continue
  step "the README's program in C, by $cc" "listing README.md c 1 >xor.c
    $cc $strict xor.c -o xor \$(pkg-config --cflags --libs dl4) -lm
    ./xor && dl4 summary xor.safetensors"
done
step "CMake finds 1.0, and says what it found for 2.0" 'listing README.md c 1 >xor.c
  cmakelists() {
    printf "%s\n" "cmake_minimum_required(VERSION 3.16)" "project(app C)" "find_package(dl4 $1 REQUIRED)" \
      "add_executable(app xor.c)" "target_link_libraries(app dl4::dl4)" >CMakeLists.txt
  }
  cmakelists 1.0 && cmake -S . -B build && cmake --build build && build/app
  cmakelists 2.0
  ! cmake -S . -B other >said 2>&1
  grep -q "version: $version" said'
step "what dl4.h refers to is installed" 'doc=/usr/share/doc/dl4
  [ -f $doc/guide/guarantees.md ] && [ -f $doc/guide/kinds.md ]
  grep -q "share/doc/dl4/guide" /usr/include/dl4/dl4.h'
step "a program in C++ by CMake, with layers of two inputs" 'cp "$here/two_inputs.cpp" xor.cpp
  listing capi/guide/pages/start/cpp.md cmake 1 >CMakeLists.txt
  cmake -S . -B build && cmake --build build && build/cmake_xor'
step "a classifier of texts, trained and served in C" 'texts=$source/capi/examples/texts.txt
  for name in texts_train texts_serve; do
    gcc -std=c99 -Wall -Wextra -pedantic -Werror "$source/capi/examples/$name.c" -o $name $(pkg-config --cflags --libs dl4)
  done
  ./texts_train "$texts" texts.keras
  cut -f2 "$texts" | ./texts_serve texts.keras | cut -f1 >answers
  cut -f1 "$texts" | paste - answers | awk "(\$1 == 1) != (\$2 > 0.5) { wrong = 1 } END { exit wrong }"'
step "dl4.hpp in C++17 is one clear error" 'echo "#include <dl4/dl4.hpp>" >a.cpp
  ! g++ -std=c++17 -fsyntax-only a.cpp 2>said
  [ "$(grep -c "error:" said)" = 1 ] && grep -q "C++20" said'
step "a tar.gz elsewhere: shared and static" 'listing README.md c 1 >xor.c
  tar xzf "$files/libdl4-$version-linux-x86_64.tar.gz"
  prefix=$PWD/libdl4-$version-linux-x86_64
  export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
  gcc xor.c -o xor $(pkg-config --cflags --libs dl4) -Wl,-rpath,$prefix/lib && ./xor
  ldd xor | grep -q "$prefix/lib/libdl4.so.1"
  gcc xor.c -o static $(pkg-config --cflags dl4) $prefix/lib/libdl4.a -lstdc++ -lm && ./static'

said() { # NAME COMMAND SENTENCE
  step "$1" "! $2 >said 2>&1; grep -qF '$3' said || { cat said; exit 1; }"
}
said "dl4 sumary" "dl4 sumary x" 'unknown command "sumary"; did you mean "summary"?'
said "dl4 train --epoch" "dl4 train --epoch 1 x" 'unknown option "--epoch"; did you mean "--epochs"?'
said "dl4 kinds Densse" "dl4 kinds Densse" 'did you mean "Dense"?'
said "a file that is no model" "dl4 summary /etc/os-release" '/etc/os-release": expected a model in a file of Keras, ONNX or this library'
step "dl4 alone is the help; kinds, check, convert, diff --run, plot" 'dl4 | grep -q summary
  dl4 kinds LSTM | grep -q return_sequences
  listing README.md c 1 >xor.c && gcc xor.c -o xor -ldl4 && ./xor
  dl4 check xor.safetensors
  dl4 convert xor.safetensors xor.onnx && dl4 convert xor.onnx xor.keras
  dl4 diff --run xor.safetensors xor.onnx
  dl4 diff --run xor.safetensors xor.keras
  dl4 plot xor.keras -o xor.dot && [ -s xor.dot ]'

# ---- Python ----------------------------------------------------------------------------------------------------------

if has python3 python3-venv python3-numpy; then
  /usr/bin/python3 -m venv --system-site-packages "$work/python"
  export python=$work/python/bin/python
  step "pip install dl4, by name" '"${python%python}pip" -q install --no-index --find-links "$files" dl4'
  step "the README's program in Python" 'listing README.md python 1 >xor.py && $python xor.py | grep "accuracy 1.0"'
  for program in "$here"/python_*.py; do
    export program
    step "Python: $(sed -n '1s/^"""\(.*\)"""$/\1/p' "$program")" '$python -W ignore "$program"'
  done
  step "the page of the command, line by line" 'page=capi/guide/pages/start/command.md
    listing $page python 1 >net.py && $python net.py
    listing $page csv 1 >flower.csv && listing $page csv 2 >flowers.csv
    commands $page | tee told
    grep -q "samples a second" told && grep -q "gradients agree" told && grep -q "^same" told'
  step "the tutorial: from a folder of data to a C program" 'page=capi/guide/pages/start/tutorial.md
    for n in 1 2 3; do listing $page python $n; done >train.py && $python train.py
    listing $page c 1 >serve.c
    commands $page | tee told
    grep -q "^setosa" told && grep -q "^virginica" told'
  step "apt install python3-dl4" 'apt-get install -qq -y "$files"/python3-dl4_*.deb
    listing README.md python 1 >xor.py && /usr/bin/python3 xor.py'
fi

# ---- Node.js, Rust, Go, Java, R --------------------------------------------------------------------------------------

if has nodejs npm && ! npm view koffi version >/dev/null 2>&1; then
  echo "left out  what needs koffi of npm's registry"
elif command -v npm >/dev/null; then
  step "npm install, signal, arguments too many" 'npm init -y >/dev/null && npm install --no-audit --no-fund "$files/dl4-$version.tgz"
    cp "$source/capi/bindings/node/examples/xor.js" xor.mjs && node xor.mjs
    cp "$here/signal.mjs" . && node signal.mjs
    [ -f node_modules/dl4/lib/kinds.d.ts ]'
fi
if has cargo; then
  step "Rust: the crates of the release" 'for name in dl4-sys dl4; do tar xzf "$files/$name-$version.crate"; done
    cargo init --quiet --name app app && cd app
    printf "%s\n" "dl4 = { path = \"../dl4-$version\" }" "[patch.crates-io]" \
      "dl4-sys = { path = \"../dl4-sys-$version\" }" >>Cargo.toml
    cp ../dl4-$version/examples/xor.rs src/main.rs
    cargo run --offline --quiet'
fi
if has golang-go; then
  step "Go: load, save and describe" 'python3 -c "import sys, zipfile; zipfile.ZipFile(sys.argv[1]).extractall(\"proxy\")" "$files/dl4-go-$version.zip"
    export GOPROXY=file://$PWD/proxy GOSUMDB=off GOFLAGS=-mod=mod GOPATH=$PWD/go GOCACHE=$PWD/cache
    mkdir app && cd app && go mod init app && go get dl4.invalid/dl4
    cp "$here/keep.go" main.go && go run . | tee said && grep -q "Total params" said
    chmod -R u+w ../go'
fi
if has default-jdk-headless libjna-java; then
  step "Java: String paths, toString, a readable history" 'cp "$here/Keep.java" .
    java -cp "$files/dl4-$version.jar:/usr/share/java/jna.jar" Keep.java | tee said
    grep -q "Total params" said && grep -q "loss=\[" said && ! grep -q "\[D@" said'
fi
if has r-base-core r-cran-jsonlite libffi-dev make; then
  step "R: the package of the release" 'mkdir lib && export R_LIBS=$PWD/lib
    R CMD INSTALL -l lib "$files"/dl4_*.tar.gz && Rscript "$source/capi/bindings/r/examples/xor.R"'
fi

# ---- The documents ---------------------------------------------------------------------------------------------------

if has python3; then
  step "the guide: links, listings in place and no wider than a page, a heading for each kind" 'python3 "$here/pages.py" "$source"'
fi

echo "$good steps worked, ${#stumbled[@]} stumbled"
[ ${#stumbled[@]} = 0 ]
