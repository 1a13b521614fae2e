#!/usr/bin/env python3
"""The transport mpi under mpirun: examples with their checked results, a program with an MPI_Init of its own, a rank that is killed.
Arguments: the name of the MPI (openmpi, mpich), the folder of the examples, the program."""
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

abi, examples, program = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
# All ranks are here: Open MPI looks for ssh all the same.
MPIRUN = {'openmpi': ['mpirun.openmpi', '--oversubscribe', '--mca', 'plm_rsh_agent', 'sh'], 'mpich': ['mpirun.mpich']}[abi]
ENVIRONMENT = os.environ | {'OMPI_ALLOW_RUN_AS_ROOT': '1', 'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1', 'CONSORT_WORKERS': '1'}
ONLY = {'full': (1, 2, 4, 7)}.get(os.environ.get('TEST_RANKS', ''), (1, 4))
failures = 0


def check(good, what):
    global failures
    failures += not good
    print('ok    ' if good else 'FAILED', what, flush=True)


def run(ranks, *command, **environment):
    return subprocess.run([*MPIRUN, '-n', str(ranks), *command], env=ENVIRONMENT | environment, capture_output=True, text=True, timeout=100)


def ranks_of(launcher):
    """Processes of the example ring below the launcher, by rank."""
    found = {}
    for folder in Path('/proc').glob('[0-9]*'):
        try:
            if (folder / 'comm').read_text().strip() != 'ring':
                continue
            text = (folder / 'environ').read_bytes().split(b'\0')
        except OSError:
            continue
        values = dict(line.split(b'=', 1) for line in text if b'=' in line)
        if values.get(b'TEST_OF') == str(launcher).encode():
            found[int(values.get(b'OMPI_COMM_WORLD_RANK', values.get(b'PMI_RANK', b'-1')))] = int(folder.name)
    return found


def examples_have_their_results():
    for ranks in ONLY:
        for name, word in (('ring', 'the token is'), ('diffusion', 'largest error 0'), ('block_cyclic', 'largest error')):
            done = run(ranks, examples / name)
            ran = f'on {ranks} ranks' in done.stdout or name == 'block_cyclic'
            check(done.returncode == 0 and word in done.stdout and ran and 'WARN' not in done.stderr,
                  f'{name} on {ranks} ranks: {done.stdout.strip()} {done.stderr.strip()}')


def one_thread_makes_all_calls():
    done = run(2, examples / 'diffusion', CONSORT_MPI__THREADS='own')
    check(done.returncode == 0 and 'largest error 0' in done.stdout, f'threads = own: {done.stdout.strip()} {done.stderr.strip()}')


def communicator_of_the_program():
    done = run(3, program)
    check(done.returncode == 0 and done.stdout.strip() == 'ok', f'MPI_Init and communicator of the program: {done.stdout} {done.stderr}')


def lost_rank_ends_the_job():
    mark = str(os.getpid())
    job = subprocess.Popen([*MPIRUN, '-n', '3', examples / 'ring', '--turns', '20000000'],
                           env=ENVIRONMENT | {'TEST_OF': mark}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    deadline = time.monotonic() + 30
    while len(ranks_of(mark)) < 3 and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(3)  # until they are connected
    os.kill(ranks_of(mark)[1], signal.SIGKILL)
    began = time.monotonic()
    text, _ = job.communicate(timeout=60)
    took = time.monotonic() - began
    # About 1 s on a machine that has nothing else to do; here it only has to end.
    named = 'rank 1' in text or 'RUNNING AT' in text  # MPICH's mpiexec names the process and its host
    check(job.returncode != 0 and took < 30 and named and os.uname().nodename in text, f'a rank is killed: {took:.1f} s, {text.strip()}')


for test in (examples_have_their_results, one_thread_makes_all_calls, communicator_of_the_program, lost_rank_ends_the_job):
    test()
sys.exit(failures != 0)
