"""Arrays in the memory of a CUDA device, as CuPy, Numba and PyTorch hand them over: by `__cuda_array_interface__`, and by DLPack.

    mpiexec -n 2 python device.py

Needs neither of them: the driver's library (a stand-in will do) is called here.
"""

import array
import ctypes

from mpi4py import MPI

CUDA_DEVICE = 2  # kDLCUDA
FLOAT = 2  # kDLFloat
# A capsule keeps the address of its name.
CAPSULE = ctypes.create_string_buffer(b"dltensor")
driver = ctypes.CDLL("libcuda.so.1")


def check(code):
    assert code == 0, f"the driver says {code}"


class Memory:
    """So many doubles on the device."""

    def __init__(self, values):
        self.count = len(values)
        address = ctypes.c_uint64()
        check(driver.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(8 * self.count)))
        self.address = address.value
        data = array.array("d", values)
        check(driver.cuMemcpyHtoD_v2(address, ctypes.c_void_p(data.buffer_info()[0]), ctypes.c_size_t(8 * self.count)))

    def values(self):
        data = array.array("d", bytes(8 * self.count))
        check(driver.cuMemcpyDtoH_v2(ctypes.c_void_p(data.buffer_info()[0]), ctypes.c_uint64(self.address), ctypes.c_size_t(8 * self.count)))
        return data.tolist()


class Interface(Memory):
    """As CuPy's and Numba's arrays."""

    @property
    def __cuda_array_interface__(self):
        return {"shape": (self.count,), "typestr": "<f8", "data": (self.address, False), "version": 3, "strides": None}


class Tensor(ctypes.Structure):
    """DLManagedTensor of dlpack.h."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("manager", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


class Packed(Memory):
    """As PyTorch's tensors."""

    def __dlpack_device__(self):
        return CUDA_DEVICE, 0

    def __dlpack__(self, stream=None):
        self.shape = (ctypes.c_int64 * 1)(self.count)
        self.tensor = Tensor(self.address, CUDA_DEVICE, 0, 1, FLOAT, 64, 1, self.shape, None, 0, None, None)
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
        return new(ctypes.addressof(self.tensor), ctypes.addressof(CAPSULE), None)


def expect(found, wanted, what):
    assert found.values() == wanted, f"{what}, {type(found).__name__} of {found.count}: {found.values()[:4]}, not {wanted[:4]}"


def try_arrays(make, count):
    comm = MPI.COMM_WORLD
    rank, size = comm.rank, comm.size
    own = [float(rank * 1000 + i) for i in range(count)]
    before = [float((rank - 1) % size * 1000 + i) for i in range(count)]
    total = [float(sum(range(size)) * 1000 + size * i) for i in range(count)]
    out, into, nothing = make(own), make([0.0] * count), [0.0] * count
    comm.Sendrecv(out, (rank + 1) % size, 0, into, (rank - 1) % size, 0)
    expect(into, before, "Sendrecv")
    request = comm.Irecv([into, count, MPI.DOUBLE], (rank + 1) % size, 1)
    comm.Send([out, MPI.DOUBLE], (rank - 1) % size, 1)
    request.Wait()
    expect(into, [float((rank + 1) % size * 1000 + i) for i in range(count)], "Irecv")
    comm.Allreduce(out, into)
    expect(into, total, "Allreduce")
    comm.Iallreduce(MPI.IN_PLACE, out, MPI.SUM).Wait()
    expect(out, total, "Iallreduce")
    out = make(own if rank == 0 else nothing)
    comm.Bcast(out, 0)
    expect(out, [float(i) for i in range(count)], "Bcast")
    # The other side in host memory.
    host = array.array("d", own)
    comm.Sendrecv(host, (rank + 1) % size, 0, into, (rank - 1) % size, 0)
    expect(into, before, "from host memory")
    comm.Sendrecv(make(own), (rank + 1) % size, 0, host, (rank - 1) % size, 0)
    assert host.tolist() == before, "to host memory"
    everyone = make([0.0] * count * size)
    comm.Allgather(make(own), everyone)
    expect(everyone, [float(r * 1000 + i) for r in range(size) for i in range(count)], "Allgather")


def main():
    device, context = ctypes.c_int(), ctypes.c_void_p()
    check(driver.cuInit(0))
    check(driver.cuDeviceGet(ctypes.byref(device), 0))
    check(driver.cuDevicePrimaryCtxRetain(ctypes.byref(context), device))
    check(driver.cuCtxSetCurrent(context))
    for make in Interface, Packed:
        for count in 1, 100, 10000, 300000:
            try_arrays(make, count)


main()
