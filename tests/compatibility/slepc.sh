cat > eigen.py <<'PYTHON'
import sys, slepc4py
slepc4py.init(sys.argv)
from petsc4py import PETSc
from slepc4py import SLEPc
n = 200
matrix = PETSc.Mat().createAIJ((n, n), nnz=3, comm=PETSc.COMM_WORLD)
matrix.setUp()
first, last = matrix.getOwnershipRange()
for row in range(first, last):
    matrix[row, row] = 2
    if row > 0:
        matrix[row, row - 1] = -1
    if row < n - 1:
        matrix[row, row + 1] = -1
matrix.assemble()
solver = SLEPc.EPS().create(PETSc.COMM_WORLD)
solver.setOperators(matrix)
solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
solver.setDimensions(4)
solver.setTolerances(1e-10, 2000)
solver.solve()
if PETSc.COMM_WORLD.rank == 0:
    print([f"{solver.getEigenvalue(k).real:.8f}" for k in range(4)])
else:
    [solver.getEigenvalue(k) for k in range(4)]
PYTHON
$MPIEXEC -n $RANKS /usr/bin/python3 eigen.py > result.txt
grep "3.999" result.txt
