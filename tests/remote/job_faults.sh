#!/bin/sh
# What befalls jobs, by seed: job_faults.sh PROGRAM [TRANSPORT [FROM..TO]]; shm and 1,000 seeds by default.
# PROGRAM: remote_job_faults_test of a build. ctest runs the first 40 over shm.
set -e
seeds=${3:-1..1000}
files() { ls /dev/shm /tmp | grep -c consort || true; }
before=$(files)
FAULT_TRANSPORT=${2:-shm} FAULT_SEEDS=$seeds "$1"
after=$(files)
test "$before" -ge "$after" || { echo "$((after - before)) files are left in /dev/shm or /tmp" >&2; exit 1; }
echo "${2:-shm}, seeds $seeds: each rank ended in time, without a wrong value; nothing is left in /dev/shm and /tmp"
