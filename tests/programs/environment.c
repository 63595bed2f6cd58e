// ranks: 1 3
/* Versions, names, time, memory, levels of threads, and what may be asked before and after. */
#include "check.h"

int main(int argc, char **argv) {
    int flag = -1, provided = -1, level = -1, version, subversion, length;
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    OK(MPI_Initialized(&flag));
    CHECK(!flag, "not initialized yet");
    OK(MPI_Finalized(&flag));
    CHECK(!flag, "not finalized yet");
    OK(MPI_Get_version(&version, &subversion));
    CHECK(version == MPI_VERSION && subversion == MPI_SUBVERSION, "%d.%d", version, subversion);
    OK(MPI_Get_library_version(text, &length));
    CHECK(strncmp(text, "Isthmus ", 8) == 0 && (int)strlen(text) == length, "%s", text);
    OK(MPI_Abi_get_version(&version, &subversion));
    CHECK(version == MPI_ABI_VERSION && subversion == MPI_ABI_SUBVERSION, "%d.%d", version, subversion);
    OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(provided >= MPI_THREAD_SINGLE && provided <= MPI_THREAD_MULTIPLE, "level %d", provided);
    OK(MPI_Query_thread(&level));
    CHECK(level == provided, "%d and %d", level, provided);
    OK(MPI_Is_thread_main(&flag));
    CHECK(flag, "this is the main thread");
    OK(MPI_Initialized(&flag));
    CHECK(flag, "initialized");

    OK(MPI_Get_processor_name(text, &length));
    CHECK(length > 0 && length < MPI_MAX_PROCESSOR_NAME && (int)strlen(text) == length, "%s", text);
    double before = MPI_Wtime(), tick = MPI_Wtick();
    CHECK(tick > 0 && tick < 1e-3, "tick %g", tick);
    while (MPI_Wtime() - before < 0.01) {}

    char *memory = NULL;
    OK(MPI_Alloc_mem(1 << 20, MPI_INFO_NULL, &memory));
    fill(memory, 1 << 20, rank);
    int next = (rank + 1) % size, previous = (rank + size - 1) % size;
    OK(MPI_Sendrecv_replace(memory, 1 << 20, MPI_BYTE, next, 0, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_BYTES(memory, 1 << 20, previous);
    OK(MPI_Free_mem(memory));

    MPI_Aint a, b;
    int array[10];
    OK(MPI_Get_address(&array[7], &a));
    OK(MPI_Get_address(&array[2], &b));
    CHECK(MPI_Aint_diff(a, b) == 5 * sizeof(int) && MPI_Aint_add(b, 5 * sizeof(int)) == a, "address arithmetic");
    OK(MPI_Pcontrol(1));
    OK(MPI_Finalize());
    OK(MPI_Finalized(&flag));
    if (!flag) return 1;
    OK(MPI_Initialized(&flag));
    return !flag;
}
