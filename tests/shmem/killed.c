// killed VICTIM: run by the tests of jobs on several nodes. All put into, get from and count at each other's memory without an end; one dies by
// SIGKILL in the middle of it. What a PE reads back is right until then.
#include "check.h"
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

enum { LONG = 1 << 15, MOST = 16 };

static long parts[MOST][LONG], mine[LONG], back[LONG], counter;

static void die(int number)
{
    (void)number;
    kill(getpid(), SIGKILL);
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    CHECK(argc == 2 && n <= MOST);
    shmem_barrier_all();
    if (me == atoi(argv[1])) {
        signal(SIGALRM, die);
        struct itimerval in = {.it_value = {.tv_usec = 100000}};
        setitimer(ITIMER_REAL, &in, NULL);
    }
    for (long round = 1;; round++)
        for (int pe = 0; pe < n; pe++) {
            int length = round % 2 ? LONG : 10;
            mine[0] = mine[length - 1] = round;
            shmem_long_put(parts[me], mine, length, pe);
            shmem_long_atomic_inc(&counter, pe);
            shmem_quiet();
            shmem_long_get(back, parts[me], length, pe);
            CHECK(back[0] == round && back[length - 1] == round);
        }
}
