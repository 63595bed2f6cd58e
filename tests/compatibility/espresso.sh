printf '&control\n/\n' | $MPIEXEC -n $RANKS pw.x > pw.out 2>&1 || true
grep "Parallel version (MPI" pw.out
