#!/usr/bin/env python3
"""The transports ofi and shm with ranks that mpirun of Open MPI has started, and srun if a Slurm runs here: examples with
their checked results, two jobs one after another, ranks that end too early. Arguments: the folder of the examples."""
import os
import re
import subprocess
import sys
import time
from pathlib import Path

examples = Path(sys.argv[1])
failures = 0
LAUNCHERS = {'mpirun': ['mpirun.openmpi', '--oversubscribe', '--mca', 'plm_rsh_agent', 'sh', '-n']}


def slurm_is_here():
    try:
        listed = subprocess.run(['srun', '--mpi=list'], capture_output=True, text=True, timeout=10)
        up = subprocess.run(['sinfo', '-h', '-o', '%t'], capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return 'pmix' in listed.stdout + listed.stderr and up.returncode == 0 and 'idle' in up.stdout


if slurm_is_here():
    LAUNCHERS['srun'] = ['srun', '-O', '--mpi=pmix', '-n']
else:
    print('skipped srun: no Slurm with PMIx runs here')


def check(good, what):
    global failures
    failures += not good
    print('ok    ' if good else 'FAILED', what, flush=True)


def run(launcher, ranks, transport, program, *arguments, **more):
    environment = os.environ | {'CONSORT_TRANSPORT': transport, 'CONSORT_WORKERS': '1', 'OMPI_ALLOW_RUN_AS_ROOT': '1',
                                'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM': '1'} | more
    began = time.monotonic()
    done = subprocess.run([*LAUNCHERS[launcher], str(ranks), str(program), *arguments], env=environment, capture_output=True, text=True, timeout=100)
    return done.returncode, done.stdout + done.stderr, time.monotonic() - began


for launcher in LAUNCHERS:
    for transport in ('ofi', 'shm'):
        for name, ranks, word in (('ring', 1, 'on 1 ranks, the token is'), ('ring', 2, 'on 2 ranks, the token is'), ('ring', 4, 'on 4 ranks, the token is'),
                                  ('diffusion', 4, 'on 4 ranks, 50 steps, largest error 0'), ('block_cyclic', 4, 'on 2 x 2 ranks')):
            status, text, _ = run(launcher, ranks, transport, examples / name)
            check(status == 0 and word in text, f'{launcher}, {transport}: {name} on {ranks} ranks: {text.strip()[-300:]}')
        # a rank that ends before it joins: the launcher, or the time to join, ends the others
        status, text, seconds = run(launcher, 2, transport, 'sh', '-c', f'test $PMIX_RANK = 1 && exit 3; exec {examples / "ring"}', CONSORT_JOIN_SECONDS='5')
        check(status != 0 and seconds < 30, f'{launcher}, {transport}: a rank that never joins ends the job in {seconds:.1f} s')
        # one that is killed later
        status, text, seconds = run(launcher, 2, transport, 'sh', '-c',
                                    f'test $PMIX_RANK = 1 && {{ (sleep 1; kill -9 $$) & }}; exec {examples / "ring"} --turns 100000000')
        check(status != 0 and seconds < 30, f'{launcher}, {transport}: a killed rank ends the job in {seconds:.1f} s')
done = subprocess.run([examples / 'ring'], env=os.environ | {'CONSORT_TRANSPORT': 'ofi'}, capture_output=True, text=True, timeout=100)
check('on 1 ranks' in done.stdout, 'without a launcher there is one rank')
for variable in ('PMI_SIZE', 'SLURM_STEP_NUM_TASKS', 'OMPI_COMM_WORLD_SIZE'):
    environment = {k: v for k, v in os.environ.items() if not re.match('PMI|SLURM|OMPI', k)} | {'CONSORT_TRANSPORT': 'shm', variable: '2'}
    done = subprocess.run([examples / 'ring'], env=environment, capture_output=True, text=True, timeout=100)
    check(f'a launcher has started 2 ranks ({variable}), and offers no PMIx' in done.stdout + done.stderr, f'{variable} without PMIx is refused')
sys.exit(failures != 0)
