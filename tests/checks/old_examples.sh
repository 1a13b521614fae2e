#!/bin/bash
# Old names keep working: builds the examples and example plugins of commit 65e8e6c, which are written with the names of
# before, on the SDK of BUILD, and runs those that use such a name or load a plugin. Needs the history of git: without it
# (an archive, a shallow clone) the check says so and passes.
#   old_examples.sh BUILD
set -u
commit=65e8e6cd999c613f80f667dd8b35679eeccf3466
root=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
build=$(readlink -f "$1")
git -C "$root" cat-file -e $commit:examples 2>/dev/null || { echo "left out: no commit ${commit:0:7} in this copy of the sources"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset CONSORT_PLUGIN_PATH CONSORT_PLUGINS CONSORT_CONFIG LD_LIBRARY_PATH
export XDG_CACHE_HOME=$work/cache
passed=0 failed=0

step() { # step WHAT COMMAND...
  local what=$1
  shift
  if "$@" >"$work/log" 2>&1 </dev/null; then
    passed=$((passed + 1)) && echo "ok   $what"
  else
    failed=$((failed + 1)) && echo "FAIL $what" && grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking)' "$work/log" | tail -n 30
  fi
}
prints() { # prints PATTERN PROGRAM...: the program succeeds, and a line of its output has the pattern
  local pattern=$1
  shift
  timeout 60 "$@" | tee /dev/stderr | grep -qE "$pattern" && [ "${PIPESTATUS[0]}" -eq 0 ]
}

mkdir "$work/old" && git -C "$root" archive $commit examples | tar -x -C "$work/old"
cat >"$work/old/CMakeLists.txt" <<'LIST'
cmake_minimum_required(VERSION 3.25)
project(old_examples C CXX)
find_package(Consort REQUIRED)
set(CONSORT_BIN_DIR ${PROJECT_BINARY_DIR}/bin)
add_compile_options(-Wno-deprecated-declarations)
add_subdirectory(examples)
LIST
launcher=$(command -v ccache)
step "install the SDK" cmake --install "$build" --prefix "$work/prefix"
step "configure the examples of ${commit:0:7}" cmake -G Ninja -S "$work/old" -B "$work/build" -DCMAKE_BUILD_TYPE=Debug \
  -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS_DEBUG=-O0 -DCMAKE_PREFIX_PATH="$work/prefix" \
  ${launcher:+-DCMAKE_C_COMPILER_LAUNCHER="$launcher" -DCMAKE_CXX_COMPILER_LAUNCHER="$launcher"}
step "build them" ninja -C "$work/build" -k 0
cd "$work/build/bin" || exit 1
step "opencl(path, entry)" prints 'the first element is 3' ./hello
step "plan(filter, parameters)" prints 'largest error 0$' ./filters --rows 41 --cols 7 --bands 6 --steps 13
step "C: hello_world" prints 'Hello world' ./hello_world
step "plugin: layout block_list" prints 'numbers kept as' ./block_list
step "plugin: layout complex" prints '0 wrong' ./complex
step "plugin: scheduler fifo" prints 'tasks by fifo' ./scheduler
echo "$(find "$work/build/bin" -maxdepth 1 -type f -perm -u+x | wc -l) programs"
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
