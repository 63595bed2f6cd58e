export GMX_MAXBACKUP=-1 OMP_NUM_THREADS=1
gmx=${GMX:-gmx_mpi}
$MPIEXEC -n 1 $gmx solvate -cs spc216.gro -box 2 2 2 -o box.gro
molecules=$(($(sed -n 2p box.gro) / 3))
cat > topol.top <<END
#include "oplsaa.ff/forcefield.itp"
#include "oplsaa.ff/spce.itp"
[ system ]
water
[ molecules ]
SOL $molecules
END
printf 'integrator = md\nnsteps = 50\ncutoff-scheme = Verlet\nrcoulomb = 0.9\nrvdw = 0.9\ncoulombtype = PME\n' > run.mdp
$MPIEXEC -n 1 $gmx grompp -f run.mdp -c box.gro -p topol.top -o run.tpr -maxwarn 5
$MPIEXEC -n $RANKS $gmx mdrun -s run.tpr -ntomp 1 -reprod -notunepme -dlb no -deffnm run
grep "Finished mdrun" run.log
# The energies of the first step.
awk '/Potential +Kinetic/ { getline; print; exit }' run.log | sed 's/\(\.[0-9]\{3\}\)[0-9]*/\1/g' > result.txt
