cat > h2.inp <<'END'
&GLOBAL
  PROJECT h2
  RUN_TYPE ENERGY
&END GLOBAL
&FORCE_EVAL
  METHOD QS
  &DFT
    BASIS_SET_FILE_NAME GTH_BASIS_SETS
    POTENTIAL_FILE_NAME GTH_POTENTIALS
    &MGRID
      CUTOFF 150
    &END
    &XC
      &XC_FUNCTIONAL PADE
      &END
    &END
  &END
  &SUBSYS
    &CELL
      ABC 6 6 6
    &END
    &COORD
      H 0 0 0
      H 0 0 0.74
    &END
    &KIND H
      BASIS_SET DZVP-GTH
      POTENTIAL GTH-PADE-q1
    &END
  &END
&END
END
OMP_NUM_THREADS=1 $MPIEXEC -n $RANKS cp2k.psmp -i h2.inp -o h2.out
grep "PROGRAM ENDED" h2.out
sed -n 's/.*Total FORCE_EVAL.*: *\(-[0-9]*\.[0-9]\{8\}\).*/\1/p' h2.out > result.txt
