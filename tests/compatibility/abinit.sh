cat > h2.abi <<'END'
acell 10 10 10
ntypat 1
znucl 1
natom 2
typat 1 1
xcart
 -0.7 0 0
 0.7 0 0
ecut 10
kptopt 0
nkpt 1
nstep 10
toldfe 1d-6
diemac 2
pp_dirpath "/usr/share/abinit/psp"
pseudos "01h.pspgth"
END
OMP_NUM_THREADS=1 $MPIEXEC -n $RANKS abinit h2.abi > h2.log
grep "Calculation completed" h2.abo h2.log
sed -n 's/^ *etotal *\(-[0-9.]*E[+-][0-9]*\).*/\1/p' h2.abo | cut -c1-12 > result.txt
