#!/bin/bash
# Builds the packages of debian/control from a copy of this tree, as it is, into build/package: build.sh [OPTIONS OF
# dpkg-buildpackage]. What git ignores stays out of the copy. Where lintian is installed, its errors fail this.
set -eu
cd "$(dirname "$(readlink -f "$0")")/.."
out=$PWD/build/package
version=$(dpkg-parsechangelog -S Version)
source=$out/consort-$version
log=$out/build.log
mkdir -p "$out"
rm -rf "$source" "$out"/*.{deb,dsc,tar.xz,changes,buildinfo}
mkdir "$source"
if git rev-parse --git-dir >/dev/null 2>&1; then
  git ls-files --cached --others --exclude-standard -z | while IFS= read -r -d '' file; do [ ! -e "$file" ] || printf '%s\0' "$file"; done
else
  find . -path ./build -prune -o -type f -print0
fi | tar -c --null -T - | tar -x -C "$source"
# One time for all files: the packages have the same bytes wherever and whenever they are built.
find "$source" -exec touch -h -d "@$(dpkg-parsechangelog -S Timestamp)" {} +

# debhelper gives the build a home of its own; the cache of compilations stays where it was.
if command -v ccache >/dev/null; then
  CCACHE_DIR=$(ccache --get-config cache_dir)
  export CCACHE_DIR
fi
(cd "$source" && dpkg-buildpackage --no-sign -J"$(nproc)" "$@") >"$log" 2>&1 </dev/null || {
  grep -vE '^\[[0-9]+/[0-9]+\]' "$log" | tail -n 30 >&2
  echo "the packages were not built; all of it stands in $log" >&2
  exit 1
}
rm -rf "$source"
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error "$out"/*.changes || { echo "lintian found errors" >&2 && exit 1; }
fi
for deb in "$out"/*.deb; do
  printf '%6d kB  %s\n' $(($(stat -c %s "$deb") / 1000)) "${deb#"$PWD/"}"
done
