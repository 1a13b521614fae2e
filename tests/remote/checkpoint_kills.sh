#!/bin/sh
# Kills ranks of jobs at seeded moments of a checkpoint: checkpoint_kills.sh PROGRAM [FROM..TO]; 1,000 seeds by default.
# PROGRAM: remote_checkpoint_kill_test of a build. ctest runs the first 50.
set -e
seeds=${2:-1..1000}
before=$(ls /dev/shm | wc -l)
CHECKPOINT_SEEDS=$seeds "$1" --gtest_filter=CheckpointKill.JobsGoOnFromACompleteCheckpoint
after=$(ls /dev/shm | wc -l)
test "$before" -ge "$after" || { echo "$((after - before)) files are left in /dev/shm" >&2; exit 1; }
echo "seeds $seeds: each job went on from a complete checkpoint; nothing is left in /dev/shm"
