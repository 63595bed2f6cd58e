// ranks: 2 4
/* Threads that use memory of devices at the same time, some with a current context and some without. */
#include "device.h"

enum { THREADS = 3, ROUNDS = 60, LONG = 200000 };

static MPI_Comm comms[THREADS];

static void *exchange(void *argument) {
    int me = (int)(intptr_t)argument, to = (rank + 1) % size, from = (rank + size - 1) % size;
    static const enum kind kinds[THREADS][2] = {{DEVICE, DEVICE}, {OTHER, HOST}, {POOLED, DEVICE}};
    char *host = malloc(LONG), *out = take(kinds[me][0], LONG), *in = take(kinds[me][1], LONG);
    unsigned state = (unsigned)me;
    CHECK(host, "no memory");
    if (me > 0 && cu.set) DRIVER(cu.set(context_of(me == 1 ? DEVICE : OTHER)));
    for (unsigned round = 0; round < ROUNDS; round++) {
        int bytes = (int)(next_random(&state) % (round % 4 ? 3000 : LONG));
        unsigned seed = round * 10 + (unsigned)me;
        noise(host, (size_t)bytes, seed + (unsigned)rank);
        store(kinds[me][0], out, host, (size_t)bytes);
        OK(MPI_Sendrecv(out, bytes, MPI_BYTE, to, 1, in, bytes, MPI_BYTE, from, 1, comms[me], MPI_STATUS_IGNORE));
        char *expected = malloc((size_t)bytes + 1);
        CHECK(expected, "no memory");
        noise(expected, (size_t)bytes, seed + (unsigned)from);
        load(kinds[me][1], host, in, (size_t)bytes);
        CHECK(memcmp(host, expected, (size_t)bytes) == 0, "thread %d, round %u, %d bytes", me, round, bytes);
        int one = 1, sum = 0;
        store(kinds[me][0], out, &one, sizeof one);
        OK(MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, comms[me]));
        load(kinds[me][1], &sum, in, sizeof sum);
        CHECK(sum == size, "thread %d, round %u: %d", me, round, sum);
        free(expected);
    }
    give(kinds[me][0], out);
    give(kinds[me][1], in);
    free(host);
    return NULL;
}

static void run(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    for (int i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, exchange, (void *)(intptr_t)i) == 0, "no thread");
    for (int i = 0; i < THREADS; i++) CHECK(pthread_join(threads[i], NULL) == 0, "no end");
    for (int i = 0; i < THREADS; i++) OK(MPI_Comm_free(&comms[i]));
}

int main(int argc, char **argv) {
    always_multiple = 1;
    return device_main(argc, argv, run);
}
