#!/bin/bash
# The stranger's view. Installs the SDK of BUILD somewhere and takes the plugins' folders, nothing else of this
# repository. Builds each with find_package(Consort), and runs a program on them. Embeds the runtime by CMake and by
# pkg-config. Links the plugins into a program. Makes plugins by `consort new`, builds and tests them.
#
#   stranger.sh BUILD
set -u
root=$(dirname "$(readlink -f "$0")")/../..
root=$(readlink -f "$root")
build=$(readlink -f "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
unset CONSORT_PLUGIN_PATH CONSORT_PLUGINS CONSORT_CONFIG LD_LIBRARY_PATH
export XDG_CACHE_HOME=$work/cache
passed=0 failed=0

step() { # step WHAT COMMAND...
  local what=$1
  shift
  if "$@" >"$work/log" 2>&1; then
    passed=$((passed + 1))
    echo "ok   $what"
  else
    failed=$((failed + 1))
    echo "FAIL $what"
    tail -n 30 "$work/log"
  fi
}
refused() { # the command fails with an answer, not with a crash
  timeout 20 "$@"
  local status=$?
  [ $status -gt 0 ] && [ $status -lt 124 ]
}
system_package() { # nothing is installed into the system: DESTDIR stands before
  DESTDIR=$work/system cmake --install "$build" --prefix /usr --component sdk || return 1
  local pc
  pc=$(find "$work/system" -name consort.pc)
  [ -n "$pc" ] && ! grep -q rpath "$pc"
}
configure_and_build() { # SOURCE BUILD [OPTIONS]; that it builds is the question, not how fast it is
  local source=$1 to=$2
  shift 2
  cmake -G Ninja -S "$source" -B "$to" -DCMAKE_BUILD_TYPE=Debug -DCMAKE_C_FLAGS_DEBUG=-O0 -DCMAKE_CXX_FLAGS_DEBUG=-O0 \
    -DCMAKE_PREFIX_PATH="$prefix" "$@" && ninja -C "$to" -k 0
}

step "install the SDK" cmake --install "$build" --prefix "$prefix"
libdir=$(dirname "$(find "$prefix" -name libconsort.so | head -1)")
inside=$(cd "$libdir/consort/plugins" && ls -d -- *.so)
beside=$(cd "$libdir/consort/plugins" && find . -mindepth 2 -name '*.so' -printf '%P\n') # what a plugin loads itself
rm -rf "$libdir/consort/plugins"

step "embed by find_package" configure_and_build "$root/tests/checks/embed" "$work/embed"
mkdir "$work/embed-c"
sed 's/project(embed C CXX)/project(embed C)/; /embed_cpp/d' "$root/tests/checks/embed/CMakeLists.txt" >"$work/embed-c/CMakeLists.txt"
cp "$root/tests/checks/embed/main.c" "$work/embed-c"
step "embed in a project without C++" configure_and_build "$work/embed-c" "$work/embed-c-build"
step "no plugins at all: an error, no crash" refused "$work/embed/embed_c"

cp -r "$root/plugins" "$work/plugins"
cat >"$work/plugins/CMakeLists.txt" <<'LIST'
cmake_minimum_required(VERSION 3.25)
project(plugins C CXX)
find_package(Consort REQUIRED)
file(GLOB lists ${CMAKE_CURRENT_SOURCE_DIR}/*/*/CMakeLists.txt)
foreach(list IN LISTS lists)
  cmake_path(GET list PARENT_PATH folder)
  add_subdirectory(${folder})
endforeach()
LIST
# A unity build: the plugins were compiled file by file before, and no file changes here.
step "build every plugin by find_package" configure_and_build "$work/plugins" "$work/plugins-build" -DCMAKE_UNITY_BUILD=ON
step "install them" cmake --install "$work/plugins-build" --prefix "$prefix"
for plugin in $inside $beside; do
  step "plugin ${plugin%.so} is there again" test -f "$libdir/consort/plugins/$plugin"
done

step "run on them, C" timeout 60 "$work/embed/embed_c"
step "run on them, C++" timeout 60 "$work/embed/embed_cpp"
step "install a program" cmake --install "$work/embed" --prefix "$work/elsewhere"
step "run it from there" timeout 60 "$work/elsewhere/bin/embed_c"
step "a system's package has no run path" system_package
for scheduler in "$work"/plugins/schedulers/*/; do
  scheduler=$(basename "$scheduler")
  step "run on scheduler $scheduler" timeout 60 "$work/embed/embed_c" scheduler "$scheduler" workers 2
done
if [ -x "$prefix/bin/consort" ]; then
  step "consort plugins" timeout 20 "$prefix/bin/consort" plugins -v
  for plugin in $inside; do
    step "consort plugins lists ${plugin%.so}" grep -qw "${plugin%.so}" <(timeout 20 "$prefix/bin/consort" plugins)
  done
fi

for example in complex block_list; do # an interface of one's own, and a program that uses it once it is installed
  step "a user's interface: $example" configure_and_build "$root/examples/$example" "$work/$example"
  step "install it" cmake --install "$work/$example" --prefix "$prefix"
  rm -rf "$work/$example/plugins"
  step "run on it" timeout 60 "$work/$example/$example"
done

if [ -x "$prefix/bin/consort" ]; then # the plugins of `consort new`: every kind in both languages, in one build
  mkdir "$work/new"
  for kind in scheduler driver interface transport; do
    for language in c cpp; do
      step "consort new $kind --lang $language" timeout 20 "$prefix/bin/consort" new "$kind" "my-$kind-$language" --lang "$language" \
        -o "$work/new/$kind-$language"
    done
  done
  cat >"$work/new/CMakeLists.txt" <<'LIST'
cmake_minimum_required(VERSION 3.25)
project(made C CXX)
enable_testing()
file(GLOB lists ${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt)
foreach(list IN LISTS lists)
  cmake_path(GET list PARENT_PATH folder)
  add_subdirectory(${folder})
endforeach()
LIST
  step "build the plugins of consort new" configure_and_build "$work/new" "$work/new-build" -DCONSORT_CONFORM_LEVEL=1
  step "its tests" ctest --test-dir "$work/new-build" --output-on-failure --no-tests=error -j 2
fi

# The lines of docs/use.md and docs/embed.md, with nothing else in the environment.
export PKG_CONFIG_PATH=$libdir/pkgconfig
for page in use embed; do
  step "docs/$page.md says this line" grep -qE '^c(c|\+\+) .* \$\(pkg-config --cflags --libs consort\) -o ' "$root/docs/$page.md"
done
step "embed by pkg-config" bash -c "cc -std=c11 -Wall -Wextra -Werror '$root/tests/checks/embed/main.c' \$(pkg-config --cflags --libs consort) -o '$work/by_pc'"
step "embed by pkg-config, C++" bash -c "c++ -std=c++20 -O2 '$root/tests/checks/embed/main.cpp' \$(pkg-config --cflags --libs consort) -o '$work/by_pc_cpp'"
examples=$(dirname "$(find "$prefix" -path '*/consort/examples/hello/hello.cpp')")
step "an installed example, by pkg-config" bash -c "c++ -std=c++20 -O2 '$examples/hello.cpp' \$(pkg-config --cflags --libs consort) -o '$work/installed_example'"
step "run that" timeout 60 "$work/installed_example"
step "run it, C++" timeout 60 "$work/by_pc_cpp"
step "run it" timeout 60 "$work/by_pc"
step "pkg-config knows the plugins' folder" test "$(pkg-config --variable=plugindir consort)" -ef "$libdir/consort/plugins"

rm -rf "$libdir/consort/plugins"
step "link the plugins into a program" configure_and_build "$root/tests/checks/static" "$work/static" -DPLUGINS="$work/plugins" -DCMAKE_UNITY_BUILD=ON
step "run it without a plugin folder" timeout 60 "$work/static/static"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
