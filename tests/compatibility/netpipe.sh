$MPIEXEC -n 2 NPopenmpi -u 64 2>&1 | grep "67 bytes"
