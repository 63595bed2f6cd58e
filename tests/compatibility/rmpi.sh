prefix=$(dirname "$(dirname "$MPIEXEC")")
export R_LD_LIBRARY_PATH=$prefix/lib:/usr/lib/R/lib
$MPIEXEC -n $RANKS Rscript -e 'library(Rmpi); n <- mpi.comm.size(0); s <- mpi.allreduce(1, 2, "sum", 0); if (s != n || n < 2) stop("wrong sum"); mpi.finalize()'
