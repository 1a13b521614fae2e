"""joblib on the runtime: the examples of its documentation, arrays in place, nested use, failures."""

import threading
import time
from math import sqrt

import numpy as np
import pytest

joblib = pytest.importorskip("joblib")

import consort  # noqa: E402
import consort.joblib  # noqa: E402
from joblib import Parallel, delayed, parallel_backend  # noqa: E402


def test_delayed_generator_and_list():
    with parallel_backend("consort", n_jobs=2):
        assert Parallel()(delayed(sqrt)(i**2) for i in range(10)) == [float(i) for i in range(10)]
        assert Parallel(n_jobs=2)([delayed(sqrt)(i) for i in (1, 4)]) == [1.0, 2.0]
        assert Parallel(n_jobs=-1)(delayed(pow)(i, 2) for i in range(100)) == [i * i for i in range(100)]


def test_a_parallel_is_reusable():
    with parallel_backend("consort", n_jobs=2), Parallel() as parallel:
        accumulator, rounds = 0.0, 0
        while accumulator < 1000:
            accumulator += sum(parallel(delayed(sqrt)(accumulator + i**2) for i in range(5)))
            rounds += 1
        assert accumulator > 1000 and rounds == 14


def test_many_short_calls_are_batched():
    with parallel_backend("consort", n_jobs=2):
        assert sum(Parallel(batch_size="auto", pre_dispatch="3*n_jobs")(delayed(int)(1) for _ in range(5000))) == 5000


def test_arrays_are_shared_and_changed_in_place():
    def scal(factor, a):
        a *= factor

    whole = np.ones(1000)
    with parallel_backend("consort", n_jobs=2):
        Parallel(require="sharedmem")(delayed(scal)(2.0, part) for part in np.array_split(whole, 7))
    assert (whole == 2).all()
    values = [1, 2, 3]
    with parallel_backend("consort", n_jobs=2):
        out = Parallel()(delayed(lambda k, a: k * a)(2, v) for v in values)
    assert out == [2, 4, 6] and values == [1, 2, 3]


def test_exceptions_travel():
    def fail(i):
        if i == 3:
            raise KeyError("three")
        return i

    with parallel_backend("consort", n_jobs=2):
        with pytest.raises(KeyError, match="three"):
            Parallel()(delayed(fail)(i) for i in range(10))
        assert Parallel()(delayed(fail)(i) for i in range(3)) == [0, 1, 2]


def test_nested_parallels():
    def inner(i):
        return sum(Parallel(n_jobs=2)(delayed(pow)(i, k) for k in range(4)))

    with parallel_backend("consort", n_jobs=2):
        assert Parallel()(delayed(inner)(i) for i in range(12)) == [1 + i + i**2 + i**3 for i in range(12)]


def test_a_runtime_that_is_given(rt):
    with parallel_backend("consort", n_jobs=2, runtime=rt):
        threads = Parallel()(delayed(threading.get_ident)() for _ in range(50))
    assert threading.get_ident() not in threads and len(set(threads)) <= 2
    assert rt.submit(int).result() == 0


def test_timeout():
    with parallel_backend("consort", n_jobs=2):
        with pytest.raises(Exception) as caught:
            Parallel(timeout=0.05)(delayed(time.sleep)(t) for t in (0.3, 0.3))
    assert "imeout" in type(caught.value).__name__


def test_one_job_runs_in_place():
    with parallel_backend("consort", n_jobs=1):
        assert Parallel()(delayed(threading.get_ident)() for _ in range(3)) == [threading.get_ident()] * 3


def test_a_model_in_the_style_of_scikit_learn():
    """A grid of parameters, each fitted on folds in a nested call, as GridSearchCV over an estimator with n_jobs does."""

    class Ridge:
        def __init__(self, alpha, n_jobs=None):
            self.alpha, self.n_jobs = alpha, n_jobs

        def fit(self, x, y):
            columns = Parallel(n_jobs=self.n_jobs)(delayed(np.dot)(x.T, x[:, j]) for j in range(x.shape[1]))
            self.coef = np.linalg.solve(np.stack(columns) + self.alpha * np.eye(x.shape[1]), x.T @ y)
            return self

        def score(self, x, y):
            return -float(((x @ self.coef - y) ** 2).mean())

    def fit_and_score(alpha, train, test, x, y):
        return Ridge(alpha, n_jobs=2).fit(x[train], y[train]).score(x[test], y[test])

    rng = np.random.default_rng(0)
    x = rng.random((60, 4))
    y = x @ [1.0, 2.0, 3.0, 4.0]
    folds = [(np.delete(np.arange(60), part), part) for part in np.array_split(np.arange(60), 3)]
    grid = [(alpha, *fold) for alpha in (1e-6, 1.0, 100.0) for fold in folds]
    with parallel_backend("consort", n_jobs=2):
        got = Parallel()(delayed(fit_and_score)(*point, x, y) for point in grid)
    want = [fit_and_score(*point, x, y) for point in grid]
    assert np.allclose(got, want) and int(np.argmax(got)) < 3
