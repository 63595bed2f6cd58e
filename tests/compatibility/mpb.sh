cat > bands.ctl <<'CTL'
(set! num-bands 4)
(set! k-points (list (vector3 0 0 0) (vector3 0.5 0 0)))
(set! geometry (list (make cylinder (center 0 0 0) (radius 0.2) (height infinity) (material (make dielectric (epsilon 12))))))
(set! geometry-lattice (make lattice (size 1 1 no-size)))
(set! resolution 16)
(set! deterministic? true)
(run-te)
CTL
$MPIEXEC -n $RANKS mpb-mpi bands.ctl > bands.out
grep "^tefreqs" bands.out | tr , '\n' | sed -n 's/^ \([0-9.]\{7\}\)[0-9]*$/\1/p' > result.txt
