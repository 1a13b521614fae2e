"""Methods of Data that are written in Python, and the partition of an array into parts that are data, too."""

from __future__ import annotations

import struct
from typing import Any, Callable, Iterator, List, Sequence, Tuple, Union

import numpy

from . import _core

PartIndex = Union[int, Tuple[int, int]]


class Partition(Sequence["_core.Data"]):
    """The parts of a datum. They are used like any data; tasks on the whole and on parts are ordered by what they share.

    `end()`, or the end of a `with` block, makes the datum whole again, in order with the tasks.
    """

    def __init__(self, data: _core.Data, filter: str, parameters: bytes, slices: Sequence[Tuple[slice, ...]], columns: int = 0) -> None:
        array = numpy.asarray(data.array)
        self.whole = data
        self._columns = columns
        self._plan, self._parts = data._partition(filter, parameters, [array[s] for s in slices])

    def __len__(self) -> int:
        return len(self._parts)

    def __getitem__(self, index: Any) -> Any:
        """Part i, or of tiles part [i, j]."""
        if isinstance(index, tuple):
            row, column = index
            if not self._columns:
                raise TypeError("two indices are for tiles()")
            if not (0 <= row < len(self) // self._columns and 0 <= column < self._columns):
                raise IndexError(f"no tile {row}, {column}")
            return self._parts[row * self._columns + column]
        return self._parts[index]

    def __iter__(self) -> Iterator[_core.Data]:
        return iter(self._parts)

    @property
    def sizes(self) -> List[Tuple[int, ...]]:
        """The shape of each part."""
        return [part.shape for part in self._parts]

    def end(self) -> None:
        """Ends the parts. Tasks that use them go on, and later tasks on the whole come after them."""
        if self._plan:
            plan, self._plan, self._parts = self._plan, 0, []
            if self.whole.registered:
                self.whole._unpartition(plan)

    def __enter__(self) -> Partition:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()


def _bounds(size: int, parts: int) -> List[Tuple[int, int]]:
    """Where blocks begin and end: they differ by one element at most, the larger first.

    >>> _bounds(10, 3)
    [(0, 4), (4, 7), (7, 10)]
    """
    small, larger = divmod(size, parts)
    ends = [0]
    for i in range(parts):
        ends.append(ends[-1] + small + (i < larger))
    return list(zip(ends, ends[1:]))


def partition(data: _core.Data, parts: Union[int, Sequence[int]], axis: int = 0) -> Partition:
    dims = len(data.shape)
    if not -dims <= axis < dims:
        raise ValueError(f"axis {axis} of an array of {dims} dimensions")
    axis %= dims
    size = data.shape[axis]
    if isinstance(parts, int):
        if parts < 1:
            raise ValueError("at least one part is expected")
        bounds, filter = _bounds(size, parts), "blocks"
        parameters = struct.pack("=II", parts, dims - 1 - axis)
    else:
        sizes = [int(n) for n in parts]
        if sum(sizes) != size or min(sizes, default=0) < 0:
            raise ValueError(f"the sizes {sizes} do not sum up to {size}")
        ends = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
        bounds, filter = list(zip(ends, ends[1:])), "list"
        parameters = struct.pack(f"=II{len(sizes)}Q", len(sizes), dims - 1 - axis, *sizes)
    before = (slice(None),) * axis
    return Partition(data, filter, parameters, [(*before, slice(a, b)) for a, b in bounds])


def tiles(data: _core.Data, rows: int, columns: int) -> Partition:
    if len(data.shape) != 2 or rows < 1 or columns < 1:
        raise ValueError("tiles(rows, columns) divides a matrix into one tile or more")
    slices = [(slice(a, b), slice(c, d)) for a, b in _bounds(data.shape[0], rows) for c, d in _bounds(data.shape[1], columns)]
    if data.layout == "matrix":
        parameters = struct.pack("=II", columns, rows)
    else:
        parameters = struct.pack("=8I", columns, rows, 0, 0, 0, 0, 0, 0)
    return Partition(data, "tiles", parameters, slices, columns)


def reduction(data: _core.Data, init: Any, combine: Any) -> None:
    begin: Callable[[Any], object] = init if callable(init) else lambda array: array.fill(init)
    add: Callable[[Any, Any], object] = combine
    if isinstance(combine, numpy.ufunc):
        ufunc = combine
        add = lambda into, other: ufunc(into, other, out=into)  # noqa: E731
    data._reduction(begin, add)
