// A mistake ends the job with a line that names call, pointer and process: the argument says what to do.
#include <message.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "before")) {
        double x = 0;
        ARMCI_Put(&x, &x, sizeof x, 0);
    }
    ARMCI_Init();
    int me = armci_msg_me(), size = armci_msg_nproc(), last = size - 1;
    void *at[size];
    char mine[64] = {0};
    ARMCI_Malloc(at, 1024);
    if (me == 0) {
        char *far = at[last];
        int count[2] = {8, 10}, stride[1] = {120}, near[1] = {0};
        if (!strcmp(what, "wild")) ARMCI_Put(mine, (void *)0x10, 8, last);
        if (!strcmp(what, "stack")) ARMCI_Get(mine, mine + 32, 8, last);
        if (!strcmp(what, "end")) ARMCI_Put(mine, far + 1020, 8, last);
        if (!strcmp(what, "before-it")) ARMCI_Put(mine, far - 1, 8, last);
        if (!strcmp(what, "section")) ARMCI_PutS(mine, near, far, stride, count, 1, last);
        double one = 1;
        int flag;
        armci_hdl_t handle;
        ARMCI_INIT_HANDLE(&handle);
        void *from[2] = {mine, mine + 8}, *to[2] = {far, far + 1024};
        armci_giov_t list = {from, to, 2, 8}, back = {to, from, 2, 8};
        if (!strcmp(what, "acc")) ARMCI_Acc(ARMCI_ACC_DBL, &one, mine, far + 1024, 8, last);
        if (!strcmp(what, "section-get")) ARMCI_GetS(far, stride, mine, near, count, 1, last);
        if (!strcmp(what, "section-acc")) ARMCI_AccS(ARMCI_ACC_DBL, &one, mine, near, far, stride, count, 1, last);
        if (!strcmp(what, "vector")) ARMCI_PutV(&list, 1, last);
        if (!strcmp(what, "vector-get")) ARMCI_GetV(&back, 1, last);
        if (!strcmp(what, "vector-acc")) ARMCI_AccV(ARMCI_ACC_DBL, &one, &list, 1, last);
        if (!strcmp(what, "nb-put")) ARMCI_NbPut(mine, far + 1024, 8, last, &handle);
        if (!strcmp(what, "nb-get")) ARMCI_NbGetS(far, stride, mine, near, count, 1, last, &handle);
        if (!strcmp(what, "value")) ARMCI_PutValueLong(1, far + 1020, last);
        if (!strcmp(what, "value-get")) ARMCI_GetValueDouble(far - 8, last);
        if (!strcmp(what, "flag")) ARMCI_Put_flag(mine, far, 8, &flag, 1, last);
        if (!strcmp(what, "rmw-wild")) ARMCI_Rmw(ARMCI_SWAP_LONG, mine, mine + 8, 0, last);
        if (!strcmp(what, "other")) ARMCI_Put(mine, at[0], 8, last);
        if (!strcmp(what, "proc")) ARMCI_Put(mine, far, 8, size);
        if (!strcmp(what, "negative")) ARMCI_Put(mine, far, -8, last);
        if (!strcmp(what, "optype")) ARMCI_Acc(99, mine, mine, far, 8, last);
        if (!strcmp(what, "rmw")) ARMCI_Rmw(ARMCI_FETCH_AND_ADD_LONG, mine, far + 4, 1, last);
        if (!strcmp(what, "mutex")) ARMCI_Lock(0, last);
        if (!strcmp(what, "free")) ARMCI_Free_local(mine);
        if (!strcmp(what, "count")) armci_msg_dgop(&one, 2147483647, "+");
        if (!strcmp(what, "count-absmax")) armci_msg_igop(&flag, 2147483647, "absmax");
        if (!strcmp(what, "count-broadcast")) armci_msg_bcast(mine, 2147483647, 0);
        if (!strcmp(what, "count-send")) armci_msg_snd(5, mine, 2147483647, last);
        if (!strcmp(what, "error")) ARMCI_Error("the program gives up", 7);
        if (!strcmp(what, "members")) {
            MPI_Init(&argc, &argv);
            ARMCI_Init_mpi_comm(MPI_COMM_SELF);
        }
        if (!strcmp(what, "group")) armci_msg_group_barrier(&(ARMCI_Group){17});
    }
    if (!strcmp(what, "counts")) {
        // Longer than what is combined at a time.
        static double many[400000];
        armci_msg_dgop(many, me == 0 ? 0 : 400000, "+");
    }
    if (!strcmp(what, "freed")) {
        ARMCI_Barrier();
        ARMCI_Free(at[me]);
        if (me == 0) ARMCI_Put(mine, at[last], 8, last);
    }
    if (!strcmp(what, "twice")) {
        ARMCI_Create_mutexes(1);
        if (me == 0) {
            ARMCI_Lock(0, last);
            ARMCI_Lock(0, last);
        }
    }
    if (!strcmp(what, "unlock")) {
        ARMCI_Create_mutexes(1);
        if (me == 0) ARMCI_Unlock(0, last);
    }
    if (!strcmp(what, "huge")) {
        // Memory that cannot be had: an error at every process, and all goes on.
        void *more[size];
        if (ARMCI_Malloc(more, me == last ? 1L << 50 : 64) == 0) return 3;
        ARMCI_Group all;
        ARMCI_Group_get_world(&all);
        if (ARMCI_Malloc_group(more, me == last ? 1L << 50 : 64, &all) == 0) return 6;
        if (ARMCI_Malloc_local(1L << 50) != NULL) return 7;
        if (ARMCI_Malloc(more, 64) != 0) return 4;
        ARMCI_Barrier();
        ARMCI_Finalize();
        return 0;
    }
    if (!strcmp(what, "kill") && me == last) {
        ARMCI_Create_mutexes(1);
        ARMCI_Lock(0, 0);
        raise(SIGKILL);
    }
    if (!strcmp(what, "kill")) {
        ARMCI_Create_mutexes(1);
        ARMCI_Lock(0, 0);
        ARMCI_Unlock(0, 0);
    }
    ARMCI_Barrier();
    ARMCI_Barrier();
    return 5;
}
