/* CPU time that rank 0 uses while it is blocked in MPI_Recv.
 *
 *   blocked [--seconds S]      how long it is blocked; 4 unless said otherwise */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include <sys/resource.h>

static double cpu_ms(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-3;
}

int main(int argc, char **argv)
{
    double seconds = argc == 3 && strcmp(argv[1], "--seconds") == 0 ? atof(argv[2]) : 4;
    int rank, token = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pin(rank);
    if (rank == 0)
        print_library();
    MPI_Barrier(MPI_COMM_WORLD);

    if (rank == 0) {
        double cpu = cpu_ms(), start = now_us();
        MPI_Recv(&token, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("result blocked ranks=2 cpu_ms=%.3f wall_ms=%.1f\n", cpu_ms() - cpu, (now_us() - start) * 1e-3);
        if (token != 42)
            give_up("blocked: received data differs from what was sent");
    } else if (rank == 1) {
        struct timespec length = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
        nanosleep(&length, NULL);
        token = 42;
        MPI_Send(&token, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}
