#!/bin/bash
# The hook of .githooks: ./run hooks installs it into a repository of its own. There a bad subject is refused and a good
# one taken. A hook of the user's stays.
set -u
root=$(readlink -f "$(dirname "$(readlink -f "$0")")/../..")
command -v git >/dev/null || { echo "left out: no git here"; exit 0; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
export HOME=$work GIT_CONFIG_NOSYSTEM=1
mkdir -p "$work/repository/tests/checks"
cd "$work/repository" || exit 1
cp -r "$root/run" "$root/.githooks" . && cp "$root/tests/checks/subjects.py" tests/checks/ || exit 1
git init -q && git config user.name nobody && git config user.email nobody@example.invalid && git add . || exit 1

passed=0 failed=0
expect() { # expect STATUS WHAT COMMAND...: 0, or any other
  local want=$1 what=$2 status said
  shift 2
  said=$("$@" 2>&1)
  status=$?
  if { [ "$want" = 0 ] && [ $status = 0 ]; } || { [ "$want" != 0 ] && [ $status != 0 ]; }; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $what: status $status: $said"
  fi
}
commit() { git commit -q --allow-empty -m "$1"; }

expect 0 "without the hook all is taken" commit "Whatever."
expect 0 "install" ./run hooks
expect 1 "no area" commit "Keep one free block"
expect 1 "not the imperative" commit "memory: keeps one free block"
expect 1 "too long" commit "memory: $(printf 'a%.0s' {1..70})"
expect 0 "a good one" commit "memory: keep one free block per size"
expect 0 "from a folder inside" git -C tests commit -q --allow-empty -m "tests: ask from below"
expect 0 "install again" ./run hooks
expect 0 "remove" ./run hooks --remove
expect 0 "all is taken again" commit "Whatever."
echo 'exit 0' >.git/hooks/commit-msg
expect 1 "the user's hook stays" ./run hooks
expect 0 "its text, too" grep -qx 'exit 0' .git/hooks/commit-msg
expect 1 "nor is it removed" ./run hooks --remove
echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
