#!/bin/bash
# The body of ./run fuzz: builds targets with clang-19 and runs them, one after the other, on one core.
#   fuzz.sh [TARGET...] [--time SECONDS] [--keep] [--list]
# New inputs, and inputs that end the process, go to $XDG_CACHE_HOME/consort/fuzz/TARGET. --keep takes those into the
# corpus that reach new code. Ends with "N passed, N failed".
set -u
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
seconds=60 keep= list=
targets=()
usage() { echo "usage: ./run fuzz [TARGET...] [--time SECONDS] [--keep] [--list]" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --time) [ $# -gt 1 ] && [[ $2 =~ ^[0-9]+$ ]] || usage; seconds=$2; shift ;;
    --keep) keep=1 ;;
    --list) list=1 ;;
    -*) usage ;;
    *) targets+=("$1") ;;
  esac
  shift
done
mapfile -t known < <(sed -nE 's/^ *fuzz_target\(([a-z_]+).*/\1/p' tests/fuzz/CMakeLists.txt)
if [ -n "$list" ]; then
  for t in "${known[@]}"; do printf '%-14s %4d inputs  %s\n' "$t" "$(find "tests/fuzz/corpus/$t" -type f | wc -l)" "$(sed -n '1s,^// ,,p' "tests/fuzz/$t.cpp")"; done
  exit 0
fi
[ ${#targets[@]} -eq 0 ] && targets=("${known[@]}")
for t in "${targets[@]}"; do
  [[ " ${known[*]} " == *" $t "* ]] || { echo "./run fuzz knows no target \"$t\"; --list names them" >&2; exit 2; }
done
command -v clang++-19 >/dev/null || { echo "./run fuzz needs clang-19 with libFuzzer: apt-get install -y --no-install-recommends clang-19 libclang-rt-19-dev" >&2; exit 3; }

mkdir -p build
[ -f build/fuzz/build.ninja ] || cmake --preset fuzz >build/fuzz.log 2>&1 || { cat build/fuzz.log >&2; exit 1; }
ninja -C build/fuzz -j "$(nproc)" "${targets[@]/#/fuzz_}" >build/fuzz.log 2>&1 || { grep -v '^\[' build/fuzz.log >&2; exit 1; }

export ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1:handle_abort=1 UBSAN_OPTIONS=print_stacktrace=1
symbolizer=$(command -v llvm-symbolizer-19 || command -v llvm-symbolizer) && export ASAN_SYMBOLIZER_PATH=$symbolizer
passed=0 failed=0
for t in "${targets[@]}"; do
  program=$PWD/build/fuzz/tests/fuzz/fuzz_$t corpus=$PWD/tests/fuzz/corpus/$t
  folder=${XDG_CACHE_HOME:-$HOME/.cache}/consort/fuzz/$t
  mkdir -p "$folder/new" "$folder/found"
  options=(-timeout=10 -rss_limit_mb=2048)
  [ -f "tests/fuzz/dictionaries/$t.dict" ] && options+=("-dict=$PWD/tests/fuzz/dictionaries/$t.dict")
  if [ "$seconds" -gt 0 ]; then
    if nice "$program" "${options[@]}" -max_total_time="$seconds" -print_final_stats=1 -artifact_prefix="$folder/found/" \
      "$folder/new" "$corpus" >"$folder/log" 2>&1; then
      passed=$((passed + 1)) word=
    else
      failed=$((failed + 1)) word="FOUND: $folder/log"
    fi
    printf '%-14s %9s executions  %6s edges  %s\n' "$t" "$(sed -nE 's/^stat::number_of_executed_units: +//p' "$folder/log")" \
      "$(grep -aoE 'cov: [0-9]+' "$folder/log" | tail -1 | cut -c6-)" "$word"
    [ -n "$word" ] && tail -n 40 "$folder/log"
  fi
  if [ -n "$keep" ]; then
    before=$(find "$corpus" -type f | wc -l)
    "$program" "${options[@]}" -max_len=4096 -merge=1 "$corpus" "$folder/new" >"$folder/merge.log" 2>&1 || { tail -n 5 "$folder/merge.log" >&2; failed=$((failed + 1)); }
    echo "$t: $(($(find "$corpus" -type f | wc -l) - before)) inputs kept; the corpus has $(du -sb --apparent-size "$corpus" | cut -f1) bytes"
  fi
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
