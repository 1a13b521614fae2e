#!/bin/bash
# The packages of ./run package in a clean Debian: each step starts with the dependencies of its packages alone.
# Programs in C and C++ are built and run there, the command is asked, and after a purge nothing of Consort is left.
# Needs root and mmdebstrap; without them it is left out. The archives of apt are kept in build/package/archives.
#   package.sh [--build]     --build: makes the packages first
set -u
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
out=$PWD/build/package
. tests/checks/clean_root.sh
clean_root_or_left_out
command -v dpkg-buildpackage >/dev/null && command -v dh >/dev/null || { echo "left out: no debhelper here"; exit 0; }
passed=0 failed=0
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root archives=$out/archives

step() { # step WHAT COMMAND...
  local what=$1
  shift
  if "$@" >"$work/log" 2>&1 </dev/null; then
    passed=$((passed + 1)) && echo "ok   $what"
  else
    failed=$((failed + 1)) && echo "FAIL $what" && tail -n 30 "$work/log"
  fi
}
get() { inside apt-get install -y --no-install-recommends "$@"; }
clean() { # the root folder as it was made
  mkdir -p "$root" "$archives" && tar -x -C "$root" -f "$work/root.tar" --exclude='./dev/*' &&
    cp /etc/resolv.conf "$root/etc/resolv.conf" && mkdir -p "$root/packages" "$root/src/tests/checks" &&
    cp "$out"/*.deb "$root/packages" && cp -r tests/checks/embed "$root/src/tests/checks" && cp -r debian "$root/src" &&
    (cd "$root/packages" && dpkg-scanpackages . >Packages 2>/dev/null) &&
    echo "deb [trusted=yes] file:/packages ./" >"$root/etc/apt/sources.list.d/consort.list" && inside apt-get update
}
of_test() { # the packages that a test of debian/tests/control names
  local arch
  arch=$(dpkg --print-architecture)
  awk -v test="$1" -v arch="$arch" '/^Tests:/ { here = $2 == test } here && sub(/^Depends: /, "") {
    n = split($0, names, /, */)
    for (i = 1; i <= n; i++) { if (names[i] !~ /\[/ || names[i] ~ arch) { sub(/ .*/, "", names[i]); print names[i] } } }' debian/tests/control
}
installed_of_ours() {
  inside dpkg-query -W -f '${db:Status-Status} ${Package}\n' '*consort*' | sed -n 's/^installed //p' | sort | tr '\n' ' '
}
only() { # only PACKAGE...: these of ours are installed and no other
  [ "$(installed_of_ours)" = "$(printf '%s\n' "$@" | sort | tr '\n' ' ')" ] || { installed_of_ours && return 1; }
}
absent() { # absent PACKAGE...: none of them came along
  ! inside dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null | grep ' installed'
}
depends() { # depends PACKAGE REGEX: a dependency of that form
  dpkg-deb -f "$out/$1"_*.deb Depends | tr ',' '\n' | sed 's/^ //' | tee /dev/stderr | grep -qxE "$2"
}
places() { # where things lie, one path a line of the packages together
  local triplet deb
  triplet=$(dpkg-architecture -qDEB_HOST_MULTIARCH)
  for deb in "$out"/*.deb; do dpkg-deb -c "$deb" | awk '{ print $6 }'; done | sort >"$work/paths"
  for path in "lib/$triplet/libconsort.so.0" "lib/$triplet/libconsort.so" "lib/$triplet/consort/plugins/cpu.so" \
    "lib/$triplet/consort/plugins/shm.so" "lib/$triplet/pkgconfig/consort.pc" "lib/$triplet/cmake/Consort/ConsortConfig.cmake" \
    include/consort/consort.h include/consort/distributed.h bin/consort share/man/man1/consort.1.gz \
    share/man/man1/consort-doctor.1.gz share/man/man1/consort-run.1.gz share/bash-completion/completions/consort \
    share/zsh/vendor-completions/_consort share/fish/vendor_completions.d/consort.fish share/doc/consort-doc/html/index.html \
    share/doc/consort-doc/html/changelog.html share/doc/consort-doc/examples/hello/hello.cpp; do
    grep -qx "./usr/$path" "$work/paths" || { echo "no /usr/$path"; return 1; }
  done
  ! grep -vE '/$' "$work/paths" | sort | uniq -d | grep . # no file in two packages
}
no_trace() { # after a purge
  inside apt-get purge -y '*consort*' && inside apt-get autoremove -y --purge &&
    ! find "$root" -path "$root/src" -prune -o -path "$root/packages" -prune -o -path "$root/proc" -prune -o \
      -path "$root/etc/apt" -prune -o -path "$root/var/lib/apt" -prune -o -path "$root/var/log" -prune -o -iname '*consort*' -print | grep .
}
shown_by_lintian() { # no error; where it is not installed, nothing
  command -v lintian >/dev/null || return 0
  lintian --allow-root --fail-on error "$out"/*.changes
}

[ "${1:-}" != --build ] || step "build" debian/build.sh
ls "$out"/*.deb >/dev/null 2>&1 || { echo "no packages in $out: ./run package"; exit 1; }
step "lintian" shown_by_lintian
step "paths" places
step "the library depends on its plugins, of its ABI" depends libconsort0 'consort-plugins \(<< 0\.2~\)'
step "the command depends on the library, of its ABI" depends consort-tools 'libconsort0 \(<< 0\.2~\)'
step "the plugins depend on hwloc" depends consort-plugins 'libhwloc15.*'
step "the plugins depend on nettle" depends consort-plugins 'libnettle.*'
step "the bound depends on its solver" depends consort-plugin-bound 'libglpk40.*'
step "a clean system" mmdebstrap --variant=minbase "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$work/root.tar"

step "clean, for the library" clean
step "install libconsort-dev" get libconsort-dev
step "with it come the library and the plugins" only libconsort0 libconsort-dev consort-plugins
step "no library of a device, network or solver comes along" \
  absent 'ocl-icd*' 'libamdhip64*' 'libze1' 'libglpk*' 'libboost*' 'libfabric*' 'libopenmpi*' 'libmpich*'
mapfile -t wanted < <(of_test first-program)
step "install a compiler" get "${wanted[@]}"
step "first programs" inside setpriv --reuid 65534 --regid 65534 --clear-groups /src/debian/tests/first-program
step "no trace after a purge" no_trace

rm -rf --one-file-system "$root"
step "clean, for the command" clean
mapfile -t wanted < <(of_test command)
step "install consort-tools" get "${wanted[@]}"
step "the command" inside setpriv --reuid 65534 --regid 65534 --clear-groups /src/debian/tests/command
mapfile -t wanted < <(of_test other-plugins)
step "install the other plugins and the pages" get "${wanted[@]}" consort-doc
step "the other plugins" inside /src/debian/tests/other-plugins
step "no trace after a purge" no_trace

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
