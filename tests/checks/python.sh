#!/bin/bash
# The Python binding: builds it over a build of the library, its tests and doctests, its types by mypy, its examples.
# Without what it needs it is left out with one line that names the packages.   python.sh BUILD [PYTEST OPTION...]
set -u
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
build=$(readlink -f "$1")
shift
out=$PWD/build/python
needed='import numpy, pytest, setuptools, sysconfig, os; assert os.path.exists(sysconfig.get_path("include") + "/Python.h")'
for python in python3 /usr/bin/python3 ''; do
  [ -n "$python" ] && "$python" -c "$needed" 2>/dev/null && break
done
if [ -z "$python" ]; then
  echo "left out: the Python binding:  apt-get install -y --no-install-recommends python3-dev python3-numpy python3-pytest python3-setuptools"
  exit 0
fi
python=$(command -v "$python")
export PYTHONPATH=$out/lib CONSORT_PLUGIN_PATH=$build/lib/consort/plugins PYTHONDONTWRITEBYTECODE=1 PATH=$build/bin:$PATH
passed=0 failed=0
count() { # count STATUS WHAT
  if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)) && echo "$2 failed"; fi
}

(cd bindings/python && LIBCONSORT_BUILD=$build "$python" setup.py -q build --build-base "$out/tmp" --build-lib "$out/lib" --parallel 2) >"$out.log" 2>&1 ||
  { cat "$out.log"; echo "0 passed, 1 failed"; exit 1; }
! grep -E 'core/.*warning:' "$out.log"
count $? "the build without warnings"

tests=$("$python" -m pytest -q -p no:cacheprovider -o faulthandler_timeout=120 --rootdir bindings/python bindings/python/tests "$@" 2>&1)
status=$?
echo "$tests" | tail -n 60
read -r p f < <(echo "$tests" | tail -n 1 | awk '{ for (i = 2; i <= NF; ++i) { if ($i ~ /^passed/) p = $(i - 1); if ($i ~ /^(failed|error)/) f += $(i - 1) } print p + 0, f + 0 }')
[ $status -eq 0 ] || [ "$f" -gt 0 ] || f=1
passed=$((passed + p)) failed=$((failed + f))

for module in "$out"/lib/consort/*.py; do
  name=$(basename "$module" .py)
  [ "$name" != joblib ] || "$python" -c "import joblib" 2>/dev/null || continue
  [ "$name" = __init__ ] && name=consort || name=consort.$name
  "$python" -c "import doctest, importlib, sys; sys.exit(doctest.testmod(importlib.import_module('$name')).failed > 0)"
  count $? "doctests of $name"
done

for example in bindings/python/examples/*.py; do
  [ -e "$example" ] || continue
  timeout 120 "$python" "$example" --small >"$out.log" 2>&1 || { cat "$out.log"; false; }
  count $? "$example"
done

if "$python" -c 'import build.__main__, wheel' 2>/dev/null; then
  rm -rf "$out/dist" "$out/installed"
  (cd bindings/python && LIBCONSORT_BUILD=$build "$python" -m build --no-isolation --wheel --outdir "$out/dist") >"$out.log" 2>&1 &&
    "$python" -m zipfile -e "$out"/dist/consort-*.whl "$out/installed" &&
    PYTHONPATH=$out/installed "$python" -c 'import consort; rt = consort.Runtime(workers=1); assert rt.submit(pow, 2, 3).result() == 8; rt.stop()' ||
    { cat "$out.log"; false; }
  count $? "the wheel"
else
  echo "left out: the wheel:  apt-get install -y --no-install-recommends python3-build python3-wheel"
fi

if "$python" -m mypy --version >/dev/null 2>&1; then
  (cd bindings/python && MYPYPATH=src "$python" -m mypy --strict --config-file pyproject.toml --cache-dir "$out/mypy" -p consort)
  count $? "mypy"
else
  echo "left out: the types:  apt-get install -y --no-install-recommends mypy"
fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
