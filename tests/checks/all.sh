#!/bin/bash
# The body of ./run test: stage after stage, each with a log of its own, all of them even if one fails. A stage that
# ends in "N passed, N failed", or is a ctest run, counts as that many; any other as one.
#   all.sh [--all | --full] [--only REGEX]
# Without an option: the stages of a few minutes. --all: the stages of CI. --full: these and the long campaigns.
set -u
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
all= full= only=.
while [ $# -gt 0 ]; do
  case $1 in
    --all) all=1 ;;
    --full) all=1 full=1 ;;
    --only) only=$2 && shift ;;
    *) echo "usage: ./run test [--all | --full] [--only REGEX]" >&2 && exit 2 ;;
  esac
  shift
done
[ -n "$full" ] && export CONSORT_FULL=1
export CCACHE_SLOPPINESS=pch_defines,time_macros # else it keeps no object that is built with a precompiled header
jobs=$(nproc)
logs=build/test-logs
mkdir -p $logs
rm -f $logs/*
passed=0 failed=0 summary=()

watched() { # watched NAME LOG COMMAND...: on a terminal one line says how far the command is
  local name=$1 log=$2 watcher= status start=$SECONDS
  shift 2
  if [ -t 1 ]; then
    while sleep 1; do
      printf '\r\033[K%-18s %4d s  %s' "$name" $((SECONDS - start)) \
        "$(tail -c 2000 "$log" 2>/dev/null | grep -oE '^\[[0-9]+/[0-9]+\]|^ *[0-9]+/[0-9]+ Test +#[0-9]+: [^ ]+' | tail -n 1)"
    done &
    watcher=$!
  fi
  "$@" >"$log" 2>&1 </dev/null
  status=$?
  [ -z "$watcher" ] || { kill "$watcher"; wait "$watcher" 2>/dev/null; printf '\r\033[K'; }
  return $status
}

stage() { # stage NAME COMMAND...
  local name=$1 log start seconds status p f
  shift
  [[ $name =~ $only ]] || return 0
  log=$logs/${name// /-}.log
  start=$(date +%s)
  watched "$name" "$log" "$@"
  status=$?
  seconds=$(($(date +%s) - start))
  read -r p f < <(sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p;
    s/^[0-9]+% tests passed, ([0-9]+) tests failed out of ([0-9]+)$/\2 \1 ctest/p' "$log" |
    awk '{ if ($3 == "ctest") { p += $1 - $2; f += $2 } else { p += $1; f += $2 } } END { if (NR) print p, f }')
  if [ -z "${p:-}" ]; then
    if [ $status -eq 0 ]; then p=1 f=0; else p=0 f=1; fi
  elif [ $status -ne 0 ] && [ "$f" -eq 0 ]; then
    f=1
  fi
  passed=$((passed + p)) failed=$((failed + f))
  summary+=("$(printf '%-18s %5d passed %3d failed %5d s' "$name" "$p" "$f" "$seconds")")
  echo "${summary[-1]}"
  if [ "$f" -ne 0 ]; then
    echo "---- the end of $log:"
    grep -vE '^\[[0-9]+/[0-9]+\] (Building|Linking)|^\[ +(OK|RUN) |^\[-+\]|^\[=+\]|^ *Start +[0-9]+:|   Passed  |^$' "$log" | tail -n 100
    echo "----"
  fi
}

make() { # make FOLDER PRESET "TARGET..." [OPTIONS]: configures and builds; a warning is a failure
  local folder=build/$1 preset=$2 targets=$3
  shift 3
  cmake --preset "$preset" -B "$folder" -DCONSORT_TEST_TIMEOUT="$([ -n "$full" ] && echo 3600 || echo 300)" "$@" || return 1
  # shellcheck disable=SC2086 # a list of words
  ninja -C "$folder" -j "$jobs" -k 0 $targets | tee "$logs/ninja"
  local status=${PIPESTATUS[0]}
  if grep -q ' warning: ' "$logs/ninja"; then
    echo "the build warns:"
    grep ' warning: ' "$logs/ninja" | sort -u
    return 1
  fi
  return "$status"
}

# The sanitizers are clang's where it is: its builds take half the time, and each line meets both compilers in CI.
clang=(-DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19) by_clang=()
if command -v clang++-19 >/dev/null && clang++-19 -fsanitize=address -x c++ -o /dev/null - <<<'int main() {}' 2>/dev/null; then
  by_clang=("${clang[@]}")
  ASAN_SYMBOLIZER_PATH=$(command -v llvm-symbolizer-19 || command -v llvm-symbolizer) && export ASAN_SYMBOLIZER_PATH
fi

clang_build() { # the release build by the other compiler, warnings and all
  command -v clang++-19 >/dev/null || { echo "left out: no clang++-19 here"; return 0; }
  make clang release all "${clang[@]}" -DCONSORT_BENCH=OFF
}

fuzz() { # each target, 30 s
  command -v clang++-19 >/dev/null || { echo "left out: no clang++-19 here"; return 0; }
  XDG_CACHE_HOME=$PWD/build/cache tests/fuzz/fuzz.sh --time 30
}

tests_of() { # tests_of FOLDER [CTEST OPTION...]; one test more than cores: some only sleep
  local folder=$1
  shift
  ctest --test-dir "build/$folder" --output-on-failure --no-tests=error -j $((jobs + 1)) "$@"
}

storm() { # the seeds come from the commit: a rerun repeats them. Without git: from 0
  local commit from to
  commit=$(git rev-parse HEAD 2>/dev/null | cut -c1-7)
  from=$((16#${commit:-0} * 1000))
  to=$((from + 10000000))
  build/release/tests/storm/storm --seeds $from..$to --seconds "$([ -n "$full" ] && echo 600 || echo 60)" \
    --jobs "$jobs" --coverage --out build/storm-failures || return 1
  build/release/tests/storm/storm --seeds $from..$to --seconds 10 --check-determinism
}

# Of the sanitizers in minutes: random programs with all that the kernel does, on simulated machines.
smoke='storm'
smoke_targets='storm consort_plugins'

if [ -n "$all" ]; then stage "build release" make release release all; else stage "build release" make release release consort_tested; fi
stage "includes" tests/checks/includes.py
stage "standard headers" tests/checks/standard_headers.py
stage "floors" tests/checks/floors.py
stage "lengths" tests/checks/lengths.py
stage "vocabulary" tests/checks/vocabulary.py
stage "naps" tests/checks/naps.py
stage "atomics" tests/checks/atomics.py
stage "parity" tests/checks/parity.py
stage "parity gate" tests/checks/parity_gate.py
stage "subjects" tests/checks/subjects.py
stage "hooks" tests/checks/hooks.sh
stage "abi layout" sdk/abi/layout.py check
stage "rules" sdk/rules/rules.py check
stage "links" tests/checks/links.py
stage "columns" tests/checks/columns.py
stage "threats" tests/checks/threats.py
stage "abi gate" tests/checks/layout_gate.py
stage "abi lifecycle" sdk/abi/lifecycle.py check . build/release/lib/libconsort.so
stage "static tls" tests/checks/static_tls.py build/release/lib/libconsort.so
stage "lifecycle gate" tests/checks/lifecycle_gate.py
if [ -z "$all" ]; then
  stage "compile matrix" tests/checks/matrix.py --quick
  export STRESS_BRIEF=1
  stage "tests release" tests_of release -LE "^(conform|bench|fuzz|$smoke)\$"
  stage "build smoke" make smoke smoke "$smoke_targets" "${by_clang[@]}"
  stage "tests smoke" tests_of smoke -L "^($smoke)\$"
else
  stage "compile matrix" tests/checks/matrix.py
  stage "tests release" tests_of release -LE '^fuzz$' # with the sanitizers
  stage "storm" storm
  [ -n "$full" ] && stage "storm mutations" tests/storm/mutations.py
  # With the sanitizers clang compiles each file; alone it does here.
  [ -n "$full" ] || [ ${#by_clang[@]} -eq 0 ] && stage "clang" tests/checks/clang_syntax.py build/release
  stage "stranger" tests/checks/stranger.sh build/release
  stage "old examples" tests/checks/old_examples.sh build/release
  stage "snippets" tests/checks/snippets.py build/release
  stage "python" tests/checks/python.sh build/release
  stage "build asan" make asan asan all "${by_clang[@]}"
  stage "tests asan" tests_of asan
  long=$([ -n "$full" ] && echo ON || echo OFF) # tests that add no concurrency to the others
  stage "build tsan" make tsan tsan all "${by_clang[@]}" -DCONSORT_TOOLS=OFF -DCONSORT_EXAMPLES="$long" -DCONSORT_TESTS_OF_ONE_THREAD="$long"
  stage "thread locals" tests/checks/thread_locals.py build/tsan
  stage "tests tsan" tests_of tsan
  [ -n "$full" ] && stage "build clang" clang_build
  [ -n "$full" ] && stage "aarch64" tests/checks/aarch64.sh
  [ -n "$full" ] && stage "fuzz" fuzz
  [ -n "$full" ] && stage "docs site" tests/checks/docs_site.py
  [ -n "$full" ] && stage "fresh" tests/checks/fresh.sh
  [ -n "$full" ] && stage "package" tests/checks/package.sh --build
fi

[ ${#summary[@]} -gt 0 ] || { echo "no stage here is called \"$only\"; some are in --all or --full alone" >&2; exit 2; }
echo
printf '%s\n' "${summary[@]}"
printf 'all stages: %d s; logs in %s\n' $SECONDS $logs
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
