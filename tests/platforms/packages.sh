# What cmake/release.sh made of x86-64 and glibc. Each package is installed by its name, from a local index and without a
# network, in a root that has its language and nothing else, and trains XOR there, all in less than ten seconds.
[ "$(id -u)" = 0 ] || { echo "$platform: mounting and changing roots is root's" >&2; exit 1; }
require debootstrap zip unzip

root=$PWD
made=$root/build/release-files
[ -f "$made/SHA256SUMS" ] || { echo "$platform: there is no $made, which cmake/release.sh makes" >&2; exit 1; }
index=$work/index # of our packages, as each language has one
pool=$work/pool   # of packages that are not ours
rm -rf "$index"
mkdir -p "$index" "$pool"
. /etc/os-release
version=$(project_version)

# ---- Roots -----------------------------------------------------------------------------------------------------------

# beneath NETWORK FOLDER LOWER COMMAND...: in a root that is LOWER, and in FOLDER what is written.
beneath() {
  local network=$1 folder=$2 lower=$3
  shift 3
  mkdir -p "$folder"/{upper,work,root}
  unshare -m $network bash -c '
    set -e
    mount -t overlay overlay -o "lowerdir=$1,upperdir=$0/upper,workdir=$0/work" "$0/root"
    shift
    for name in made index pool source; do
      mkdir -p "$0/root/$name"
      mount --bind "$1" "$0/root/$name"
      shift
    done
    mount -t proc proc "$0/root/proc"
    exec chroot "$0/root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"
  ' "$folder" "$lower" "$made" "$index" "$pool" "$root" "$@"
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

# in_root NAME SCRIPT: in a fresh one, without a network; says how long that took, and fails above ten seconds of the
# processor's: on a busy machine a clock measures the others.
in_root() {
  local TIMEFORMAT="%R %U %S"
  rm -rf "$work/tried"
  { time beneath -n "$work/tried" "$work/roots/$1/upper:$work/base" sh -ec "$2" 2>&3; } 3>&2 2>"$work/seconds" || return
  took
}
took() { awk '{ print "in " $1 " s, " $2 + $3 " of the processor"; exit $2 + $3 > 10 }' "$work/seconds"; }

# ---- What says what the files are ------------------------------------------------------------------------------------

listed() {
  local file sum files=0
  (cd "$made" && sha256sum -c --quiet SHA256SUMS) || return
  for file in "$made"/*; do
    [[ $file != *.cdx.json && $file != */SHA256SUMS ]] || continue
    sum=$(sha256sum <"$file")
    grep -q "\"content\": \"${sum%% *}\"" "$file.cdx.json" || { echo "$file: its list is of another file"; return 1; }
    files=$((files + 1))
  done
  echo "$files files"
}
check "checksums and CycloneDX lists" listed

# ---- Python ----------------------------------------------------------------------------------------------------------

wheel() { # REQUIREMENT FOLDER
  in_root python "
    python3 -m venv --system-site-packages /v
    /v/bin/pip -q install --no-index --find-links /made '$1'
    /v/bin/python /source/capi/bindings/python/examples/xor.py
    /v/bin/python -c 'import dl4, sys; sys.exit(\"/$2/lib/libdl4.so.1\" not in open(\"/proc/self/maps\").read())'"
}

root_of python python3-venv python3-numpy
check "pip install dl4" wheel dl4 dl4
if [ -f "$(echo "$made"/dl4_full-*.whl)" ]; then
  check "pip install dl4[full]" wheel "dl4[full]" dl4_full
else
  left_out "pip install dl4[full]" "not released: release.sh full"
fi

# ---- Debian ----------------------------------------------------------------------------------------------------------

