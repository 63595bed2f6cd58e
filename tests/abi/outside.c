/* Calls before initialization and after finalization. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int any_time(void)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING], value[8];
    int flag, major, minor, length;
    MPI_Info info;
    int good = !MPI_Get_version(&major, &minor) && !MPI_Get_library_version(text, &length) && !MPI_Initialized(&flag)
               && !MPI_Finalized(&flag) && !MPI_Abi_get_version(&major, &minor) && major == 1 && minor == 0;
    good = good && !MPI_Info_create(&info) && !MPI_Info_set(info, "key", "value");
    length = sizeof value;
    good = good && !MPI_Info_get_string(info, "key", &length, value, &flag) && flag && !strcmp(value, "value")
           && length == 6 && !MPI_Info_free(&info) && info == MPI_INFO_NULL;
    good = good && !MPI_Error_class(MPI_ERR_RANK, &major) && major == MPI_ERR_RANK && MPI_Wtime() > 0;
    return good && MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_WORLD)) == MPI_COMM_WORLD;
}

int main(int argc, char **argv)
{
    int rank, good = any_time();
    if (argc > 1 && !strcmp(argv[1], "before"))
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Init(NULL, NULL);
    good = good && any_time();
    MPI_Finalize();
    good = good && any_time();
    if (argc > 1 && !strcmp(argv[1], "after"))
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    puts(good ? "works" : "does not work");
    return 0;
}
