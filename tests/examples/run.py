#!/usr/bin/env python3
"""Runs one example: with its own sizes, with sizes that do not divide evenly, on one worker and by every policy, and
with options that it must refuse.
Each example compares its result with a plain loop of its own and answers 1 where they differ; here its words count too.
usage: run.py NAME PROGRAM"""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

NAME, PROGRAM = sys.argv[1:3]

# name: (a pattern of its output, the runs, whether it takes --workers and --scheduler)
CASES = {
    'hello': (r'the first element is 3', [''], False),
    'hello_world': (r'(Hello world \(params = \{1, 2\.5\}\)\n){2}callback: task "hello" ended with OK', [''], False),
    'vector_scal': (r'BEFORE: the first element is 1\.0\nAFTER: the first element is 3\.14\n',
                    ['', '1 1', '1001 7', '5 9'], False),
    'incrementer': (r'halfway: \d+; .*\nincrementer: \d+ increments', ['', '--n 1', '--n 7'], True),
    'axpy': (r'largest error 0$', ['', '--n 1 --pieces 1', '--n 1001 --pieces 7', '--n 3 --pieces 5'], True),
    'ptx_axpy': (r'largest error 0$', ['', '--n 1 --pieces 1', '--n 1001 --pieces 7', '--n 3 --pieces 5'], True),
    'render': (r'^render: \d+ pictures of (\d+) x \1 points, [1-9]\d* tasks on the GPU, 0 pixels wrong$', ['', '1 1', '64 5', '37 2'], False),
    'matvecmult': (r'largest error \S+$', ['', '--rows 1 --cols 1 --bands 1', '--rows 101 --cols 33 --bands 7'], True),
    'pipeline': (r'checksum [0-9a-f]{16}$', ['', '--flight 1 --items 50', '--items 3 --flight 8', '--length 1'], True),
    'quicksort': (r'numbers sorted by \d+ tasks$', ['', '--n 1', '--n 2 --grain 1', '--n 3000 --grain 1'], True),
    'epoll': (r'epoll: \d+ requests, \d+ of them failed, up to \d+ in flight, \d+ wakes of the loop$',
              ['', '--requests 1', '--requests 20 --flight 1'], True),
    'coroutines': (r'coroutines: \d+ flows, \d+ of them failed, \d+ turns of the loop, 0 wrong$',
                   ['', '--flows 1', '--flows 10'], True),
    'fork_join': (r'the integral is 0\.\d{12}, by \d+ tasks$',
                  ['', '--forks 7', '--digits 3', '--forks 8 --digits 8'], True),
    'openmp_scal': (r'^openmp_scal: (\d+) tasks:( \d+ by \d+)+, largest error 0$', ['', '--n 1', '--n 1001 --rounds 7'], True),
    'regression': (r'^regression: nothing was known at first, a time was told of a size that had not run$', ['', '--n 20000 --times 8'], True),
    'matmul': (r'largest error \S+, kernel: (OpenBLAS|plain loops)$',
               ['', '--n 1 --tile 5', '--n 64 --tile 64', '--n 131 --tile 25'], True),
    'stencil': (r'largest error \S+$', ['', '--n 1', '--n 5 --tiles 9 --steps 7', '--n 67 --tiles 3 --steps 20'], True),
    'heat': (r'still after \d+ steps, \S+ degrees in the middle, largest error \S+$',
             ['', '--n 3', '--n 9 --bands 20', '--n 20 --bands 3 --every 7'], True),
    'lu': (r'by \d+ tasks, .* = \S+$', ['', '--n 1 --tile 1', '--n 40 --tile 64', '--n 131 --tile 25'], True),
    'qr': (r'AT A - RT R.* = \S+$', ['', '--n 1 --tile 1', '--n 40 --tile 64', '--n 101 --tile 25'], True),
    'dot': (r'fixed trees agree to the last bit$',
            ['', '--n 1 --pieces 1', '--n 3 --pieces 9', '--n 10007 --pieces 37'], True),
    'cg': (r'\d+ iterations, residual \S+, largest error \S+$',
           ['', '--n 1', '--n 3 --blocks 9', '--n 101 --blocks 7'], True),
    'complex': (r'^\d+ numbers: 1\.000\+0\.000i.*\n\d+ numbers: \S+.*\ncomplex: \d+ numbers, \d+ products, 0 wrong$',
                ['', '1 1', '4', '10007 3'], False),
    'block_list': (r'numbers kept as \d+, \d+ products, largest error \S+$', ['', '4 1', '8', '100 3'], False),
    'spmv': (r'^spmv: \d+ rows, \d+ entries, \d+ blocks, \d+ parts, largest error \S+$', ['', '2 1', '4 9', '30 7'], False),
    'multiformat': (r'^multiformat: \d+ points in \d+ pieces, \d+ steps, \d+ times taken apart, \d+ times put together, 0 wrong$',
                    ['', '1 1 1', '5 5 2', '1001 7 9'], False),
    'scheduler': (r'tasks by \w+ on \d+ workers, first:[ \d]+, in (the order of submission|another order)$',
                  ['', '--n 1', '--n 5000'], True),
    'profiling': (r'(  worker .* tasks, .* % of the time\n)+(  codelet .* us each\n)+profiling: \d+ tasks in ',
                  ['', '--n 10', '--n 300 --us 100'], True),
    'filters': (r'sum [\d.]+, largest error \S+$',
                ['', '--rows 1 --cols 1 --steps 1', '--rows 3 --bands 9',
                 '--rows 41 --cols 7 --bands 6 --steps 13'], True),
    'ring': (r'ring: \d+ turns on \d+ ranks, the token is \d+$', ['', '--turns 1', '--turns 300'], True),
    'diffusion': (r'bands on \d+ ranks, \d+ steps, largest error 0$', ['', '--n 1 --bands 1', '--n 37 --bands 9 --steps 21'], True),
    'restart': (r'bands on \d+ ranks, steps \d+ to \d+, largest error 0$', ['', '--n 1 --bands 1', '--n 37 --bands 9 --steps 21'], True),
    'block_cyclic': (r'on \d+ x \d+ ranks, rank \d+ has \d+, largest error \S+$',
                     ['', '--n 1', '--n 8 --tile 9', '--n 131 --tile 17'], True),
    'nbody': (r'drift of momentum \S+, largest error \S+$',
              ['', '--n 1', '--n 3 --blocks 7', '--n 101 --blocks 4'], True),
}


