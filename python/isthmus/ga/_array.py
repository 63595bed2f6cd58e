"""The array: sections by slices, its own part, and operations on the whole."""

import ctypes

import numpy as np

from ._library import indexes

# Types of elements, by their numbers in C (macommon.h).
DTYPES = {
    np.dtype(np.int32): 1001,
    np.dtype(np.int64): 1002,
    np.dtype(np.float32): 1003,
    np.dtype(np.float64): 1004,
    np.dtype(np.complex64): 1006,
    np.dtype(np.complex128): 1007,
}


class Section:
    """What a key like `[2:5, ::2, -1]` names: ranges of an array, and the shape that NumPy gives the result."""

    def __init__(self, key, shape):
        key = key if isinstance(key, tuple) else (key,)
        dots = sum(item is Ellipsis for item in key)
        if dots > 1:
            raise IndexError("an index can only have one ellipsis")
        if dots:
            at = next(i for i, item in enumerate(key) if item is Ellipsis)
            key = key[:at] + (slice(None),) * (len(shape) - len(key) + 1) + key[at + 1:]
        if len(key) > len(shape):
            raise IndexError(f"{len(key)} indexes for an array of {len(shape)} dimensions")
        key += (slice(None),) * (len(shape) - len(key))
        self.low, self.high, self.step, self.full, kept, flips = [], [], [], [], [], []
        for dimension, (item, extent) in enumerate(zip(key, shape)):
            if isinstance(item, slice):
                start, stop, step = item.indices(extent)
                count = len(range(start, stop, step))
                last = start + (count - 1) * step
                # The library goes upwards; the result is turned round.
                self.low.append(min(start, last))
                self.high.append(max(start, last))
                self.step.append(abs(step) if count > 1 else 1)
                flips.append(slice(None, None, -1) if step < 0 else slice(None))
                kept.append(count)
            else:
                try:
                    at = item.__index__()
                except AttributeError:
                    raise TypeError(f"index {item!r}: integers and slices; gather and scatter take lists") from None
                if not -extent <= at < extent:
                    raise IndexError(f"index {at} is out of bounds for dimension {dimension} of {extent}")
                at %= extent
                self.low.append(at)
                self.high.append(at)
                self.step.append(1)
                flips.append(slice(None))
                count = 1
            self.full.append(count)
        self.shape = tuple(kept)
        self.flips = tuple(flips) if any(flip.step for flip in flips) else None
        self.is_strided = any(step != 1 for step in self.step)
        self.is_empty = 0 in self.full


def extents(values):
    """Leading dimensions under which C finds the elements of an ndarray, or None: then it must be copied first."""
    strides, item = values.strides, values.itemsize
    if strides[-1] != item and values.shape[-1] > 1:
        return None
    unit, result = item, []
    for dimension in range(values.ndim - 1, 0, -1):
        if values.shape[dimension - 1] == 1:
            extent = values.shape[dimension]
        elif strides[dimension - 1] % unit or strides[dimension - 1] // unit < values.shape[dimension]:
            return None
        else:
            extent = strides[dimension - 1] // unit
        result.insert(0, extent)
        unit *= extent
    return result


class Accumulator:
    """`a.acc[key] += values` adds atomically; `a.acc(key, values, alpha)` adds alpha times the values."""

    def __init__(self, array):
        self._array = array

    def __getitem__(self, key):
        return Pending()

    def __setitem__(self, key, pending):
        if not isinstance(pending, Pending):
            raise TypeError("acc is for +=: a.acc[0:3] += values")
        for sign, values in pending.terms:
            self(key, values, sign)

    def __call__(self, key, values, alpha=1):
        """Add alpha times `values` to a section: atomic for each element against others' accumulates."""
        array = self._array
        factor = np.asarray(alpha).astype(array.dtype, casting="same_kind" if array.dtype.kind in "fc" else "unsafe")
        array._transfer("acc", key, values, factor.reshape(()))


class Pending:
    """What `+=` and `-=` put between reading and writing of `a.acc[key]`."""

    def __init__(self):
        self.terms = []

    def __iadd__(self, values):
        self.terms.append((1, values))
        return self

    def __isub__(self, values):
        self.terms.append((-1, values))
        return self


