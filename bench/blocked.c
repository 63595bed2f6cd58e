/* What a rank costs that is blocked in MPI_Recv, and how long it takes to wake.
 *
 *   blocked [--seconds S]             CPU time that rank 0 uses while it is blocked for so long
 *   blocked [--seconds S] MS ...      from just before rank 1 sends until rank 0, which has been blocked for so many
 *                                     milliseconds, has the message; `floors --wake` does the same with a bare futex */
#define _GNU_SOURCE
#include "mpi_measure.h"
#include <sys/resource.h>

enum { TAG = 7, READY = 8 };

static int rank;

static double cpu_ms(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1e3 +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-3;
}

static void measure_cpu(double seconds)
{
    int token = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) {
        double cpu = cpu_ms(), start = now_us();
        MPI_Recv(&token, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("result blocked ranks=2 cpu_ms=%.3f wall_ms=%.1f\n", cpu_ms() - cpu, (now_us() - start) * 1e-3);
        if (token != 42)
            give_up("blocked: received data differs from what was sent");
    } else if (rank == 1) {
        sleep_us(seconds * 1e6);
        token = 42;
        MPI_Send(&token, 1, MPI_INT, 0, TAG, MPI_COMM_WORLD);
    }
}

/* The clock is the same for all processes of a machine. */
static void measure_wake(int ms, double budget_us)
{
    static struct samples samples;
    samples.count = wakes_within(ms, budget_us);
    for (int i = 0; i < samples.count; i++) {
        double sent = 0;
        if (rank == 0) {
            MPI_Send(NULL, 0, MPI_BYTE, 1, READY, MPI_COMM_WORLD);
            MPI_Recv(&sent, 1, MPI_DOUBLE, 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            samples.us[i] = now_us() - sent;
        } else if (rank == 1) {
            MPI_Recv(NULL, 0, MPI_BYTE, 0, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sleep_us(ms * 1e3);
            sent = now_us();
            MPI_Send(&sent, 1, MPI_DOUBLE, 0, TAG, MPI_COMM_WORLD);
        }
    }
    if (rank == 0) {
        printf("result wake ms=%d ", ms);
        print_samples(&samples);
    }
}

int main(int argc, char **argv)
{
    struct arguments a = arguments(argc, argv);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pin(rank);
    if (rank == 0)
        print_library();
    if (a.count == 0)
        measure_cpu(a.seconds);
    for (int i = 0; i < a.count; i++)
        measure_wake(cell_size(a.cells[i]), a.seconds * 1e6 / a.count);
    MPI_Finalize();
    return 0;
}
