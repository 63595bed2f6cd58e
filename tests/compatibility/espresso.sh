cat > si.in <<'IN'
&control
  calculation = 'scf', prefix = 'si', outdir = '.', pseudo_dir = '/usr/share/abinit/psp'
/
&system
  ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1, ecutwfc = 12
/
&electrons
  conv_thr = 1d-9
/
ATOMIC_SPECIES
 Si 28.086 14-Si.nlcc.UPF
ATOMIC_POSITIONS alat
 Si 0 0 0
 Si 0.25 0.25 0.25
K_POINTS automatic
 2 2 2 1 1 1
IN
OMP_NUM_THREADS=1 $MPIEXEC -n $RANKS pw.x -i si.in > pw.out
grep "JOB DONE" pw.out
sed -n 's/^! *total energy *= *\(-[0-9]*\.[0-9]\{6\}\).*/\1/p' pw.out > result.txt
