cat > line.ctl <<'CTL'
(set! geometry-lattice (make lattice (size 10 4 no-size)))
(set! pml-layers (list (make pml (thickness 1.0))))
(set! resolution 10)
(set! sources (list (make source (src (make continuous-src (frequency 0.15))) (component Ez) (center -3 0))))
(run-until 20 (at-end (lambda () (print "field: " (real-part (get-field-point Ez (vector3 1 0))) "\n"))))
CTL
$MPIEXEC -n $RANKS meep line.ctl > line.out
sed -n 's/^field: \(-*[0-9.]\{10\}\).*/\1/p' line.out > result.txt
