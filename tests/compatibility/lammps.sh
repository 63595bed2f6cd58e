cat > in.lj <<'END'
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 6 0 6 0 6
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 50
run 100
END
$MPIEXEC -n $RANKS lmp -in in.lj
grep -q "on $RANKS procs for 100 steps" log.lammps
awk '$1 == "Step" { on = 1 } $1 == "Loop" { on = 0 } on' log.lammps > result.txt
