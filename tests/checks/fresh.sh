#!/bin/bash
# ./run test on a machine of a newcomer: a clean Debian, a clone of the last commit, and what ./run test installs there.
# So tests that need a package of ./run test --all alone are seen. The archives of apt are kept in build/fresh.
set -u
cd "$(dirname "$(readlink -f "$0")")/../.." || exit 1
. tests/checks/clean_root.sh
clean_root_or_left_out
archives=$PWD/build/fresh
work=$(mktemp -d)
trap 'rm -rf --one-file-system "$work"' EXIT
root=$work/root
mkdir -p "$archives"
mmdebstrap --variant=minbase --include=git,ca-certificates "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$root" &&
  cp /etc/resolv.conf "$root/etc/resolv.conf" && git clone -q . "$root/consort" && inside apt-get update &&
  inside bash -c 'cd /consort && ./run test'