# apt takes files as it takes names, and what they depend on from the archive of this root's.
debian_c() {
  in_root c '
    cp /made/libdl4-1_*.deb /made/libdl4-dev_*.deb /made/dl4_*.deb /tmp && cd /tmp
    apt-get install -qq -y ./libdl4-1_*.deb ./libdl4-dev_*.deb ./dl4_*.deb
    cc -std=c99 /source/capi/examples/xor.c -o /xor $(pkg-config --cflags --libs dl4)
    /xor
    dl4 summary xor.safetensors
    cc -std=c99 /source/capi/examples/xor.c -o /xor $(pkg-config --cflags dl4) \
      "/usr/lib/$(gcc -print-multiarch)/libdl4.a" -lstdc++ -lm
    apt-get remove -qq -y libdl4-dev dl4 libdl4-1
    /xor
    [ -z "$(find /usr -name "*dl4*")" ]'
}

debian_python() {
  in_root python '
    cp /made/libdl4-1_*.deb /made/python3-dl4_*.deb /tmp && cd /tmp
    apt-get install -qq -y ./libdl4-1_*.deb ./python3-dl4_*.deb
    python3 /source/capi/bindings/python/examples/xor.py
    python3 -c "from importlib.metadata import version; print(version(\"dl4\"))"
    apt-get remove -qq -y python3-dl4 libdl4-1
    [ -z "$(find /usr -name "*dl4*")" ]'
}

root_of c g++ pkg-config libc6-dev libpng16-16
check "apt install, in C" debian_c
check "apt install, in Python" debian_python

archived() {
  in_root c '
    tar xzf /made/libdl4-*-linux-x86_64.tar.gz -C /opt
    export PKG_CONFIG_PATH=$(echo /opt/libdl4-*/lib/pkgconfig) LD_LIBRARY_PATH=$(echo /opt/libdl4-*/lib)
    cc -std=c99 /source/capi/examples/xor.c -o /xor $(pkg-config --cflags --libs dl4)
    /xor
    cc -std=c99 /source/capi/examples/xor.c -o /xor $(pkg-config --static --cflags dl4) \
      /opt/libdl4-*/lib/libdl4.a -lstdc++ -lm
    rm -r /opt/libdl4-*
    /xor'
}
check "tar.gz, in C" archived

# ---- Node.js ---------------------------------------------------------------------------------------------------------

npm_package() {
  [ -n "$(ls "$pool"/koffi-*.tgz 2>/dev/null)" ] ||
    (cd "$pool" && npm pack --loglevel=error koffi@3 "@koromix/koffi-linux-x64@3") || return
  in_root node '
    mkdir /p && cd /p && npm init -y >/dev/null
    npm install --offline --ignore-scripts --no-audit --no-fund /made/dl4-*.tgz /pool/koffi-*.tgz /pool/koromix-*.tgz
    cp /source/capi/bindings/node/examples/xor.js /p/xor.mjs
    node xor.mjs 2>&1
    [ ! -f node_modules/dl4/lib/dl4.wasm ] || node --conditions=wasm xor.mjs 2>&1'
}
if command -v npm >/dev/null; then
  root_of node nodejs npm
  check "npm install dl4" npm_package
else
  left_out "npm install dl4" "there is no npm, which gets koffi"
fi

# ---- Java ------------------------------------------------------------------------------------------------------------

# In pool/m2 what Maven needs to compile and run, and JNA.
project() {
  local folder=$index/maven/org/dl4/dl4/$version
  mkdir -p "$folder" "$index/project/src/main/java"
  cp "$made/dl4-$version".{jar,pom} "$folder"
  cp capi/bindings/java/examples/Xor.java "$index/project/src/main/java"
  cat >"$index/project/pom.xml" <<XML
<project>
  <modelVersion>4.0.0</modelVersion>
  <groupId>example</groupId><artifactId>example</artifactId><version>1</version>
  <properties>
    <maven.compiler.source>17</maven.compiler.source><maven.compiler.target>17</maven.compiler.target>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <repositories><repository><id>released</id><url>\${released}</url></repository></repositories>
  <dependencies>
    <dependency><groupId>org.dl4</groupId><artifactId>dl4</artifactId><version>$version</version></dependency>
  </dependencies>
</project>
XML
}
train=(-B -Dstyle.color=never compile org.codehaus.mojo:exec-maven-plugin:3.1.0:java -Dexec.mainClass=Xor)

