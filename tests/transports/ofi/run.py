#!/usr/bin/env python3
"""The transport ofi under `consort run`: examples with their checked results over each provider. Arguments: the command
consort, the folder of the examples."""
import os
import shutil
import subprocess
import sys
from pathlib import Path

consort, examples = sys.argv[1], Path(sys.argv[2])
PROVIDERS = tuple(os.environ.get('TEST_PROVIDERS', 'tcp shm udp;ofi_rxd').split())
RANKS = (2, 4) if os.environ.get('TEST_RANKS', '') == '' else (1, 2, 4, 7)
failures = 0


def check(good, what):
    global failures
    failures += not good
    print('ok    ' if good else 'FAILED', what, flush=True)


def environment(provider, **more):
    return os.environ | {'CONSORT_TRANSPORT': 'ofi', 'CONSORT_OFI__PROVIDER': provider, 'CONSORT_WORKERS': '1'} | more


def has(provider):
    if not shutil.which('fi_info'):
        return provider == 'tcp'
    return subprocess.run(['fi_info', '-p', provider], capture_output=True).returncode == 0


def examples_have_their_results(provider, **more):
    for ranks in RANKS:
        for name, word in (('ring', 'the token is'), ('diffusion', 'largest error 0'), ('block_cyclic', 'largest error')):
            done = subprocess.run([consort, 'run', '-n', str(ranks), '--', examples / name], env=environment(provider, **more),
                                  capture_output=True, text=True, timeout=100)
            check(done.returncode == 0 and word in done.stdout, f'{provider} {more}: {name} on {ranks} ranks: {done.stdout.strip()} {done.stderr.strip()}')


for one in PROVIDERS:
    if not has(one):
        print('skipped', one, 'which libfabric does not have here, or fi_info to ask it (Debian: libfabric-bin)')
        continue
    examples_have_their_results(one)
examples_have_their_results('tcp', CONSORT_OFI__WAIT='none')


def ring(network):
    done = subprocess.run([consort, 'run', '-n', '2', '--', examples / 'ring'], env=environment('tcp', CONSORT_OFI__NETWORK=network),
                          capture_output=True, text=True, timeout=100)
    return done.stdout + done.stderr


check('the token is' in ring('127.0.0.0/8'), 'a network: the address of this machine in it')
addresses = Path('/proc/net/if_inet6')
if addresses.exists() and '0' * 31 + '1 ' in addresses.read_text():
    check('the token is' in ring('::1/128'), 'a network of IPv6')
else:
    print('skipped a network of IPv6, which this machine does not have')
for network, word in (('203.0.113.0/24', 'has no address of this machine'), ('127.0.0.0/33', 'is no network'), ('127.0.0/8', 'is no network'),
                      ('127.0.0.0/', 'is no network'), ('localhost', 'is no address')):
    check(f'ofi.network = "{network}" {word}' in ring(network), f'{network}: {word}')
sys.exit(failures != 0)
