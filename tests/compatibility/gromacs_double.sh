GMX=gmx_mpi_d
. "$HERE/gromacs.sh"
