#!/usr/bin/env python3
"""The transport mpi under mpirun: examples with their checked results, a program with an MPI_Init of its own, a rank that is
killed, one that joins late or never, a job that is closed amid transfers. Arguments: the name of the MPI (openmpi, mpich),
the folder of the examples, the start of the paths of the programs beside this file."""
import os
import re
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


def run(ranks, *command, timeout=100, **environment):
    return subprocess.run([*MPIRUN, '-n', str(ranks), *command], env=ENVIRONMENT | environment, capture_output=True, text=True,
                          timeout=timeout)


def ends(ranks, *command, **environment):
    """As run(); a job that hangs has no returncode and no output."""
    try:
        return run(ranks, *command, timeout=40, **environment)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, None, '', 'it does not end')


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
    done = run(3, program + '_program')
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


def late_rank_is_waited_for_in_time():
    fails = ": transport 'mpi' does not start: "
    absent = f'E_TIMEOUT{fails}some ranks of MPI have not joined the communicator in time'
    behind = f'E_TIMEOUT{fails}some ranks of MPI have not joined the job in time: join_seconds'
    refused = f'E_IO{fails}an earlier exchange over this communicator of MPI has not ended'
    texts = (': joined', absent, behind, refused, ': finished')
    wanted = {'late': [3, 2, 0, 0, 3], 'absent': [0, 2, 0, 0, 3], 'exchange': [3, 0, 2, 2, 3], 'plugin': [0, 2, 0, 0, 0]}
    for how, counts in wanted.items():
        done = ends(3, program + '_late', how)
        took = [float(s) for s in re.findall(r': ([0-9.]+) s: E_TIMEOUT', done.stdout)]  # join_seconds is 1
        seen = [done.stdout.count(t) for t in texts]
        good = done.returncode == 0 and seen == counts
        if how == 'plugin':  # MPI is not finished: the launcher ends all as soon as the first of the two ends
            good = done.returncode is not None and seen in (counts, [0, 1, 0, 0, 0])
        check(good and all(1 <= t < 10 for t in took),
              f'a rank is late: {how}: {done.stdout} {done.stderr}')


def close_ends_amid_transfers():
    # The bytes need both processes: neither MPI library lets a process read the memory of another.
    apart = {'OMPI_MCA_btl_vader_single_copy_mechanism': 'none', 'UCX_TLS': 'sysv,self'}
    for how, closes in (('receive', 0), ('send', 1)):
        done = ends(2, program + '_closing', how, **apart)
        took = re.search(rf'rank {closes}: closed in ([0-9.]+) s', done.stdout)  # the other rank rests for 6 s
        told = 'over MPI have not ended when the transport closes' in done.stdout
        check(done.returncode == 0 and took and float(took[1]) < 4 and told and done.stdout.count(': finished') == 2,
              f'close amid a {how}: {done.stdout} {done.stderr}')


def messages_before_the_end_of_a_peer_arrive():
    for how, rank, messages in (('ended', 0, 100), ('left', 1, 1)):
        done = ends(2, program + '_closing', how)
        arrived = len(re.findall(rf'rank {rank}: message [0-9]+: OK', done.stdout))
        is_told = arrived == messages and f'rank {rank}: events of a lost peer: 1' in done.stdout
        check(done.returncode == 0 and is_told,
              f'messages before the end of a peer: {how}, {arrived} of {messages}: {done.stdout[-300:]} {done.stderr}')


for test in (examples_have_their_results, one_thread_makes_all_calls, communicator_of_the_program, lost_rank_ends_the_job,
             late_rank_is_waited_for_in_time, close_ends_amid_transfers, messages_before_the_end_of_a_peer_arrive):
    test()
sys.exit(failures != 0)
