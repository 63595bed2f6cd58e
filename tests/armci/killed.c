/* killed OPERATION SEED: run by bad_days. All do the same to each other's memory without an end; one dies by SIGKILL in
   the middle of it, or nobody by itself if SEED is negative. What is read back from one's own part of a peer's memory is right until then. */
#define _GNU_SOURCE
#include <armci.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

enum { DOUBLES = 6000, MOST = 16 };

static int rank, size;
static void *parts[MOST];
static double mine[DOUBLES], back[DOUBLES];

static void die(int number)
{
    (void)number;
    kill(getpid(), SIGKILL);
}

static void give_up(const char *why)
{
    fprintf(stderr, "killed: rank %d: %s\n", rank, why);
    exit(1);
}

static void ok(int code)
{
    if (code != 0)
        give_up("a call has failed");
}

/* My own stretch of a peer's part. */
static double *at(int peer)
{
    return (double *)parts[peer] + (size_t)rank * DOUBLES;
}

static void check(int peer, double wanted, int step)
{
    ok(ARMCI_Get(at(peer), back, sizeof back, peer));
    for (int i = 0; i < DOUBLES; i += step)
        if (back[i] != wanted)
            give_up("the data is wrong");
}

static void once(const char *what, int peer, double turn)
{
    int strides[] = {16}, counts[] = {8, DOUBLES / 2};
    static void *from[DOUBLES / 8], *to[DOUBLES / 8];
    static double one = 1;
    armci_giov_t list = {.src_ptr_array = from, .dst_ptr_array = to, .ptr_array_len = DOUBLES / 8, .bytes = 8};
    armci_hdl_t handle;
    int is_get = strncmp(what, "get", 3) == 0 || strcmp(what, "nbget") == 0;
    for (int i = 0; i < DOUBLES / 8; i++) {
        from[i] = is_get ? at(peer) + 8 * i : mine + 8 * i;
        to[i] = is_get ? back + 8 * i : at(peer) + 8 * i;
    }
    for (int i = 0; i < DOUBLES; i++)
        mine[i] = strncmp(what, "acc", 3) == 0 ? 1 : turn;
    ARMCI_INIT_HANDLE(&handle);
    if (strcmp(what, "put") == 0)
        ok(ARMCI_Put(mine, at(peer), sizeof mine, peer)), ARMCI_Fence(peer), check(peer, turn, 1);
    else if (strcmp(what, "get") == 0)
        ok(ARMCI_Get(at(peer), back, sizeof back, peer)), check(peer, 0, 1);
    else if (strcmp(what, "acc") == 0)
        ok(ARMCI_Acc(ARMCI_ACC_DBL, &one, mine, at(peer), sizeof mine, peer)), ARMCI_Fence(peer);
    else if (strcmp(what, "puts") == 0)
        ok(ARMCI_PutS(mine, strides, at(peer), strides, counts, 1, peer)), ARMCI_Fence(peer), check(peer, turn, 2);
    else if (strcmp(what, "gets") == 0)
        ok(ARMCI_GetS(at(peer), strides, back, strides, counts, 1, peer));
    else if (strcmp(what, "accs") == 0)
        ok(ARMCI_AccS(ARMCI_ACC_DBL, &one, mine, strides, at(peer), strides, counts, 1, peer)), ARMCI_Fence(peer);
    else if (strcmp(what, "putv") == 0)
        ok(ARMCI_PutV(&list, 1, peer)), ARMCI_Fence(peer), check(peer, turn, 8);
    else if (strcmp(what, "getv") == 0)
        ok(ARMCI_GetV(&list, 1, peer));
    else if (strcmp(what, "accv") == 0)
        ok(ARMCI_AccV(ARMCI_ACC_DBL, &one, &list, 1, peer)), ARMCI_Fence(peer);
    else if (strcmp(what, "nbput") == 0)
        ok(ARMCI_NbPut(mine, at(peer), sizeof mine, peer, &handle)), ok(ARMCI_Wait(&handle)), ARMCI_Fence(peer), check(peer, turn, 1);
    else if (strcmp(what, "nbget") == 0)
        ok(ARMCI_NbGet(at(peer), back, sizeof back, peer, &handle)), ok(ARMCI_Wait(&handle));
    else if (strcmp(what, "value") == 0) {
        ok(ARMCI_PutValueDouble(turn, at(peer), peer));
        ARMCI_Fence(peer);
        if (ARMCI_GetValueDouble(at(peer), peer) != turn)
            give_up("the value is wrong");
    } else if (strcmp(what, "flag") == 0)
        ok(ARMCI_Put_flag(mine, at(peer), 8 * (DOUBLES - 1), (int *)(at(peer) + DOUBLES - 1), 7, peer));
    else if (strcmp(what, "rmw") == 0) {
        long before;
        ok(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &before, at(peer), 1, peer));
    } else if (strcmp(what, "mutex") == 0) {
        ARMCI_Lock(0, peer);
        ok(ARMCI_Put(mine, at(peer), sizeof mine, peer));
        ARMCI_Fence(peer);
        ARMCI_Unlock(0, peer);
    } else if (strcmp(what, "notify") == 0) {
        int sent = armci_notify((rank + 1) % size);
        (void)sent;
        armci_notify_wait((rank + size - 1) % size, &(int){0});
    } else
        ARMCI_Barrier();
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    ok(ARMCI_Init());
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3 || size > MOST)
        give_up("killed OPERATION SEED");
    int is_killed = atoi(argv[2]) >= 0;
    unsigned seed = (unsigned)atoi(argv[2]);
    ok(ARMCI_Malloc(parts, (armci_size_t)(sizeof mine * (size_t)size)));
    memset(parts[rank], 0, sizeof mine * (size_t)size);
    ok(ARMCI_Create_mutexes(1));
    ARMCI_Barrier();
    if (is_killed && rank == (int)(seed % (unsigned)size)) {
        signal(SIGALRM, die);
        struct itimerval after = {.it_value.tv_usec = 500 + (long)(seed * 7919u % 12000u)};
        if (setitimer(ITIMER_REAL, &after, NULL) != 0)
            give_up("setitimer");
    }
    for (long turn = 1;; turn++)
        once(argv[1], (int)((turn + rank) % size), (double)turn);
}
