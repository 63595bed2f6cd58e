cat > fft.py <<'PYTHON'
import numpy as np
from mpi4py import MPI
from mpi4py_fft import PFFT, newDistArray
fft = PFFT(MPI.COMM_WORLD, (24, 20, 28), axes=(0, 1, 2), dtype=float)
field = newDistArray(fft, False)
field[:] = np.random.random(field.shape)
back = fft.backward(fft.forward(field.copy()))
assert np.allclose(field, back)
PYTHON
$MPIEXEC -n $RANKS /usr/bin/python3 fft.py
