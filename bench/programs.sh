#!/bin/sh
# Installed programs of Open MPI's ABI, on Isthmus and on the Open MPI that they come with, launched in turn.
#
# usage: programs.sh PREFIX [LAUNCHES [PROGRAM]...]
#
# PREFIX is an installation of Isthmus. Programs: lammps gromacs hpcc cp2k nwchem, as Debian has them. Prints a row of a table for each
# program and number of ranks: the median of the seconds that the program itself reports (hpcc: of the whole command), of both, and how
# many times faster Isthmus is.
set -eu

[ $# -gt 0 ] || { sed -n '4,8s/^# //p' "$0" >&2; exit 2; }
prefix=$(cd "$1" && pwd)
launches=${2:-5}
shift; [ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- lammps gromacs cp2k
work=$(mktemp -d)
trap 'status=$?; [ $status = 0 ] || tail -n 20 ./*.out >&2; rm -rf "$work"' EXIT
export OMP_NUM_THREADS=1 GMX_MAXBACKUP=-1
cd "$work"

ours() { "$prefix/bin/mpiexec" -n "$@"; }
theirs() { mpiexec.openmpi --allow-run-as-root --oversubscribe -n "$@"; }

# A melt of 4000 atoms: short messages, thousands of steps.
lammps_prepare() {
    cat > in.lj <<END_OF_INPUT
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 100
run 2000
END_OF_INPUT
}
lammps() { "$1" "$2" lmp -in in.lj > lammps.out; sed -n 's/^Loop time of \([0-9.]*\) .*/\1/p' lammps.out; }

# Water in a box of 3 nm, with PME.
gromacs_prepare() {
    {
        ours 1 gmx_mpi solvate -cs spc216.gro -box 3 3 3 -o box.gro
        molecules=$(($(sed -n 2p box.gro) / 3))
        printf '#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spce.itp"\n[ system ]\nwater\n[ molecules ]\nSOL %s\n' "$molecules" > topol.top
        printf 'integrator = md\nnsteps = 1000\ncutoff-scheme = Verlet\nrcoulomb = 0.9\nrvdw = 0.9\ncoulombtype = PME\n' > run.mdp
        ours 1 gmx_mpi grompp -f run.mdp -c box.gro -p topol.top -o run.tpr -maxwarn 5
    } > prepare.out 2>&1
}
gromacs() {
    "$1" "$2" gmx_mpi mdrun -s run.tpr -ntomp 1 -pin off -notunepme -deffnm run > gromacs.out 2>&1
    awk '$1 == "Time:" { print $3 }' run.log
}

# Eight molecules of water, one energy.
cp2k_prepare() {
    {
        printf '&GLOBAL\n PROJECT w\n RUN_TYPE ENERGY\n&END\n&FORCE_EVAL\n METHOD QS\n &DFT\n  BASIS_SET_FILE_NAME GTH_BASIS_SETS\n'
        printf '  POTENTIAL_FILE_NAME GTH_POTENTIALS\n  &MGRID\n   CUTOFF 200\n  &END\n  &SCF\n   MAX_SCF 10\n  &END\n'
        printf '  &XC\n   &XC_FUNCTIONAL PADE\n   &END\n  &END\n &END\n &SUBSYS\n  &CELL\n   ABC 6.2 6.2 6.2\n  &END\n  &COORD\n'
        for x in 0 3.1; do for y in 0 3.1; do for z in 0 3.1; do
            awk -v x="$x" -v y="$y" -v z="$z" 'BEGIN {
                print "O", x, y, z; print "H", x + 0.76, y + 0.59, z; print "H", x - 0.76, y + 0.59, z }'
        done; done; done
        printf '  &END\n  &KIND H\n   BASIS_SET DZVP-GTH\n   POTENTIAL GTH-PADE-q1\n  &END\n  &KIND O\n   BASIS_SET DZVP-GTH\n'
        printf '   POTENTIAL GTH-PADE-q6\n  &END\n &END\n&END\n'
    } > w.inp
}
cp2k() {
    rm -f w.out
    "$1" "$2" cp2k.psmp -i w.inp -o w.out > cp2k.out 2>&1
    awk '$1 == "CP2K" && $2 == 1 { print $NF }' w.out
}

nwchem_prepare() {
    printf 'start w\ngeometry noautosym\n' > w.nw
    awk 'BEGIN { for (i = 0; i < 4; i++) { x = 3 * i; print "O", x, 0, 0; print "H", x + 0.76, 0.59, 0; print "H", x - 0.76, 0.59, 0 } }' >> w.nw
    printf 'end\nbasis\n H library 6-31g*\n O library 6-31g*\nend\ntask scf energy\n' >> w.nw
}
nwchem() { "$1" "$2" nwchem.openmpi w.nw > nwchem.out 2>&1; sed -n 's/.*Total times.*wall: *\([0-9.]*\)s.*/\1/p' nwchem.out; }

# A system of 2000 equations, and the benchmarks that go with it.
hpcc_prepare() {
    printf '%s\n' - - HPL.out 8 1 2000 1 100 0 1 1 2 16.0 1 2 1 4 1 2 1 1 1 1 1 1 2 64 0 0 1 8 - 0 0 0 0 > hpccinf.txt
}
hpcc() {
    rm -f hpccoutf.txt
    sed -i "12s/.*/$2/" hpccinf.txt
    begin=$(date +%s.%N)
    "$1" "$2" hpcc
    end=$(date +%s.%N)
    grep -q PASSED hpccoutf.txt && ! grep -q FAILED hpccoutf.txt || { echo "hpcc failed" >&2; exit 1; }
    awk "BEGIN { print $end - $begin }"
}

median() { sort -n "$1" | awk '{ value[NR] = $1 } END { print (value[int((NR + 1) / 2)] + value[int(NR / 2) + 1]) / 2 }'; }

for program in "$@"; do
    "${program}_prepare"
    for ranks in ${RANKS:-2 4}; do
        : > ours.seconds; : > theirs.seconds
        turn=0
        while [ $turn -lt "$launches" ]; do
            turn=$((turn + 1))
            "$program" ours "$ranks" >> ours.seconds
            "$program" theirs "$ranks" >> theirs.seconds
        done
        [ "$(wc -l < ours.seconds)" = "$launches" ] && [ "$(wc -l < theirs.seconds)" = "$launches" ] || { echo "$program: no time in its output" >&2; exit 1; }
        awk -v a="$(median ours.seconds)" -v b="$(median theirs.seconds)" -v p="$program" -v r="$ranks" \
            'BEGIN { printf "| %s | %d | %.2f | %.2f | %.2f |\n", p, r, a, b, b / a }'
    done
done
