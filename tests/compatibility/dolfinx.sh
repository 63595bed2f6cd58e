cat > poisson.py <<'PYTHON'
import numpy as np, ufl
from dolfinx import fem, mesh
from dolfinx.fem.petsc import LinearProblem
from mpi4py import MPI
from petsc4py.PETSc import ScalarType
domain = mesh.create_unit_square(MPI.COMM_WORLD, 16, 16)
space = fem.FunctionSpace(domain, ("Lagrange", 2))
edge = mesh.locate_entities_boundary(domain, 1, lambda x: np.full(x.shape[1], True))
zero = fem.dirichletbc(ScalarType(0), fem.locate_dofs_topological(space, 1, edge), space)
u, v = ufl.TrialFunction(space), ufl.TestFunction(space)
problem = LinearProblem(ufl.inner(ufl.grad(u), ufl.grad(v)) * ufl.dx, fem.Constant(domain, ScalarType(1)) * v * ufl.dx, bcs=[zero],
                        petsc_options={"ksp_type": "preonly", "pc_type": "lu", "pc_factor_mat_solver_type": "mumps"})
total = MPI.COMM_WORLD.allreduce(fem.assemble_scalar(fem.form(problem.solve() * ufl.dx)))
if MPI.COMM_WORLD.rank == 0:
    print(f"{total:.10f}")
PYTHON
XDG_CACHE_HOME=$PWD $MPIEXEC -n $RANKS /usr/bin/python3 poisson.py > result.txt
