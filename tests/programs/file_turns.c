/* file_turns SCENARIO FOLDER: run by bad_days. Rank 0 dies in the middle of its turn at a pipe that nobody empties, while the others wait for theirs: their calls
 * end with MPIX_ERR_PROC_FAILED, and the file can be closed. shared: by the shared pointer. started: the same, by requests. ordered: in the order of ranks.
 * fatal: as shared, with an error handler that ends the job. Every survivor prints "survived". */
#define _GNU_SOURCE
#include "check.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

/* Longer than what a pipe takes. */
enum { LENGTH = 4 << 20 };

static char path[256], *data;
static MPI_File fh;

/* Dies when bytes of this rank's write are in the pipe. */
static void *die(void *unused) {
    int there = 0, pipe = open(path, O_RDONLY | O_NONBLOCK);
    (void)unused;
    CHECK(pipe >= 0, "%s", path);
    while (there == 0) {
        CHECK(ioctl(pipe, FIONREAD, &there) == 0, "%s", path);
        usleep(20000);
    }
    kill(getpid(), SIGKILL);
    return NULL;
}

static int write_later(const char *scenario) {
    MPI_Request request;
    MPI_Offset at = 0;
    if (strcmp(scenario, "ordered") == 0) return MPI_File_write_ordered(fh, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE);
    while (at == 0) OK(MPI_File_get_position_shared(fh, &at));
    if (strcmp(scenario, "started") != 0) return MPI_File_write_shared(fh, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE);
    OK(MPI_File_iwrite_shared(fh, data, LENGTH, MPI_BYTE, &request));
    return MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
    int reader = -1;
    pthread_t thread;
    begin(&argc, &argv);
    CHECK(argc == 3 && size > 1, "%d arguments", argc);
    snprintf(path, sizeof path, "%s/pipe", argv[2]);
    data = calloc(LENGTH, 1);
    if (rank == size - 1) {
        CHECK(mkfifo(path, 0600) == 0, "%s", path);
        reader = open(path, O_RDONLY | O_NONBLOCK);
        CHECK(reader >= 0, "%s", path);
    }
    OK(MPI_Barrier(MPI_COMM_WORLD));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh));
    if (strcmp(argv[1], "fatal") == 0) OK(MPI_File_set_errhandler(fh, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (rank == 0) {
        CHECK(pthread_create(&thread, NULL, die, NULL) == 0, "no thread");
        if (strcmp(argv[1], "ordered") == 0) MPI_File_write_ordered(fh, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE);
        else MPI_File_write_shared(fh, data, LENGTH, MPI_BYTE, MPI_STATUS_IGNORE);
        CHECK(0, "its write is over");
    }
    FAILS(MPIX_ERR_PROC_FAILED, write_later(argv[1]));
    OK(MPI_File_close(&fh));
    CHECK(fh == MPI_FILE_NULL, "not closed");
    if (rank == size - 1) CHECK(close(reader) == 0 && unlink(path) == 0, "%s", path);
    printf("survived\n");
    MPI_Finalize();
    return 0;
}
