#!/bin/bash
# The kernel, the C API and the ABI's layout on another machine: cross-built for AArch64, tests run by qemu-user.
#
# qemu translates to this machine's instructions. So it shows wrong branches on the architecture, sizes, alignments and
# signedness of char, and no missing memory order: the sources argue these (docs/memory-orders.md).
#
#   aarch64.sh [FOLDER] [--tests REGEX]   FOLDER: of the build; default build/aarch64
set -u
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
build=build/aarch64
# All tests of the kernel's rooms, of the C API and of the C++ one. Left out are what asks a compiler for its messages
# (face_wrong_use), mutated configurations and tests that start a runtime a thousand times, which take long here and depend on
# no architecture (plugin_config_fuzz, alloc_fail), and libraries that are not fetched (OpenCL, Level Zero, OpenBLAS).
rooms='api|base|exec|face|graph|machine|memory|model|observe|plugin|remote|replay|robustness|sched|task'
tests="^(($rooms)_.*|sdk_face|drivers_disk_checksum)_test\$"
left_out_tests='^(face_wrong_use|plugin_config_fuzz|.*_alloc_fail.*|.*_(opencl|level_zero|opencl_[a-z]+|team_blas))_test$'
while [ $# -gt 0 ]; do
  case $1 in
    --tests) tests=$2 && shift ;;
    *) build=$1 ;;
  esac
  shift
done
mkdir -p "$build"
build=$(readlink -f "$build")
sysroot=$build/sysroot

left_out() { echo "left out: $*"; exit 0; }
for tool in aarch64-linux-gnu-gcc aarch64-linux-gnu-g++ qemu-aarch64-static; do
  command -v $tool >/dev/null ||
    left_out "no $tool here; to have it: apt-get install gcc-aarch64-linux-gnu g++-aarch64-linux-gnu qemu-user-static"
done
[ -e /usr/src/googletest/CMakeLists.txt ] || left_out "no /usr/src/googletest here; to have it: apt-get install googletest"

