// ranks: 2 9
// more ranks: 4
/* Ranks that wait for seconds use almost no processor time, more of them than cores or not. */
#include "check.h"

#include <time.h>
#include <unistd.h>

static double used(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = 0;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        sleep(4);
        for (int other = 1; other < size; other++) OK(MPI_Send(&other, 1, MPI_INT, other, 0, MPI_COMM_WORLD));
    } else {
        double before = used();
        OK(MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        double milliseconds = (used() - before) * 1000;
        CHECK(milliseconds < 40, "%.1f ms in 4 s", milliseconds);
        CHECK(value == rank, "value %d", value);
    }
    end();
    return 0;
}
