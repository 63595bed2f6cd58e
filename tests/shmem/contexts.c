// ranks: 4
// Each context has fences and quiets of its own: non-blocking long puts and their sources, flags behind fences, and a quiet that does not wait
// for what another context has asked of a PE that stands still.
#include "check.h"
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { LONG = 1 << 16, ROUNDS = 20 };

static long data[2][LONG], source[LONG], words[4], counter, flag, pid, told;

static int is_stopped(long process)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%ld/stat", process);
    FILE *file = fopen(path, "r");
    if (file) {
        if (fscanf(file, "%*d %*s %c", &state) != 1)
            state = 0;
        fclose(file);
    }
    return state == 'T';
}

static void fill(long value)
{
    for (int i = 0; i < LONG; i++)
        source[i] = value + i;
}

int main(void)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    shmem_ctx_t one, other;
    CHECK(n == 4 && shmem_ctx_create(0, &one) == 0 && shmem_ctx_create(0, &other) == 0);

    // A flag behind a fence comes after a long non-blocking put; the source may change after the quiet; two contexts at a time.
    for (long round = 1; round <= ROUNDS; round++) {
        if (me == 0) {
            fill(round * 10);
            shmem_ctx_long_put_nbi(one, data[0], source, LONG, n - 1);
            shmem_ctx_long_put_nbi(other, data[1], source, LONG, n - 1);
            shmem_ctx_fence(one);
            shmem_ctx_long_p(one, &flag, round, n - 1);
            shmem_ctx_quiet(one);
            shmem_ctx_quiet(other);
            fill(-1);
        } else if (me == n - 1) {
            shmem_wait_until(&flag, SHMEM_CMP_GE, round);
            CHECK(data[0][0] == round * 10 && data[0][LONG - 1] == round * 10 + LONG - 1);
        }
        shmem_barrier_all();
        if (me == n - 1)
            for (int i = 0; i < LONG; i++)
                CHECK(data[1][i] == round * 10 + i);
        shmem_barrier_all();
    }

    // A fetching atomic is answered beside gets that are under way, and these are there after the quiet of their context.
    static long back[LONG];
    for (int round = 0; round < ROUNDS; round++) {
        int pe = (me + 2) % n;
        shmem_ctx_long_get_nbi(one, back, data[0], LONG, pe);
        shmem_ctx_long_atomic_fetch_inc(other, &counter, pe);
        shmem_ctx_quiet(one);
        CHECK(back[LONG - 1] == (pe == n - 1 ? ROUNDS * 10 + LONG - 1 : 0));
    }
    shmem_barrier_all();
    CHECK(counter == ROUNDS);

    // What a context that stores nothing has asked for is there when it has been destroyed.
    for (int round = 0; round < ROUNDS; round++) {
        shmem_ctx_t reads;
        int pe = (me + 2) % n;
        CHECK(shmem_ctx_create(SHMEM_CTX_NOSTORE, &reads) == 0);
        for (int i = 0; i < LONG; i++)
            back[i] = -2;
        shmem_ctx_long_get_nbi(reads, back, data[0], LONG, pe);
        shmem_ctx_destroy(reads);
        CHECK(back[0] == (pe == n - 1 ? ROUNDS * 10 : 0) && back[LONG - 1] == (pe == n - 1 ? ROUNDS * 10 + LONG - 1 : 0));
    }
    shmem_barrier_all();

    // PE 2 stops PE 3. What PE 0 asks of that waits, and its other context goes on.
    pid = getpid();
    shmem_barrier_all();
    if (me == 2) {
        long process = shmem_g(&pid, 3);
        CHECK(kill((pid_t)process, SIGSTOP) == 0);
        while (!is_stopped(process))
            usleep(1000);
        shmem_p(&told, 1L, 0);
        shmem_quiet();
        shmem_wait_until(&words[2], SHMEM_CMP_EQ, 1);
        CHECK(words[0] == 7);
        CHECK(kill((pid_t)process, SIGCONT) == 0);
    } else if (me == 0) {
        shmem_wait_until(&told, SHMEM_CMP_EQ, 1);
        shmem_ctx_long_p(one, &words[1], 8L, 3);
        shmem_ctx_long_p(other, &words[0], 7L, 2);
        shmem_ctx_quiet(other);
        // That PE goes on when this has come: the quiet has not waited for the one that stands still.
        shmem_ctx_long_p(other, &words[2], 1L, 2);
        shmem_ctx_quiet(other);
        shmem_ctx_quiet(one);
    }
    shmem_barrier_all();
    CHECK(me != 3 || words[1] == 8);
    shmem_ctx_destroy(one);
    shmem_ctx_destroy(other);
    shmem_finalize();
    return 0;
}
