# WebAssembly: emscripten, and Node.js.
debian 13 trixie "whose emscripten (3.1.69) has std::to_chars for floats"
require emscripten nodejs
[ "$mode" ] || require brotli chromium
flags="-msimd128 -fwasm-exceptions"
system_file=/usr/share/emscripten/cmake/Modules/Platform/Emscripten.cmake
without_suffix .js node

headers
toolchain Emscripten wasm32 emcc em++ emar
configure
if [ "$mode" = release ]; then
  modules() {
    local name folder
    name=libdl4-$(project_version)-wasm
    folder=$work/$name
    rm -rf "$work"/{made,native} "$folder"
    mkdir -p "$work"/{made,native} "$folder"/{include/dl4,lib} &&
      cp LICENSE "$folder" &&
      cp include/dl4/dl4.h include/dl4/dl4.hpp "$folder/include/dl4" &&
      described "$folder" &&
      cp "$build"/capi/bindings/node/dl4.{mjs,wasm} "$work/native" &&
      cp "$build/libdl4.a" "$work"/native/* "$folder/lib" &&
      tar_of "$work" "$name" "$work/made/$name.tar.gz"
  }
  compile dl4_module dl4
  check "archive" modules
  return
fi
rooms=(base graph io kernels ops plan train)
compile dl4_module dl4_tool golden_tests "${rooms[@]/%/_tests}"

# The Node package with the module in it, as it is tested where the library is a shared one.
package() {
  rm -rf "$work/package"
  mkdir -p "$work/package"
  cp -r capi/bindings/node/{package.json,types.js,lib,tests,examples} "$work/package"
  cp "$build"/capi/bindings/node/dl4.{mjs,wasm} "$work/package/lib"
  local root=$PWD
  (
    cd "$work/package"
    export NODE_OPTIONS=--conditions=wasm
    export DL4_CONFORMANCE=$root/capi/bindings/conformance.json DL4_FASHION=$root/tests/data/fashion-mnist
    node types.js lib/kinds.d.ts && node --test tests/*.test.js
  ) | grep -E '^(# (pass|fail|skipped)|not ok)' | xargs
}

# The page that trains LeNet-5, in a browser without a window.
browser() {
  (cd "$work/package" && node --experimental-websocket tests/browser.js chromium "$OLDPWD/tests/data/fashion-mnist" \
    "$work/page.png")
}

# Compressed, as a server sends it.
size() {
  local file=$build/capi/bindings/node/dl4.wasm n
  n=$(brotli -c -q 11 "$file" | wc -c)
  echo "$(stat -c %s "$file") bytes, $n compressed by brotli, $(gzip -9c "$file" | wc -c) by gzip"
  [ "$n" -le 1500000 ]
}

check "portable is refused" refused \
  '"reproducible": expected a processor with a mode that takes denormal numbers for 0 for "portable", got'
check "the module's size" size
check "Node package" package
check "LeNet-5 in a page" browser
threads="*SixteenThreads*:Synchronized.*:Workers.*:Allocate.ThreadsShareIdleBlocks"
for room in "${rooms[@]}"; do check "$room" gtest "$room" "-$threads"; done
check goldens gtest golden "-$threads"
left_out "$threads, tests of the package" "they need threads, and there is one"
left_out "the other rooms" "to be built by hand: compile ROOM_tests"
