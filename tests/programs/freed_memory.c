// ranks: 2
/* Two ranks, on one node or on two, make and free objects again and again, and use no more memory and descriptors in the end: windows,
   among them those to which memory was attached, cancelled sends that no receive or probe meets, cancelled receives, agreements,
   revocations, communicators of the living, files, and a stream of messages without an answer.

   freed_memory [CYCLES [KIND]] */
#include "check.h"

#include <dirent.h>

enum { CYCLES = 4000, TURNS = 3, SLACK = 400 << 10, LONG = 40000 };

static MPI_Comm own;
static int other;

/* Bytes of this process's memory, the job's among it. */
static long resident(void) {
    long pages = 0, ignored;
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &ignored, &pages) == 2, "no statm");
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static int descriptors(void) {
    int count = 0;
    DIR *open = opendir("/proc/self/fd");
    CHECK(open, "no list of descriptors");
    while (readdir(open)) count++;
    closedir(open);
    return count;
}

static void dynamic_windows(int cycles) {
    static char room[64];
    for (int i = 0; i < cycles; i++) {
        MPI_Win win;
        OK(MPI_Win_create_dynamic(MPI_INFO_NULL, own, &win));
        OK(MPI_Win_attach(win, room, sizeof room));
        if (i % 2) OK(MPI_Win_detach(win, room));
        OK(MPI_Win_free(&win));
    }
}

/* Each is used: what it takes is taken at the first operation. */
static void used(MPI_Win win) {
    int value = 7, got = 0;
    OK(MPI_Win_fence(0, win));
    OK(MPI_Put(&value, 1, MPI_INT, other, rank, 1, MPI_INT, win));
    OK(MPI_Win_fence(0, win));
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, win));
    OK(MPI_Fetch_and_op(&value, &got, MPI_INT, other, rank, MPI_SUM, win));
    OK(MPI_Win_unlock(other, win));
    CHECK(got == 7, "%d", got);
    OK(MPI_Win_free(&win));
}

static void windows(int cycles) {
    for (int i = 0; i < cycles / 2; i++) {
        MPI_Win win;
        int own_room[2] = {0}, *room;
        OK(MPI_Win_create(own_room, sizeof own_room, sizeof(int), MPI_INFO_NULL, own, &win));
        used(win);
        OK(MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, own, &room, &win));
        used(win);
    }
}

static void cancelled_sends(int cycles) {
    static int out[LONG], in[LONG];
    for (int i = 0; i < cycles; i++) {
        MPI_Request request;
        MPI_Status status;
        int cancelled, theirs;
        OK(MPI_Isend(out, LONG, MPI_INT, other, 1, own, &request));
        OK(MPI_Cancel(&request));
        /* Between nodes the receiver has a say. */
        OK(MPI_Wait(&request, &status));
        OK(MPI_Test_cancelled(&status, &cancelled));
        OK(MPI_Sendrecv(&cancelled, 1, MPI_INT, other, 2, &theirs, 1, MPI_INT, other, 2, own, MPI_STATUS_IGNORE));
        if (!theirs) OK(MPI_Recv(in, LONG, MPI_INT, other, 1, own, MPI_STATUS_IGNORE));
    }
}

/* Neither rank looks for what the other tells it meanwhile. */
static void cancelled_receives(int cycles) {
    static int in[LONG];
    long before = resident();
    for (int i = 0; i < 10 * cycles; i++) {
        MPI_Request request;
        OK(MPI_Irecv(in, LONG, MPI_INT, other, 1, own, &request));
        OK(MPI_Cancel(&request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    CHECK(resident() - before <= SLACK, "%ld KiB more after %d", (resident() - before) >> 10, 10 * cycles);
}

static void agreements(int cycles) {
    for (int i = 0; i < cycles; i++) {
        MPI_Comm comm;
        int flag = 3 << rank;
        OK(MPI_Comm_dup(own, &comm));
        OK(MPIX_Comm_agree(comm, &flag));
        CHECK(flag == 2, "%d", flag);
        OK(MPI_Comm_free(&comm));
    }
}

static void revocations(int cycles) {
    for (int i = 0; i < cycles; i++) {
        MPI_Comm comm;
        int value;
        OK(MPI_Comm_dup(own, &comm));
        /* Always by the same rank: memory that went over to the other would be missed. */
        if (rank == 0) OK(MPIX_Comm_revoke(comm));
        FAILS(MPIX_ERR_REVOKED, MPI_Recv(&value, 1, MPI_INT, other, 1, comm, MPI_STATUS_IGNORE));
        OK(MPI_Comm_free(&comm));
    }
}

static void living(int cycles) {
    for (int i = 0; i < cycles / 2; i++) {
        MPI_Comm comm;
        OK(MPIX_Comm_shrink(own, &comm));
        OK(MPI_Comm_free(&comm));
    }
}

static void files(int cycles) {
    char name[64];
    snprintf(name, sizeof name, "/tmp/freed_memory.%d", (int)getppid());
    OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, own));
    for (int i = 0; i < cycles / 8; i++) {
        MPI_File file;
        OK(MPI_File_open(own, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file));
        OK(MPI_File_write_at_all(file, rank * (int)sizeof i, &i, 1, MPI_INT, MPI_STATUS_IGNORE));
        OK(MPI_File_close(&file));
    }
    if (rank == 0) OK(MPI_File_delete(name, MPI_INFO_NULL));
    OK(MPI_Barrier(own));
}

/* So much that the receiver has to give credit often enough. */
static void one_way(int cycles) {
    static char bytes[60000];
    for (int i = 0; i < 6 * cycles; i++) {
        if (rank == 0) OK(MPI_Send(bytes, sizeof bytes, MPI_BYTE, other, 1, own));
        if (rank == 1) OK(MPI_Recv(bytes, sizeof bytes, MPI_BYTE, other, 1, own, MPI_STATUS_IGNORE));
    }
}

static const struct {
    const char *name;
    void (*run)(int);
} KINDS[] = {
    /* First: what the receiver sends later proves the connection good. */
    {"one_way", one_way},
    {"dynamic_windows", dynamic_windows},
    {"windows", windows},
    {"cancelled_sends", cancelled_sends},
    {"cancelled_receives", cancelled_receives},
    {"agreements", agreements},
    {"revocations", revocations},
    {"living", living},
    {"files", files},
};

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int cycles = argc > 1 ? atoi(argv[1]) : CYCLES;
    CHECK(size == 2, "%d", size);
    other = !rank;
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    own = MPI_COMM_WORLD;
    for (size_t kind = 0; kind < sizeof KINDS / sizeof *KINDS; kind++) {
        if (argc > 2 && strcmp(argv[2], KINDS[kind].name) != 0) continue;
        KINDS[kind].run(cycles / 4);
        int open = descriptors();
        /* Memory kept for later use grows to its bound, now or in the next turn; a leak grows in each. Both ranks go on or end together. */
        long grown = SLACK + 1;
        for (int turn = 0; turn < TURNS && grown > SLACK; turn++) {
            long before = resident(), mine;
            KINDS[kind].run(cycles);
            mine = resident() - before;
            OK(MPI_Allreduce(&mine, &grown, 1, MPI_LONG, MPI_MAX, own));
        }
        CHECK(descriptors() == open, "%s: %d descriptors, not %d", KINDS[kind].name, descriptors(), open);
        CHECK(grown <= SLACK, "%s: %ld KiB more after %d, in each of %d turns", KINDS[kind].name, grown >> 10, cycles, TURNS);
    }
    end();
    return 0;
}
