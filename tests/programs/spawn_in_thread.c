/* A thread spawns, as those of mpi4py.futures do; the main thread waits for what it was to bring. */
#include "check.h"

#include <pthread.h>
#include <semaphore.h>

static sem_t brought;

static void *bring(void *unused) {
    MPI_Comm children;
    int code = MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
    if (code == MPI_SUCCESS) sem_post(&brought);
    return unused;
}

int main(int argc, char **argv) {
    pthread_t thread;
    int provided;
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    MPI_Comm children;
    FAILS(MPI_ERR_UNSUPPORTED_OPERATION, MPI_Comm_spawn("true", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children,
                                                        MPI_ERRCODES_IGNORE));
    sem_init(&brought, 0, 0);
    pthread_create(&thread, NULL, bring, NULL);
    sem_wait(&brought);
    end();
    return 0;
}
