cat > hpccinf.txt <<END
line 1 is not read
line 2 is not read
HPL.out
8
1
400
1
80
0
1
1
$RANKS
16.0
1
2
1
4
1
2
1
1
1
1
1
1
2
64
0
0
1
8
line 32 is not read
0
0
0
0
END
OMP_NUM_THREADS=1 $MPIEXEC -n $RANKS hpcc
grep -q "End of HPC Challenge tests" hpccoutf.txt
grep -q PASSED hpccoutf.txt
! grep -q FAILED hpccoutf.txt
# Residuals are numbers of the last bit; how many checks there were and passed is not.
grep -c PASSED hpccoutf.txt > result.txt
