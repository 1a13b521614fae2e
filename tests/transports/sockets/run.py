#!/usr/bin/env python3
"""The example transport sockets: examples of several ranks with their checked results. Arguments: the command consort, the
folder of the examples."""
import os
import subprocess
import sys
from pathlib import Path

consort, examples = sys.argv[1], Path(sys.argv[2])
failures = 0
for ranks in (1, 2, 4, 7):
    for name, word in (('ring', 'the token is'), ('diffusion', 'largest error 0'), ('block_cyclic', 'largest error')):
        done = subprocess.run([consort, 'run', '-n', str(ranks), '--transport', 'sockets', '--', examples / name],
                              env=os.environ | {'CONSORT_WORKERS': '1'}, capture_output=True, text=True, timeout=100)
        good = done.returncode == 0 and word in done.stdout
        failures += not good
        print('ok    ' if good else 'FAILED', name, 'on', ranks, 'ranks:', done.stdout.strip(), done.stderr.strip(), flush=True)
sys.exit(failures != 0)
