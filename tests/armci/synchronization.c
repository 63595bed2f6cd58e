// ranks: 1 2 4 8
// Read-modify-write, mutexes, notifications in a ring, accumulates to one place: nothing is lost.
#include <armci.h>
#include <message.h>

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) ARMCI_Error(#condition, __LINE__);                                                           \
    } while (0)

int main(void)
{
    CHECK(ARMCI_Init() == 0);
    int me = armci_msg_me(), size = armci_msg_nproc();
    void *at[size];
    CHECK(ARMCI_Malloc(at, 64) == 0);
    enum { ROUNDS = 500 };
    // Counters at process 0, int and long.
    char *zero = at[0];
    int seen = -1;
    for (int i = 0; i < ROUNDS; i++) {
        int old;
        long old_long;
        CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD, &old, zero, 1, 0) == 0 && old > seen);
        seen = old;
        CHECK(ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, &old_long, zero + 8, 3, 0) == 0 && old_long % 3 == 0);
    }
    ARMCI_Barrier();
    CHECK(ARMCI_GetValueInt(zero, 0) == ROUNDS * size && ARMCI_GetValueLong(zero + 8, 0) == 3L * ROUNDS * size);
    // A number that is handed round by swaps: each is taken once.
    int mine = me + 1, total = 0;
    CHECK(ARMCI_Rmw(ARMCI_SWAP, &mine, zero + 16, 0, 0) == 0);
    long mine_long = mine;
    CHECK(ARMCI_Rmw(ARMCI_SWAP_LONG, &mine_long, zero + 24, 0, 0) == 0);
    ARMCI_Barrier();
    total = (int)mine_long;
    armci_msg_igop(&total, 1, "+");
    long left = ARMCI_GetValueLong(zero + 24, 0);
    int last = ARMCI_GetValueInt(zero + 16, 0);
    CHECK(total + left + last == size * (size + 1) / 2);
    ARMCI_Barrier();
    // Mutexes: of two at each process, the second of the last guards a number that is not atomic.
    CHECK(ARMCI_Create_mutexes(2) == 0);
    int host = size - 1;
    for (int i = 0; i < 100; i++) {
        ARMCI_Lock(1, host);
        long value = ARMCI_GetValueLong(zero + 32, 0);
        CHECK(ARMCI_PutValueLong(value + 1, zero + 32, 0) == 0);
        ARMCI_Fence(0);
        ARMCI_Unlock(1, host);
    }
    ARMCI_Lock(0, me);
    ARMCI_Unlock(0, me);
    ARMCI_Barrier();
    CHECK(ARMCI_GetValueLong(zero + 32, 0) == 100L * size);
    CHECK(ARMCI_Destroy_mutexes() == 0);
    // Everybody adds to one double and to a neighbour.
    double one = 1, scale = 1;
    for (int i = 0; i < ROUNDS; i++) CHECK(ARMCI_Acc(ARMCI_ACC_DBL, &scale, &one, zero + 40, sizeof one, 0) == 0);
    ARMCI_Barrier();
    CHECK(ARMCI_GetValueDouble(zero + 40, 0) == (double)ROUNDS * size);
    // A token goes round by notifications.
    int to = (me + 1) % size, from = (me + size - 1) % size;
    for (int round = 0; round < 20; round++) {
        int count;
        if (me == 0) armci_notify(to);
        armci_notify_wait(from, &count);
        CHECK(count == round + 1);
        if (me != 0) armci_notify(to);
    }
    CHECK(ARMCI_Free(at[me]) == 0);
    ARMCI_Finalize();
    return 0;
}
