"""libga.so: where it is, and the C functions that this package calls."""

import ctypes
import os
import shutil
from ctypes import POINTER, c_char, c_char_p, c_int, c_int64, c_long, c_void_p
from pathlib import Path

NAME = "libga.so.0"

index = POINTER(c_int64)

# Result and arguments of each function.
FUNCTIONS = {
    "GA_Initialize": (None, []),
    "GA_Terminate": (None, []),
    "GA_Initialized": (c_int, []),
    "GA_Nodeid": (c_int, []),
    "GA_Nnodes": (c_int, []),
    "GA_Sync": (None, []),
    "GA_Brdcst": (None, [c_void_p, c_int, c_int]),
    "GA_Gop": (None, [c_int, c_void_p, c_int, c_char_p]),
    "GA_Create_handle": (c_int, []),
    "GA_Set_data64": (None, [c_int, c_int, index, c_int]),
    "GA_Set_chunk64": (None, [c_int, index]),
    "GA_Set_ghosts64": (None, [c_int, index]),
    "GA_Set_irreg_distr64": (None, [c_int, index, index]),
    "GA_Set_block_cyclic64": (None, [c_int, index]),
    "GA_Set_block_cyclic_proc_grid64": (None, [c_int, index, index]),
    "GA_Set_tiled_proc_grid64": (None, [c_int, index, index]),
    "GA_Set_restricted": (None, [c_int, POINTER(c_int), c_int]),
    "GA_Set_pgroup": (None, [c_int, c_int]),
    "GA_Pgroup_get_mirror": (c_int, []),
    "GA_Set_array_name": (None, [c_int, c_char_p]),
    "GA_Allocate": (c_int, [c_int]),
    "GA_Duplicate": (c_int, [c_int, c_char_p]),
    "GA_Destroy": (None, [c_int]),
    "GA_Total_blocks": (c_int, [c_int]),
    "GA_Inquire_name": (c_char_p, [c_int]),
    "NGA_Inquire64": (None, [c_int, POINTER(c_int), POINTER(c_int), index]),
    "NGA_Distribution64": (None, [c_int, c_int, index, index]),
    "NGA_Locate64": (c_int, [c_int, index]),
    "NGA_Access64": (None, [c_int, index, index, POINTER(c_void_p), index]),
    "NGA_Access_ghosts64": (None, [c_int, index, POINTER(c_void_p), index]),
    "NGA_Get64": (None, [c_int, index, index, c_void_p, index]),
    "NGA_Put64": (None, [c_int, index, index, c_void_p, index]),
    "NGA_Acc64": (None, [c_int, index, index, c_void_p, index, c_void_p]),
    "NGA_Strided_get64": (None, [c_int, index, index, index, c_void_p, index]),
    "NGA_Strided_put64": (None, [c_int, index, index, index, c_void_p, index]),
    "NGA_Strided_acc64": (None, [c_int, index, index, index, c_void_p, index, c_void_p]),
    "NGA_Gather_flat64": (None, [c_int, c_void_p, index, c_int64]),
    "NGA_Scatter_flat64": (None, [c_int, c_void_p, index, c_int64]),
    "NGA_Scatter_acc_flat64": (None, [c_int, c_void_p, index, c_int64, c_void_p]),
    "NGA_Read_inc64": (c_long, [c_int, index, c_long]),
    "GA_Fill": (None, [c_int, c_void_p]),
    "GA_Zero": (None, [c_int]),
    "GA_Copy": (None, [c_int, c_int]),
    "GA_Scale": (None, [c_int, c_void_p]),
    "GA_Add": (None, [c_void_p, c_int, c_void_p, c_int, c_int]),
    "GA_Add_constant": (None, [c_int, c_void_p]),
    "GA_Elem_multiply": (None, [c_int, c_int, c_int]),
    "GA_Elem_divide": (None, [c_int, c_int, c_int]),
    "GA_Elem_maximum": (None, [c_int, c_int, c_int]),
    "GA_Elem_minimum": (None, [c_int, c_int, c_int]),
    "GA_Abs_value": (None, [c_int]),
    "GA_Transpose": (None, [c_int, c_int]),
    "GA_Symmetrize": (None, [c_int]),
    "GA_Matmul_patch64": (None, [c_char, c_char, c_void_p, c_void_p] + ([c_int] + [c_int64] * 4) * 3),
    "NGA_Select_elem64": (None, [c_int, c_char_p, c_void_p, index]),
    "GA_Update_ghosts": (None, [c_int]),
    "GA_Lu_solve": (None, [c_char, c_int, c_int]),
    "GA_Llt_solve": (c_int, [c_int, c_int]),
    "GA_Spd_invert": (c_int, [c_int]),
    "GA_Diag": (None, [c_int, c_int, c_int, c_void_p]),
    "GA_Diag_std": (None, [c_int, c_int, c_void_p]),
    "GA_Print": (None, [c_int]),
}


def _candidates():
    """Places to look in, the surest first: beside this package in its prefix, where the loader looks, beside `mpiexec`."""
    here = Path(__file__).resolve()
    for folder in here.parents:
        # The wheel has the prefix beside this package.
        for prefix in (folder, folder / "prefix"):
            if (prefix / "lib" / NAME).exists():
                yield str(prefix / "lib" / NAME)
    yield NAME
    for tool in ("isthmus", "mpiexec"):
        found = shutil.which(tool)
        if found:
            path = Path(os.path.realpath(found)).parent.parent / "lib" / NAME
            if path.exists():
                yield str(path)


def load():
    """The library, its functions declared.

    Raises ImportError if it is nowhere, with the places that were looked in.
    """
    tried = []
    for place in _candidates():
        try:
            library = ctypes.CDLL(place, mode=ctypes.RTLD_GLOBAL)
        except OSError as error:
            tried.append(f"{place} ({error})")
            continue
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        return library
    raise ImportError(f"{NAME} is not found: set LD_LIBRARY_PATH to the prefix's lib. Tried: {'; '.join(tried)}")


def indexes(numbers):
    """Numbers as the `int64_t[]` of C."""
    return (c_int64 * max(len(numbers), 1))(*numbers)
