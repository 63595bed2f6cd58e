// ranks: 1 2 4
// Threads count with elements of their own and with one that all have, while another thread makes and destroys arrays.
#include <ga.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) GA_Error(#condition, __LINE__);                                                              \
    } while (0)

enum { THREADS = 3, COUNTS = 3000, TURNS = 40 };

static int own, shared, me, size;
static atomic_int working = THREADS;

static void *count(void *number)
{
    int at[2] = {(int)(size_t)number, me}, all[1] = {0}, others[2] = {at[0], (me + 1) % size};
    long last = -1;
    for (int n = 0; n < COUNTS; n++) {
        CHECK(NGA_Read_inc(own, at, 1) == n);
        long before = NGA_Read_inc(shared, all, 2);
        CHECK(before > last && before % 2 == 0);
        last = before;
        CHECK(NGA_Read_inc(own, others, 0) >= 0);
    }
    working--;
    return NULL;
}

int main(int argc, char **argv)
{
    int provided, line[1] = {50}, zero[1] = {0};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    CHECK(provided == MPI_THREAD_MULTIPLE);
    GA_Initialize();
    me = GA_Nodeid();
    size = GA_Nnodes();
    int dims[2] = {THREADS, size};
    own = NGA_Create(C_INT, 2, dims, "own", NULL);
    shared = NGA_Create(C_LONG, 1, (int[]){1}, "shared", NULL);
    GA_Zero(own);
    GA_Zero(shared);
    pthread_t threads[THREADS];
    for (size_t n = 0; n < THREADS; n++) pthread_create(&threads[n], NULL, count, (void *)n);
    for (int turn = 0; turn < TURNS; turn++) {
        int array = NGA_Create(C_INT, 1, line, "short-lived", NULL);
        GA_Zero(array);
        for (int n = 0; n < 10; n++) NGA_Read_inc(array, zero, 1);
        GA_Sync();
        CHECK(NGA_Read_inc(array, zero, 0) == 10 * size);
        GA_Destroy(array);
    }
    for (int n = 0; n < THREADS; n++) pthread_join(threads[n], NULL);
    GA_Sync();
    CHECK(working == 0 && NGA_Read_inc(shared, zero, 0) == 2L * THREADS * COUNTS * size);
    for (int n = 0; n < THREADS; n++) CHECK(NGA_Read_inc(own, (int[]){n, me}, 0) == COUNTS);
    GA_Sync();
    GA_Terminate();
    MPI_Finalize();
    return 0;
}
