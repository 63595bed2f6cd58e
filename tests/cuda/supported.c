/* What a program is told about memory of devices: `1` where they are supported, else `0`. */
#include "../programs/check.h"

#include <mpi-ext.h>

static void has(MPI_Info info, const char *expected) {
    char value[MPI_MAX_INFO_VAL];
    int length = sizeof value, is_there;
    OK(MPI_Info_get_string(info, "mpi_memory_alloc_kinds", &length, value, &is_there));
    CHECK(is_there && strcmp(value, expected) == 0, "%s, not %s", is_there ? value : "nothing", expected);
    OK(MPI_Info_free(&info));
}

int main(int argc, char **argv) {
    int is_supported = argc > 1 && atoi(argv[1]);
    MPI_Session session;
    MPI_Info info;
    MPI_Win win;
    int number;
#if !MPIX_CUDA_AWARE_SUPPORT || MPIX_ROCM_AWARE_SUPPORT
#error "the header says something else"
#endif
    CHECK(MPIX_Query_cuda_support() == is_supported, "before MPI_Init");
    begin(&argc, &argv);
    CHECK(MPIX_Query_cuda_support() == is_supported && MPIX_Query_rocm_support() == 0, "inside");

    OK(MPI_Comm_get_info(MPI_COMM_WORLD, &info));
    has(info, is_supported ? "mpi,system,cuda" : "mpi,system");
    OK(MPI_Win_create(&number, sizeof number, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    OK(MPI_Win_get_info(win, &info));
    has(info, is_supported ? "mpi,system,cuda" : "mpi,system");
    OK(MPI_Win_free(&win));

    MPI_File file;
    OK(MPI_File_open(MPI_COMM_WORLD, argc > 2 ? argv[2] : "device_file", MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    OK(MPI_File_get_info(file, &info));
    has(info, is_supported ? "mpi,system,cuda" : "mpi,system");
    OK(MPI_File_close(&file));

    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "mpi_memory_alloc_kinds", "cuda:device,rocm,cuda:managed:host,cuda:array"));
    OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
    OK(MPI_Info_free(&info));
    OK(MPI_Session_get_info(session, &info));
    has(info, is_supported ? "mpi,system,cuda,cuda:device,cuda:managed:host" : "mpi,system");
    OK(MPI_Session_finalize(&session));
    end();
    return 0;
}
