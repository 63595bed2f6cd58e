cat > poisson.edp <<'EDP'
mesh Th = square(20, 20);
fespace Vh(Th, P2);
Vh u, v;
varf a(u, v) = int2d(Th)(dx(u) * dx(v) + dy(u) * dy(v)) + on(1, 2, 3, 4, u = 0);
varf l(unused, v) = int2d(Th)(v) + on(1, 2, 3, 4, unused = 0);
matrix A = a(Vh, Vh, solver = sparsesolver);
real[int] b = l(0, Vh);
u[] = A^-1 * b;
real own = mpirank + 1, sum = 0;
mpiAllReduce(own, sum, mpiCommWorld, mpiSUM);
if (mpirank == 0) cout << "result: " << int2d(Th)(u) << " " << sum << endl;
EDP
$MPIEXEC -n $RANKS FreeFem++-mpi -nw poisson.edp > poisson.out
grep "^result" poisson.out > result.txt