# Those that are for several ranks, too.
RANKS = {'ring', 'diffusion', 'restart', 'block_cyclic'}
# Simulated devices, with a memory of their own, run the same functions as the CPU.
AT_HOME = {'fork_join',  # its tasks wait in their bodies, which a device's must not
           'openmp_scal', 'regression'}  # teams, and measurements, of cores
DEVICES = {'CONSORT_DRIVERS': 'cpu,sim', 'CONSORT_SIM__CLASS': 'cpu', 'CONSORT_SIM__DEVICES': '2'}
# Those that have kernels for OpenCL devices, too: these take part, or get all tasks, which then may not need host code.
WITH_KERNELS = {'vector_scal', 'axpy', 'matmul', 'heat', 'stencil', 'lu', 'cg', 'multiformat'}
TWO_VIEWS = {'multiformat'}  # the function of a core would get the view of OpenCL's units
OPENCL = {'CONSORT_DRIVERS': 'cpu,opencl', 'CONSORT_OPENCL__TYPES': 'all', 'CONSORT_OPENCL__CACHE': 'off',
          'POCL_DEVICES': 'pthread pthread'}
# And those that have kernels for GPUs, over the doubles of the vendors' libraries, which report wrong calls on stderr.
FOR_GPUS = {'vector_scal', 'axpy', 'stencil', 'matmul'}
BY_BLAS = {'matmul'}  # there its kernels are of the vendor's library
BLAS = {'cuda': 'cublas', 'hip': 'rocblas'}
DOUBLES = os.path.join(os.path.dirname(os.path.dirname(PROGRAM)), 'tests', 'doubles')
GPUS = {'cuda': ('libcuda_double.so', 'libnvrtc_double.so'), 'hip': ('libamdhip64_double.so', 'libamdhip64_double.so')}
CUDA_ALONE = {'ptx_axpy', 'render'}  # they have kernels for CUDA alone: all of their tasks run on the double
ALONE = {'CONSORT_CPU__UNITS': 'false'}
ALL = slice(None)
SOME = slice(-1, None) if 'EXAMPLES_SLOW' in os.environ else ALL  # under a sanitizer compilers take seconds each time
# Devices that play OpenCL's class: they run the functions for the CPU where an implementation for that class is declared.
PLAYED = {'CONSORT_DRIVERS': 'cpu,sim', 'CONSORT_SIM__CLASS': 'opencl', 'CONSORT_SIM__DEVICES': '2', **ALONE}


