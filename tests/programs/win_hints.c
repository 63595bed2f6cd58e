// ranks: 1 2
// mpiexec: --set huge_pages=off
/* Hints of windows are told back, and those that change something do: pages, alignment, locks, how accumulates are made atomic. */
#include "check.h"
#include "counter.h"

static void told(MPI_Win win, const char *key, const char *wanted) {
    char value[MPI_MAX_INFO_VAL];
    int flag, length = sizeof value;
    MPI_Info info;
    OK(MPI_Win_get_info(win, &info));
    OK(MPI_Info_get_string(info, key, &length, value, &flag));
    if (wanted) CHECK(flag && strcmp(value, wanted) == 0, "%s is %s, not %s", key, flag ? value : "not there", wanted);
    else CHECK(!flag, "%s is %s", key, value);
    OK(MPI_Info_free(&info));
}

/* Since this began to count. */
static unsigned long value_of(MPI_T_pvar_session session, MPI_T_pvar_handle handle) {
    unsigned long value;
    OK(MPI_T_pvar_read(session, handle, &value));
    return value;
}

static MPI_Win make(const char *pairs[][2], int count, MPI_Aint bytes, int shared, char **memory) {
    MPI_Info info;
    MPI_Win win;
    OK(MPI_Info_create(&info));
    for (int i = 0; i < count; i++) OK(MPI_Info_set(info, pairs[i][0], pairs[i][1]));
    if (shared) OK(MPI_Win_allocate_shared(bytes, 1, info, MPI_COMM_WORLD, memory, &win));
    else OK(MPI_Win_allocate(bytes, 1, info, MPI_COMM_WORLD, memory, &win));
    OK(MPI_Info_free(&info));
    return win;
}

int main(int argc, char **argv) {
    enum { HUGE = 2 << 20 };
    char *memory;
    int given;
    begin(&argc, &argv);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &given));
    MPI_Win win = make(NULL, 0, 64, 0, &memory);
    const char *usual[][2] = {{"no_locks", "false"}, {"same_size", "false"}, {"same_disp_unit", "false"},
        {"alloc_shared_noncontig", "false"}, {"accumulate_ordering", "rar,raw,war,waw"}, {"accumulate_ops", "same_op_no_op"}};
    for (int i = 0; i < 6; i++) told(win, usual[i][0], usual[i][1]);
    told(win, "isthmus_huge_pages", NULL);
    told(win, "mpi_minimum_memory_alignment", NULL);
    OK(MPI_Win_free(&win));

    const char *others[][2] = {{"no_locks", "true"}, {"same_size", "true"}, {"same_disp_unit", "true"},
        {"accumulate_ordering", "none"}, {"accumulate_ops", "same_op"}, {"mpi_minimum_memory_alignment", "65536"},
        {"mpi_accumulate_granularity", "4096"}, {"mpi_assert_memory_alloc_kinds", "system"}, {"unheard_of", "1"}};
    for (int shared = 0; shared < 2; shared++) {
        win = make(others, 9, 4096, shared, &memory);
        for (int i = 0; i < 8; i++) told(win, others[i][0], others[i][1]);
        told(win, "unheard_of", NULL);
        if (!shared || rank == 0) CHECK((uintptr_t)memory % 65536 == 0, "%p is not aligned", (void *)memory);
        OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
        int class, error = MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        OK(MPI_Error_class(error, &class));
        CHECK(class == MPI_ERR_RMA_SYNC, "a lock where there are none: %d", class);
        /* Under locks from the beginning, and right. */
        memset(memory, 0, 4096);
        long ones[512], one = 1;
        for (int i = 0; i < 512; i++) ones[i] = 1;
        OK(MPI_Win_fence(0, win));
        OK(MPI_Accumulate(ones, 512, MPI_LONG, 0, 0, 512, MPI_LONG, MPI_SUM, win));
        OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, 8, 1, MPI_LONG, MPI_SUM, win));
        OK(MPI_Win_fence(0, win));
        if (rank == 0)
            for (int i = 0; i < 512; i++) CHECK(((long *)memory)[i] == (i == 1 ? 2 : 1) * size, "%ld at %d", ((long *)memory)[i], i);
        OK(MPI_Win_fence(0, win));
        OK(MPI_Win_free(&win));
    }

    /* Huge pages begin at their multiples; memory is good whether the machine has any or not. The tunable says none, the window some. */
    const char *pages[] = {"thp", "auto", "hugetlb", "off", "large"};
    MPI_T_pvar_session session;
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle huge = counter(session, "huge_bytes");
    OK(MPI_T_pvar_start(session, huge));
    for (int i = 0; i < 5; i++) {
        unsigned long before = value_of(session, huge);
        const char *pair[][2] = {{"isthmus_huge_pages", pages[i]}};
        win = make(pair, 1, 2 * HUGE, 0, &memory);
        told(win, "isthmus_huge_pages", i < 4 ? pages[i] : NULL);
        if (i < 3) CHECK((uintptr_t)memory % HUGE == 0, "%s: %p does not begin at a huge page", pages[i], (void *)memory);
        else CHECK(value_of(session, huge) == before, "%s: huge pages were asked for", pages[i]);
        for (int at = 0; at < 2 * HUGE; at += 4096) memory[at] = (char)(at >> 12);
        OK(MPI_Win_fence(0, win));
        char there;
        OK(MPI_Get(&there, 1, MPI_CHAR, (rank + 1) % size, 5 * 4096, 1, MPI_CHAR, win));
        OK(MPI_Win_fence(0, win));
        CHECK(there == 5, "%s: %d", pages[i], there);
        OK(MPI_Win_free(&win));
    }
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    end();
    return 0;
}
