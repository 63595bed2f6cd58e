/* second_thread: two threads of each rank call MPI at once, though the program has asked for MPI_THREAD_SINGLE: PT-Scotch and MPQC do so. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static MPI_Comm comms[2];
static int rank, size;

static void *together(void *which) {
    MPI_Comm comm = comms[*(int *)which];
    for (int i = 0; i < 20000; i++) {
        int one = i, sum = 0, from = -1;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm);
        MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, i, &from, 1, MPI_INT, (rank + size - 1) % size, i, comm, MPI_STATUS_IGNORE);
        if (sum != i * size || from != (rank + size - 1) % size) {
            fprintf(stderr, "round %d: %d, from %d\n", i, sum, from);
            exit(1);
        }
    }
    return NULL;
}

int main(int argc, char **argv) {
    int which[2] = {0, 1}, level;
    pthread_t thread;
    MPI_Init(&argc, &argv);
    MPI_Query_thread(&level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 2; i++) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    pthread_create(&thread, NULL, together, &which[1]);
    together(&which[0]);
    pthread_join(thread, NULL);
    for (int i = 0; i < 2; i++) MPI_Comm_free(&comms[i]);
    if (rank == 0 && level == MPI_THREAD_SINGLE) puts("right");
    MPI_Finalize();
    return 0;
}