def double_of(driver):
    """Settings by which a driver takes the double of its vendor's library; None where that was not built."""
    library, compiler = (os.path.join(DOUBLES, name) for name in GPUS[driver])
    name, blas = f'CONSORT_{driver.upper()}__', BLAS[driver]
    if NAME in BY_BLAS and os.path.exists(library) and blas.encode() not in Path(library).read_bytes():
        return None  # the vendor's header was not there when it was built
    return {'CONSORT_DRIVERS': 'cpu,' + driver, name + 'LIBRARY': library, name + 'COMPILER': compiler,
            name + blas.upper(): library, name + 'CACHE': 'off'} if os.path.exists(library) else None


def run(*options, **environment):
    return subprocess.run([PROGRAM, *options], capture_output=True, text=True, timeout=120,
                          env={**os.environ, **environment})


class Example(unittest.TestCase):
    def setUp(self):
        self.words, self.runs, self.settings = CASES[NAME]
        if NAME in CUDA_ALONE and not double_of('cuda'):
            self.skipTest('the double of CUDA was not built')

    def good(self, *options, **environment):
        if NAME in CUDA_ALONE:
            environment = {**environment, **double_of('cuda')}
        done = run(*options, **environment)
        self.assertEqual(done.returncode, 0, f'{options}: {done.stdout}{done.stderr}')
        if NAME == 'render' and 'render: EGL' in done.stdout:  # no driver of its that draws without a window
            self.skipTest(done.stdout)
        self.assertRegex(done.stdout, re.compile(self.words, re.M))

    def test_its_result_is_right(self):
        for line in self.runs:
            self.good(*line.split())

    def opencl_or_skip(self):
        if NAME not in WITH_KERNELS:
            self.skipTest('it has no kernel for a device')
        refused = run(*self.runs[1].split(), **OPENCL, **ALONE)
        if refused.returncode == 1 and re.search('no driver offers a unit|plugin "opencl"', refused.stderr):
            self.skipTest(f'no OpenCL device here: {refused.stderr}')

    def test_on_opencl_devices_alone(self):
        self.opencl_or_skip()
        for line in self.runs[SOME]:
            self.good(*line.split(), **OPENCL, **ALONE)

    def test_on_cores_and_opencl_devices(self):
        self.opencl_or_skip()
        if SOME == ALL:  # the next one has these, too
            for line in self.runs:
                self.good(*line.split(), **OPENCL)

    def test_on_cores_opencl_devices_and_simulated_ones(self):
        self.opencl_or_skip()
        self.good(*self.runs[-1].split(), **{**OPENCL, **DEVICES, 'CONSORT_DRIVERS': 'cpu,opencl,sim'})

    def test_on_gpus(self):
        for driver in GPUS if NAME in FOR_GPUS else []:
            gpu = double_of(driver)
            for more in ({}, ALONE) if gpu else ():
                for line in self.runs[-1:]:
                    self.good(*line.split(), **gpu, **more)
                    self.assertNotIn('double:', run(*line.split(), **gpu, **more).stderr)

    def test_where_refused_can_run_it_says_so(self):
        if NAME in CUDA_ALONE:
            for drivers in ('cpu', 'cpu,cuda'):  # not there, or without the library
                done = run(CONSORT_DRIVERS=drivers, CONSORT_CUDA__LIBRARY='/nowhere/libcuda.so')
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, NAME + ': no unit of class "cuda" here, .*\n$')

    def test_the_double_finds_no_fault(self):
        if NAME in CUDA_ALONE:
            self.assertNotIn('double:', run(*self.runs[-1].split(), **double_of('cuda')).stderr)

    def test_the_picture_is_written(self):
        if NAME != 'render':
            return
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, 'julia.ppm')
            self.good('40', '1', file)
            with open(file, 'rb') as f:
                head, pixels = f.read().split(b'255\n', 1)
            self.assertEqual(head, b'P6\n40 40\n')
            self.assertEqual(len(pixels), 40 * 40 * 3)
            self.assertGreater(len(set(pixels[i:i + 3] for i in range(0, len(pixels), 3))), 20)
        self.assertEqual(run('0').returncode, 2)

    def test_on_the_gpu_alone_and_by_the_cores_alone(self):
        if NAME == 'render':  # the results of a core go into the mapped buffer, too
            self.good('50', '2', **ALONE)
            self.good('50', '2', CONSORT_SCHEDULER='lws', CONSORT_WORKERS='4')

    def test_on_devices_that_play_opencl(self):
        if NAME in WITH_KERNELS - TWO_VIEWS:
            for line in self.runs[1:]:
                self.good(*line.split(), **PLAYED)

    def test_each_unit_sees_its_own_layout(self):
        if NAME not in TWO_VIEWS:
            return
        own = {**DEVICES, 'CONSORT_SIM__CLASS': 'gpu', 'CONSORT_SIM__RUNS': 'gpu'}
        self.assertIn(' 0 times taken apart, 0 times put together', run('1000', '5', '6', CONSORT_DRIVERS='cpu').stdout)
        for line in self.runs:
            self.good(*line.split(), **own)
            self.good(*line.split(), **own, **ALONE)
        # Each piece goes to and fro: the workers take turns, a core, a device, a device; the third begins on the last.
        turns = run('1000', '5', '6', CONSORT_CPU__WORKERS='1', **own)
        self.assertIn(' 11 times taken apart, 11 times put together', turns.stdout, turns.stderr)
        there = run('1000', '5', '6', **own, **ALONE)
        self.assertIn(' 5 times taken apart, 5 times put together', there.stdout, there.stderr)

    def test_on_one_worker_and_by_every_policy(self):
        if self.settings:
            line = self.runs[-1].split()
            self.good(*line, '--workers', '1')
            for policy in ('eager', 'prio', 'lws'):
                self.good(*line, '--scheduler', policy)

    def test_on_devices_with_a_memory_of_their_own(self):
        if NAME not in AT_HOME | CUDA_ALONE:
            self.good(*self.runs[-1].split(), **DEVICES)

    def test_in_a_simulation_it_ends_and_says_that_nothing_was_computed(self):
        program = os.path.abspath(PROGRAM)
        consort = os.path.join(os.path.dirname(program), 'consort')
        if not os.path.exists(consort):
            self.skipTest('the command is not built here')
        with tempfile.TemporaryDirectory() as folder:
            for classes in (('cpu',), ('cpu', 'cuda')):
                machine = os.path.join(folder, 'machine.toml')
                with open(machine, 'w') as f:
                    f.write('[[device]]\nname = "cpu"\nhost = true\nclass = "cpu"\nunits = 2\ndepth = 1\nmemory = "16G"\n')
                    f.write('[[device]]\nname = "gpu"\nclass = "cuda"\nmemory = "4G"\n' if 'cuda' in classes else '')
                done = subprocess.run([consort, 'sim', '--machine', machine, '--', program], capture_output=True, text=True,
                                      timeout=120, cwd=folder)
                self.assertEqual(done.returncode, 0, f'{classes}: {done.stdout}{done.stderr}')
                self.assertRegex(done.stdout, r'simulated time [^\0]*\nresults +not computed: ')
                self.assertNotIn('WRONG', done.stderr)

    def need_shm(self):
        if not os.path.exists(os.path.join(os.path.dirname(PROGRAM), '../lib/consort/plugins/shm.so')):
            self.skipTest('the transport shm is not built here')

    def test_on_several_ranks(self):
        consort = os.path.join(os.path.dirname(os.path.abspath(PROGRAM)), 'consort')
        if NAME not in RANKS or not os.path.exists(consort):
            return
        self.need_shm()
        for ranks in (1, 2, 4, 7):
            for line in self.runs if ranks == 4 else self.runs[-1:]:
                done = subprocess.run([consort, 'run', '-n', str(ranks), '--', PROGRAM, *line.split()], capture_output=True,
                                      text=True, timeout=120)
                self.assertEqual((done.returncode, done.stderr), (0, ''), f'{ranks} ranks, {line}: {done.stdout}')
                self.assertRegex(done.stdout, re.compile(self.words, re.M))
                on = re.search(r'on (\d+)(?: x (\d+))? ranks', done.stdout)
                self.assertEqual(int(on[1]) * int(on[2] or 1), ranks)

    def test_a_killed_job_goes_on_from_its_checkpoint(self):
        consort = os.path.join(os.path.dirname(os.path.abspath(PROGRAM)), 'consort')
        if NAME != 'restart' or not os.path.exists(consort):
            return
        self.need_shm()
        for ranks, later in ((1, 7), (2, 4), (4, 2), (7, 1)):
            with tempfile.TemporaryDirectory() as folder:
                def go_on(ranks, *options):
                    return subprocess.run([consort, 'run', '-n', str(ranks), '--checkpoint', os.path.join(folder, 'ck'), '--restarts', '1',
                                           '--', PROGRAM, '--n', '500', *options], capture_output=True, text=True, timeout=120)
                done = go_on(ranks, '--kill', '25')
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertRegex(done.stdout, rf'on {ranks} ranks, steps 20 to 50, largest error 0$')
                self.assertRegex(done.stderr, rf'rank {ranks - 1} of {ranks} .* was killed by signal 9 [^\0]*starts again \(restart 1 of 1\)')
                done = go_on(later, '--steps', '70')  # on another number of ranks
                self.assertEqual((done.returncode, done.stderr), (0, ''), done.stdout)
                self.assertRegex(done.stdout, rf'on {later} ranks, steps 50 to 70, largest error 0$')

    def test_a_policy_of_its_own_is_used_and_others_may_be(self):
        if NAME == 'scheduler':
            for _ in range(10):
                self.assertIn('by fifo on 1 workers, first: 0 1 2 3 4 5 6 7, in the order of submission',
                              run('--workers', '1').stdout)
            self.assertIn('by prio on 1 workers, first: 9 19 29 ', run('--workers', '1', '--scheduler', 'prio').stdout)

    def test_its_bound_is_told(self):
        if NAME != 'lu':
            return
        done = run('--n', '100', '--tile', '25', CONSORT_REPORTS='bound', CONSORT_BOUND__KIND='deps')
        if re.search('plugin "bound" not found|built without GLPK', done.stderr):
            self.skipTest(done.stderr)
        self.assertEqual(done.returncode, 0, done.stderr)
        tasks = re.search(r'by (\d+) tasks', done.stdout)[1]
        self.assertEqual(tasks, '30')  # 4 tiles: 4 + 6 + 6 + 14
        told = re.search(r'no schedule of these (\d+) tasks takes less than (\S+) (us|ms|s) here', done.stderr)
        self.assertTrue(told, done.stderr)
        self.assertEqual(told[1], tasks)
        self.assertGreater(float(told[2]), 0)
        self.assertRegex(done.stderr, r'this run took .* of the best possible speed')

    def test_what_it_does_not_know_is_refused(self):
        if self.settings:
            for options in [('--nosuch', '1'), ('--workers',), ('--workers', 'x'), ('--workers', '0'), ('1',)]:
                self.assertEqual(run(*options).returncode, 2, options)
            self.assertEqual(run('--help').returncode, 0)
            done = run('--scheduler', 'nosuch')
            self.assertEqual(done.returncode, 1)
            self.assertIn('nosuch', done.stderr)


if __name__ == '__main__':
    unittest.main(argv=sys.argv[:1])
