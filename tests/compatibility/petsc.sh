cat > poisson.py <<'PYTHON'
import sys, petsc4py
petsc4py.init(sys.argv)
from petsc4py import PETSc
n = 60
matrix = PETSc.Mat().createAIJ((n * n, n * n), nnz=(5, 4), comm=PETSc.COMM_WORLD)
matrix.setUp()
first, last = matrix.getOwnershipRange()
for row in range(first, last):
    matrix[row, row] = 4
    i, j = divmod(row, n)
    for k, l in ((i - 1, j), (i + 1, j), (i, j - 1), (i, j + 1)):
        if 0 <= k < n and 0 <= l < n:
            matrix[row, k * n + l] = -1
matrix.assemble()
solution, right = matrix.createVecs()
right.set(1)
for method, preconditioner, package in (("cg", "bjacobi", None), ("gmres", "asm", None), ("preonly", "lu", "mumps")):
    solver = PETSc.KSP().create(PETSc.COMM_WORLD)
    solver.setOperators(matrix)
    solver.setType(method)
    solver.getPC().setType(preconditioner)
    if package:
        solver.getPC().setFactorSolverType(package)
    solver.setTolerances(rtol=1e-12)
    solver.solve(right, solution)
    norm = solution.norm()
    if PETSc.COMM_WORLD.rank == 0:
        print(method, preconditioner, package, solver.getConvergedReason() > 0, f"{norm:.8e}")
PYTHON
$MPIEXEC -n $RANKS /usr/bin/python3 poisson.py > result.txt
[ "$(grep -c True result.txt)" = 3 ]
