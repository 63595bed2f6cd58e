folder=$(dirname "$(dpkg -L scalapack-mpi-test | grep 'openmpi.*xdlu$')")
data=$(dirname "$(dpkg -L scalapack-test-common | grep 'LU.dat$' | head -n 1)")
cp "$data"/LU.dat .
$MPIEXEC -n 4 "$folder"/xdlu > lu.out
grep "tests completed and passed" lu.out
! grep -q "FAILED" lu.out
sed -n '/tests completed and passed/p' lu.out > result.txt