class GlobalArray:
    """A distributed array. Made by `isthmus.ga.create` and its kin.

    `a[key]` gets a section as an ndarray (a scalar for one element), `a[key] = values` puts one: both one-sided, complete when they
    return. Keys are integers, slices with any step, and an ellipsis.
    """

    _lib = None
    __array_priority__ = 100

    def __init__(self, handle, shape, dtype):
        #: Its number in C.
        self.handle = handle
        self.shape = shape
        self.dtype = dtype
        self.ndim = len(shape)
        self.size = int(np.prod(shape, dtype=np.int64))

    def __repr__(self):
        if self.handle is None:
            return "<GlobalArray, destroyed>"
        name = self._lib.GA_Inquire_name(self._live).decode(errors="replace")
        return f"<GlobalArray '{name}' {self.shape} {self.dtype}>"

    def __len__(self):
        return self.shape[0]

    # Made and destroyed.

    @property
    def _live(self):
        if self.handle is None:
            raise ValueError("the array is destroyed")
        return self.handle

    def destroy(self):
        """Give its memory back: views of the own part must not be used any more. Collective. An array that nobody destroys lives until the
        end of the program: a garbage collector cannot call what is collective."""
        handle, self.handle = self._live, None
        self._lib.GA_Destroy(handle)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.handle is not None:
            self.destroy()

    def duplicate(self, name="copy"):
        """An array of the same shape, type and distribution; its elements are not set. Collective."""
        return GlobalArray(self._lib.GA_Duplicate(self._live, name.encode()), self.shape, self.dtype)

    def copy(self):
        """An array of the same shape, type, distribution and elements. Collective."""
        new = self.duplicate()
        self._lib.GA_Copy(self._live, new._live)
        return new

    # Where elements are.

    def distribution(self, process=None):
        """First index of the part of a process (of this one unless it is said), and the index after its last, for each dimension.

        Where blocks are dealt out there is no such part: it is said to be empty.
        """
        low, high = indexes([0] * self.ndim), indexes([0] * self.ndim)
        process = self._lib.GA_Nodeid() if process is None else process
        if not 0 <= process < self._lib.GA_Nnodes():
            raise ValueError(f"process {process}: there are {self._lib.GA_Nnodes()}")
        if self._lib.GA_Total_blocks(self._live) >= 0:
            return (0,) * self.ndim, (0,) * self.ndim
        self._lib.NGA_Distribution64(self._live, process, low, high)
        low, high = tuple(low[: self.ndim]), tuple(last + 1 for last in high[: self.ndim])
        if any(first >= last for first, last in zip(low, high)):
            return (0,) * self.ndim, (0,) * self.ndim
        return low, high

    def locate(self, index):
        """The process that has this element."""
        return self._lib.NGA_Locate64(self._live, self._index(index))

    @property
    def local(self):
        """The own part: an ndarray onto the array's memory, no copy. Empty if this process has none."""
        low, high = self.distribution()
        if low == high:
            return np.empty((0,) * self.ndim, self.dtype)
        at, extent = ctypes.c_void_p(), indexes([0] * self.ndim)
        self._lib.NGA_Access64(self._live, indexes(low), indexes([last - 1 for last in high]), ctypes.byref(at), extent)
        return self._view(at.value, [last - first for first, last in zip(low, high)], extent)

    @property
    def local_with_ghosts(self):
        """The own part and the margin around it, without a copy."""
        low, high = self.distribution()
        if low == high:
            return np.empty((0,) * self.ndim, self.dtype)
        at, extent, dims = ctypes.c_void_p(), indexes([0] * self.ndim), indexes([0] * self.ndim)
        self._lib.NGA_Access_ghosts64(self._live, dims, ctypes.byref(at), extent)
        return self._view(at.value, dims[: self.ndim], extent)

    def _view(self, at, shape, extent):
        strides = [self.dtype.itemsize] * self.ndim
        for dimension in range(self.ndim - 2, -1, -1):
            strides[dimension] = strides[dimension + 1] * extent[dimension]
        length = sum((count - 1) * stride for count, stride in zip(shape, strides)) + self.dtype.itemsize
        memory = (ctypes.c_byte * length).from_address(at)
        # The view keeps the array alive.
        memory.owner = self
        return np.ndarray(shape, self.dtype, memory, 0, strides)

    # One-sided.

    def _index(self, index):
        index = tuple(index) if np.iterable(index) else (index,)
        if len(index) != self.ndim:
            raise IndexError(f"{len(index)} indexes for one element of {self.ndim} dimensions")
        return indexes(Section(index, self.shape).low)

    def _transfer(self, way, key, values=None, alpha=None):
        section = Section(key, self.shape)
        full = tuple(section.full)
        if way == "get":
            result = buffer = np.empty(full, self.dtype)
        else:
            values = np.asarray(values)
            if not np.can_cast(values.dtype, self.dtype, "same_kind"):
                raise TypeError(f"cannot put {values.dtype} into an array of {self.dtype}")
            buffer = np.broadcast_to(values, section.shape).reshape(full)
            buffer = buffer[section.flips] if section.flips else buffer
            buffer = np.asarray(buffer, self.dtype)
        if not section.is_empty:
            extent = extents(buffer)
            if extent is None or (section.is_strided and not buffer.flags.c_contiguous):
                buffer = np.ascontiguousarray(buffer)
                extent = extents(buffer)
            low, high, extent = indexes(section.low), indexes(section.high), indexes(extent)
            arguments = [self._live, low, high]
            if section.is_strided:
                arguments.append(indexes(section.step))
            arguments += [buffer.ctypes.data, extent]
            if way == "acc":
                arguments.append(alpha.ctypes.data)
            routine = f"NGA_Strided_{way}64" if section.is_strided else f"NGA_{way.capitalize()}64"
            getattr(self._lib, routine)(*arguments)
        if way == "get":
            result = result[section.flips] if section.flips else result
            result = result.reshape(section.shape)
            return result if result.ndim else result[()]

    def __getitem__(self, key):
        return self._transfer("get", key)

    def __setitem__(self, key, values):
        self._transfer("put", key, values)

    @property
    def acc(self):
        """Atomic additions: `a.acc[key] += values`, or `a.acc(key, values, alpha)`."""
        return Accumulator(self)

    def _many(self, at):
        at = np.asarray(at, np.int64)
        at = at.reshape(-1, 1) if self.ndim == 1 and at.ndim == 1 else at
        if at.ndim != 2 or at.shape[1] != self.ndim:
            raise IndexError(f"indexes of shape {at.shape}: one row of {self.ndim} for each element")
        if ((at < -np.array(self.shape)) | (at >= self.shape)).any():
            raise IndexError(f"an index is out of bounds for the shape {self.shape}")
        at = np.ascontiguousarray(at % self.shape)
        return at, at.ctypes.data_as(ctypes.POINTER(ctypes.c_int64))

    def gather(self, at):
        """The elements at these indexes: one row for each, or numbers if there is one dimension."""
        rows, pointer = self._many(at)
        values = np.empty(len(rows), self.dtype)
        self._lib.NGA_Gather_flat64(self._live, values.ctypes.data, pointer, len(rows))
        return values

    def scatter(self, at, values):
        """Put elements at these indexes."""
        rows, pointer = self._many(at)
        values = np.ascontiguousarray(np.broadcast_to(values, len(rows)), self.dtype)
        self._lib.NGA_Scatter_flat64(self._live, values.ctypes.data, pointer, len(rows))

    def scatter_acc(self, at, values, alpha=1):
        """Add alpha times these values to the elements at these indexes, atomically."""
        rows, pointer = self._many(at)
        values = np.ascontiguousarray(np.broadcast_to(values, len(rows)), self.dtype)
        factor = np.array(alpha, self.dtype)
        self._lib.NGA_Scatter_acc_flat64(self._live, values.ctypes.data, pointer, len(rows), factor.ctypes.data)

    def read_inc(self, index, by=1):
        """Add to an integer element, and return what it was: one atomic step, so each process gets another number."""
        if self.dtype.kind != "i":
            raise TypeError(f"read_inc is for integers, the array has {self.dtype}")
        return self._lib.NGA_Read_inc64(self._live, self._index(index), by)

    # Ghost cells.

    def update_ghosts(self):
        """Fetch the margins of all parts from their owners, corners included; edges are periodic. Collective."""
        self._lib.GA_Update_ghosts(self._live)

    # The whole array. All of these are collective.

    def _scalar(self, value):
        return np.array(value, self.dtype).ctypes

    def _alike(self, other):
        if not isinstance(other, GlobalArray):
            return False
        if other.shape != self.shape or other.dtype != self.dtype:
            raise ValueError(f"arrays differ: {self!r}, {other!r}")
        return True

    def _need(self, other):
        if not self._alike(other):
            raise TypeError(f"{other!r} is no GlobalArray")

    def fill(self, value):
        """Set every element. Collective. Returns the array."""
        scalar = self._scalar(value)
        self._lib.GA_Fill(self._live, scalar.data)
        return self

    def _add(self, other, factor):
        one, factor = self._scalar(1), self._scalar(factor)
        new = self.duplicate()
        self._lib.GA_Add(one.data, self._live, factor.data, other._live, new._live)
        return new

    def _plus(self, constant):
        new, scalar = self.copy(), self._scalar(constant)
        self._lib.GA_Add_constant(new._live, scalar.data)
        return new

    def _scaled(self, factor):
        new, scalar = self.copy(), self._scalar(factor)
        self._lib.GA_Scale(new._live, scalar.data)
        return new

    def _by_element(self, routine, other):
        new = self.duplicate()
        getattr(self._lib, routine)(self._live, other._live, new._live)
        return new

    def __add__(self, other):
        return self._add(other, 1) if self._alike(other) else self._plus(other)

    __radd__ = __add__

    def __sub__(self, other):
        return self._add(other, -1) if self._alike(other) else self._plus(-np.asarray(other))

    def __iadd__(self, other):
        one = self._scalar(1)
        if self._alike(other):
            self._lib.GA_Add(one.data, self._live, one.data, other._live, self._live)
        else:
            scalar = self._scalar(other)
            self._lib.GA_Add_constant(self._live, scalar.data)
        return self

    def __isub__(self, other):
        if not self._alike(other):
            return self.__iadd__(-np.asarray(other))
        one, minus = self._scalar(1), self._scalar(-1)
        self._lib.GA_Add(one.data, self._live, minus.data, other._live, self._live)
        return self

    def __imul__(self, other):
        if self._alike(other):
            self._lib.GA_Elem_multiply(self._live, other._live, self._live)
        else:
            scalar = self._scalar(other)
            self._lib.GA_Scale(self._live, scalar.data)
        return self

    def __mul__(self, other):
        return self._by_element("GA_Elem_multiply", other) if self._alike(other) else self._scaled(other)

    __rmul__ = __mul__

    def __truediv__(self, other):
        if self.dtype.kind == "i":
            raise TypeError("division of integers has no array to go to: make one of floats")
        return self._by_element("GA_Elem_divide", other) if self._alike(other) else self._scaled(1 / np.asarray(other))

    def __neg__(self):
        return self._scaled(-1)

    def __abs__(self):
        new = self.copy()
        self._lib.GA_Abs_value(new._live)
        return new

    def maximum(self, other):
        """The greater of each two elements. Collective."""
        self._need(other)
        return self._by_element("GA_Elem_maximum", other)

    def minimum(self, other):
        """The lesser of each two elements. Collective."""
        self._need(other)
        return self._by_element("GA_Elem_minimum", other)

    def transpose(self):
        """A new matrix with rows and columns exchanged. Collective."""
        self._matrix()
        from . import create

        new = create(self.shape[::-1], self.dtype, name="transposed")
        self._lib.GA_Transpose(self._live, new._live)
        return new

    def symmetrize(self):
        """Make a square matrix the mean of itself and its transpose. Collective. Returns the array."""
        self._matrix()
        self._lib.GA_Symmetrize(self._live)
        return self

    def _matrix(self):
        if self.ndim != 2:
            raise ValueError(f"a matrix has 2 dimensions, the array {self.ndim}")

    def __matmul__(self, other):
        """Product of two matrices of floating-point or complex numbers. Collective."""
        from . import create

        self._matrix()
        other._matrix()
        if self.dtype != other.dtype or self.shape[1] != other.shape[0] or self.dtype.kind not in "fc":
            raise ValueError(f"no product of {self!r} and {other!r}")
        (rows, inner), columns = self.shape, other.shape[1]
        new = create((rows, columns), self.dtype, name="product")
        one, zero = self._scalar(1), self._scalar(0)
        self._lib.GA_Matmul_patch64(
            b"n", b"n", one.data, zero.data,
            self._live, 0, rows - 1, 0, inner - 1,
            other._live, 0, inner - 1, 0, columns - 1,
            new._live, 0, rows - 1, 0, columns - 1,
        )
        return new

    def _reduced(self, op, own):
        from . import reduce

        return reduce(own, op)

    def sum(self):
        """The sum of all elements. Collective."""
        blocks = self._lib.GA_Total_blocks(self._live)
        if blocks < 0:
            return self._reduced("+", self.local.sum(dtype=self.dtype))
        # Blocks that are dealt out, in turn.
        total = np.zeros((), self.dtype)
        for number in range(self._lib.GA_Nodeid(), blocks, self._lib.GA_Nnodes()):
            low, high = indexes([0] * self.ndim), indexes([0] * self.ndim)
            self._lib.NGA_Distribution64(self._live, number, low, high)
            total = total + self[tuple(slice(low[d], high[d] + 1) for d in range(self.ndim))].sum(dtype=self.dtype)
        return self._reduced("+", total.astype(self.dtype)[()])

    def dot(self, other):
        """The sum of products of two arrays' elements, neither conjugated. Collective."""
        self._need(other)
        with self * other as products:
            return products.sum()

    def _selected(self, op):
        if self.dtype.kind == "c":
            raise TypeError("complex numbers have no order")
        value, at = np.empty((), self.dtype), indexes([0] * self.ndim)
        self._lib.NGA_Select_elem64(self._live, op, value.ctypes.data, at)
        return value[()], tuple(at[: self.ndim])

    def max(self):
        """The greatest element. Collective."""
        return self._selected(b"max")[0]

    def min(self):
        """The least element. Collective."""
        return self._selected(b"min")[0]

    def argmax(self):
        """The index of the greatest element, a number for each dimension. Collective."""
        return self._selected(b"max")[1]

    def argmin(self):
        """The index of the least element, a number for each dimension. Collective."""
        return self._selected(b"min")[1]

    def numpy(self):
        """All elements, as an ndarray: a get of the whole array, not collective."""
        return np.asarray(self[...])

    def print(self):
        """Show it on standard output, as GA_Print does. Collective."""
        self._lib.GA_Print(self._live)
