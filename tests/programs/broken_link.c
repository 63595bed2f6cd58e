/* broken_link FOLDER once|always|returns|puts: 2 ranks on 2 nodes whose connection the test resets. They exchange a message, show in a folder
   that they have, and wait for the file `go` there. Then they exchange another, or messages until one fails: by `returns` with the class of a
   dead process, after which they print "parted"; by `puts` they put to each other, until there is the file `stop`. The time of a file `last-RANK`
   is that of the rank's last exchange, or of its begin. */
#include "check.h"

#include <fcntl.h>

/* Some go in frames, some are read by their receivers. */
enum { LONG = 300000 };
static char out[LONG], in[LONG];

static int exchange(int bytes) {
    return MPI_Sendrecv(out, bytes, MPI_BYTE, 1 - rank, 3, in, bytes, MPI_BYTE, 1 - rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int last = -1;

static void note(const char *folder) {
    char name[4096];
    snprintf(name, sizeof name, "%s/last-%d", folder, rank);
    if (last < 0) last = open(name, O_CREAT | O_WRONLY, 0666);
    CHECK(pwrite(last, "x", 1, 0) == 1, "%s", name);
}

static int exists(const char *folder, const char *file) {
    char name[4096];
    snprintf(name, sizeof name, "%s/%s", folder, file);
    return access(name, F_OK) == 0;
}

/* Put to the other and get it back, until that fails or the test says so. */
static void put_until_stopped(const char *folder) {
    char *base;
    MPI_Win win;
    OK(MPI_Win_allocate(LONG, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
    OK(MPI_Win_lock_all(0, win));
    while (!exists(folder, "stop")) {
        OK(MPI_Put(out, LONG, MPI_BYTE, 1 - rank, 0, LONG, MPI_BYTE, win));
        OK(MPI_Win_flush(1 - rank, win));
        OK(MPI_Get(in, LONG, MPI_BYTE, 1 - rank, 0, LONG, MPI_BYTE, win));
        OK(MPI_Win_flush(1 - rank, win));
        CHECK(memcmp(in, out, LONG) == 0, "%d", in[0]);
        note(folder);
    }
    OK(MPI_Win_unlock_all(win));
    OK(MPI_Win_free(&win));
    end();
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(argc > 2 && size == 2, "%d arguments", argc);
    int returns = strcmp(argv[2], "returns") == 0;
    if (returns) OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    memset(out, 'a' + rank, sizeof out);
    OK(exchange(8));
    char name[4096];
    snprintf(name, sizeof name, "%s/ready-%d", argv[1], rank);
    FILE *ready = fopen(name, "w");
    CHECK(ready, "%s", name);
    fclose(ready);
    while (!exists(argv[1], "go")) usleep(10000);
    note(argv[1]);
    if (strcmp(argv[2], "puts") == 0) {
        put_until_stopped(argv[1]);
        return 0;
    }
    int code = exchange(LONG);
    CHECK(code != MPI_SUCCESS || (in[0] == 'b' - rank && in[LONG - 1] == 'b' - rank), "%d", in[0]);
    static const int sizes[] = {8, 3000, 50000, LONG};
    for (int i = 0; code == MPI_SUCCESS && strcmp(argv[2], "once") != 0; i++) {
        note(argv[1]);
        code = exchange(sizes[i % 4]);
    }
    if (returns) {
        int class = 0;
        OK(MPI_Error_class(code, &class));
        CHECK(class == MPIX_ERR_PROC_FAILED, "class %d", class);
        printf("parted\n");
    } else {
        OK(code);
    }
    end();
    return 0;
}