maven() {
  project
  if [ ! -f "$pool/m2/ready" ]; then
    mvn -q -f "$index/project" -Dmaven.repo.local="$pool/m2" -Dreleased="file://$index/maven" "${train[@]}" || return
    rm -r "$pool/m2/org/dl4" "$index/project/target"
    touch "$pool/m2/ready"
  fi
  in_root java "
    mkdir -p ~/.m2 && cp -r /pool/m2 ~/.m2/repository && cp -r /index/project /p && cd /p
    mvn -q -Dreleased=file:///index/maven ${train[*]}
    [ -z \"\$(find /tmp -name 'libdl4*')\" ]"
}
if command -v mvn >/dev/null; then
  root_of java openjdk-17-jdk-headless maven
  check "Maven org.dl4:dl4" maven
else
  left_out "Maven org.dl4:dl4" "there is no Maven, which gets JNA and its own plug-ins"
fi

# ---- Rust, Go and R, which link with the library of Debian's packages ------------------------------------------------

crates() {
  local file
  mkdir -p "$index/crates"
  for file in "$made"/*.crate; do
    tar xzf "$file" -C "$index/crates"
    echo '{"files":{}}' >"$index/crates/$(basename "$file" .crate)/.cargo-checksum.json"
  done
  in_root rust '
    dpkg -i /made/libdl4-*.deb
    mkdir -p /p/.cargo /p/src && cd /p
    printf "%s\n" "[source.crates-io]" "replace-with = \"released\"" "[source.released]" "directory = \"/index/crates\"" \
      >.cargo/config.toml
    printf "%s\n" "[package]" "name = \"p\"" "version = \"0.1.0\"" "edition = \"2021\"" "[dependencies.dl4]" \
      "version = \"1\"" >Cargo.toml
    cp /source/capi/bindings/rust/dl4/examples/xor.rs src/main.rs
    cargo run --offline --quiet' || return
  beneath -n "$work/tried" "$work/roots/rust/upper:$work/base" sh -ec '
    cd /p
    printf "features = [\"static\"]\n" >>Cargo.toml
    cargo build --offline --quiet
    dpkg -r libdl4-dev libdl4-1
    target/debug/p' && took
}

module() {
  mkdir -p "$index/go"
  unzip -q "$made/dl4-go-$version.zip" -d "$index/go"
  in_root go '
    dpkg -i /made/libdl4-*.deb
    mkdir /p && cd /p
    export GOPROXY=file:///index/go GOSUMDB=off GOFLAGS=-mod=mod
    go mod init example
    go get dl4.invalid/dl4
    cp /source/capi/bindings/go/examples/xor/main.go .
    go run .'
}

# The index of a repository of R's is a file with the descriptions.
r_package() {
  local folder=$index/cran/src/contrib
  mkdir -p "$folder"
  cp "$made/dl4_$version.tar.gz" "$folder"
  { cat capi/bindings/r/DESCRIPTION && echo "NeedsCompilation: yes"; } >"$folder/PACKAGES"
  in_root r '
    dpkg -i /made/libdl4-1_*.deb
    Rscript -e "install.packages(\"dl4\", repos = \"file:///index/cran\", quiet = TRUE)"
    Rscript /source/capi/bindings/r/examples/xor.R'
}

root_of rust cargo rustc g++ pkg-config
check "cargo, dl4 = \"1\"" crates
root_of go golang-go gcc libc6-dev pkg-config
check "go get dl4.invalid/dl4" module
root_of r $(cat capi/bindings/r/packages.txt)
check "install.packages(\"dl4\") in R" r_package

left_out "wheels for arm64, musl, Windows" "tried by run.sh arm64, musl, windows"