# hwloc for arm64 and its dependencies, unpacked into a folder. The packages of this machine are not touched: apt has lists
# and packages of its own below the build folder.
fetch_hwloc() {
  local apt=$build/apt
  mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/packages" || return 1
  local mirror keyring=/usr/share/keyrings/debian-archive-keyring.gpg release
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  mirror=$(sed -nE 's/^URIs: *(http[^ ]*debian\.org\/debian)\/?$/\1/p; s/^deb (\[[^]]*\] )?(http[^ ]*debian\.org\/debian)\/? .*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -1)
  echo "deb [signed-by=$keyring] ${mirror:-http://deb.debian.org/debian} $release main" >"$apt/sources.list"
  local options=(-q -o APT::Architecture=arm64 -o APT::Architectures::=arm64 -o Dir::Etc::sourcelist="$apt/sources.list"
    -o Dir::Etc::sourceparts=- -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o Dir::State::status=/dev/null
    -o APT::Sandbox::User=root -o Acquire::Retries=2 -o Acquire::http::Timeout=30)
  apt-get "${options[@]}" update || return 1
  (cd "$apt/packages" && apt-get "${options[@]}" download libhwloc15 libhwloc-dev libudev1) || return 1
  local package
  for package in "$apt"/packages/*_arm64.deb; do dpkg-deb -x "$package" "$sysroot" || return 1; done
  # The compiler looks for a library's headers of one architecture below its own folders alone.
  cp -r "$sysroot/usr/include/aarch64-linux-gnu/." "$sysroot/usr/include/" || return 1
  # Libraries of headers alone are the same on every machine.
  for package in boost toml++ CLI nlohmann; do
    [ ! -e "/usr/include/$package" ] || ln -sfn "/usr/include/$package" "$sysroot/usr/include/$package"
  done
}
[ -e "$sysroot/usr/include/hwloc/autogen/config.h" ] || fetch_hwloc ||
  left_out "hwloc for arm64 could not be fetched from Debian; the lines above say why"

toolchain=(-G Ninja -DCMAKE_TOOLCHAIN_FILE="$PWD/tests/checks/aarch64.cmake" -DCONSORT_SYSROOT="$sysroot" -DCMAKE_BUILD_TYPE=Release)
jobs=$(nproc)
if [ ! -e "$sysroot/usr/lib/libgtest.a" ]; then
  cmake -S /usr/src/googletest -B "$build/googletest" "${toolchain[@]}" -DBUILD_GMOCK=OFF -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_INSTALL_PREFIX="$sysroot/usr" && ninja -C "$build/googletest" -j "$jobs" install || exit 1
fi

# The layout that the headers promise is the same there.
cat >"$build/clang-aarch64" <<'WRAPPER'
#!/bin/bash
exec "$(command -v clang-19 || command -v clang)" --target=aarch64-linux-gnu -isystem /usr/aarch64-linux-gnu/include "$@"
WRAPPER
chmod +x "$build/clang-aarch64"
passed=0 failed=0
if command -v clang-19 >/dev/null || command -v clang >/dev/null; then
  if CLANG=$build/clang-aarch64 sdk/abi/layout.py check; then passed=1; else failed=1; fi
else
  echo "the layout is left out: no clang here"
fi

cmake -S . -B "$build/consort" "${toolchain[@]}" -DCONSORT_TOOLS=OFF -DCONSORT_EXAMPLES=OFF -DCONSORT_BENCH=OFF \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_CXX_FLAGS_RELEASE="-O1" -DCMAKE_C_FLAGS_RELEASE="-O1" >"$build/configure.log" 2>&1 || {
  tail -20 "$build/configure.log"
  exit 1
}
# Tests that start other programs of this build need the system's help for a foreign one (binfmt_misc): left out.
mapfile -t programs < <(ninja -C "$build/consort" -t targets all | sed -nE 's/^([a-z]+_[a-z0-9_]+_test): phony$/\1/p' |
  grep -E "$tests" | grep -vE "$left_out_tests" | sort -u)
[ ${#programs[@]} -gt 0 ] || { echo "no test matches $tests"; exit 1; }
ninja -C "$build/consort" -j "$jobs" -k 0 consort_plugins consort_test_{foreign,no_entry,unresolved} "${programs[@]}" >"$build/build.log" 2>&1
status=$?
grep -E ' (warning|error): |^FAILED' "$build/build.log" | sort -u
[ $status -eq 0 ] && ! grep -q ' warning: ' "$build/build.log" || { echo "the cross build fails or warns; $build/build.log"; exit 1; }

# Left out: a program with more rights than its user, which qemu does not start as such. A thousand runtimes one after
# the other, since each takes a third of a second. A test of resident memory, which is qemu's own there.
export GTEST_FILTER='-*Privileged*:Lifecycle.RepeatedStartAndStop*:Lifecycle.ThreadRecords*' TEST_LIMIT=850 XDG_CACHE_HOME=$build/cache QEMU_LD_PREFIX=/usr/aarch64-linux-gnu
# The command of each test: a program, and the file in it.
ctest --test-dir "$build/consort" --show-only=json-v1 |
  python3 -c 'import json, sys; [print(t["name"], *t.get("command", [])) for t in json.load(sys.stdin)["tests"]]' >"$build/commands"
# -R: qemu keeps a record of each page of address space that was ever reserved, so programs that start many runtimes get a
# range that is used again; without it one took 21 GB.
export build sysroot
run_one() { # run_one TEST: says whether it passed, on one line; its output is in TEST.log
  local log=$build/$1.log command
  read -ra command < <(sed -n "s/^$1 //p" "$build/commands")
  if (cd "$build/consort/tests" && timeout 900 qemu-aarch64-static -R 128G -E LD_LIBRARY_PATH="$sysroot/usr/lib/aarch64-linux-gnu" "${command[@]}") >"$log" 2>&1 </dev/null; then
    echo "passed $1"
  else
    echo "failed $1"
  fi
}
export -f run_one
while read -r result p; do
  if [ "$result" = passed ]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "---- $p:"
    grep -vE '^\[ +(OK|RUN) |^\[-+\]|^$' "$build/$p.log" | tail -n 30
  fi
done < <(printf '%s\n' "${programs[@]}" | xargs -P "$jobs" -I{} bash -c 'run_one {}')
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
