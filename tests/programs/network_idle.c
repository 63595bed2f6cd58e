/* Ranks that wait for one on another node sleep: without windows, and with one, for which a thread looks after the network. */
#include "check.h"
#include <sys/resource.h>

enum { SECONDS = 4 };

static double used(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
           + 1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

/* The last rank comes late. The others use less than a hundredth of the time. Each of their waits spins before it sleeps, for up to 8 ms where
   another node's ranks are on the same CPUs (docs/waiting.md), and a barrier has a few waits. */
static void wait_for_the_last(const char *how) {
    OK(MPI_Barrier(MPI_COMM_WORLD));
    double before = used();
    if (rank == size - 1) sleep(SECONDS);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    double took = used() - before;
    CHECK(took < SECONDS * 0.01, "%s: %g s of the CPU in %d s", how, took, SECONDS);
}

int main(int argc, char **argv) {
    int provided;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    wait_for_the_last("without windows");
    MPI_Win window;
    void *memory;
    OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window));
    wait_for_the_last("with a window");
    OK(MPI_Win_free(&window));
    OK(MPI_Finalize());
    return 0;
}
