cat > h2.nw <<'END'
start h2
geometry
 H 0 0 0
 H 0 0 0.74
end
basis
 H library 6-31g
end
task scf energy
END
OMP_NUM_THREADS=1 $MPIEXEC -n $RANKS nwchem.openmpi h2.nw > h2.out
grep "Total SCF energy" h2.out
sed -n 's/.*Total SCF energy = *\(-[0-9]*\.[0-9]\{8\}\).*/\1/p' h2.out > result.txt
