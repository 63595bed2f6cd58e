// ranks: 2 3
/* A rank inside the library does not wait for one that computes: a large message goes where a posted receive says, or
   comes from where it was announced, without the other process. Memory is from MPI_Alloc_mem, so that no permission of the
   machine is needed. A third rank is there so that there are more than CPUs. */
#include "check.h"

#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { LONG = 4 << 20, GO = 3, DATA = 4, ROUNDS = 24, PATIENCE = 60 };

/* What the two say to one another without MPI. */
struct flags {
    volatile int over;
};

static struct flags *make_flags(void) {
    char name[] = "/tmp/isthmus-computing-XXXXXX";
    struct flags *flags;
    int file = rank == 0 ? mkstemp(name) : -1;
    OK(MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD));
    if (rank == 0)
        CHECK(file >= 0 && ftruncate(file, sizeof *flags) == 0, "%s", name);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    FILE *other = fopen(name, "r+");
    CHECK(other, "%s", name);
    flags = mmap(NULL, sizeof *flags, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(other), 0);
    CHECK(flags != MAP_FAILED, "%s", name);
    fclose(other);
    OK(MPI_Barrier(MPI_COMM_WORLD));
    if (rank == 0) {
        close(file);
        unlink(name);
    }
    return flags;
}

/* Computes until the other rank is past its call: it must get there without us. */
static void compute(struct flags *flags, int round) {
    time_t end = time(NULL) + PATIENCE;
    while (flags->over != round) CHECK(time(NULL) < end, "round %d waits for a rank that computes", round);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    struct flags *flags = make_flags();
    unsigned char *data;
    MPI_Request request;
    OK(MPI_Alloc_mem(LONG, MPI_INFO_NULL, &data));
    int round = 0;

    /* A receive is posted; the sender is done while its receiver computes. */
    for (int i = 0; i < ROUNDS; i++) {
        round++;
        int length = LONG - i * 1000;
        if (rank == 0) {
            memset(data, 0, LONG);
            OK(MPI_Irecv(data, length, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, &request));
            OK(MPI_Send(NULL, 0, MPI_BYTE, 1, GO, MPI_COMM_WORLD));
            compute(flags, round);
            MPI_Status status;
            int got;
            OK(MPI_Wait(&request, &status));
            OK(MPI_Get_count(&status, MPI_BYTE, &got));
            CHECK(got == length && status.MPI_SOURCE == 1 && status.MPI_TAG == DATA, "%d bytes", got);
            CHECK_BYTES(data, (size_t)length, (unsigned)round);
        } else if (rank == 1) {
            fill(data, (size_t)length, (unsigned)round);
            OK(MPI_Recv(NULL, 0, MPI_BYTE, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            /* Both kinds of send: the receive has started. */
            if (i % 2)
                OK(MPI_Send(data, length, MPI_BYTE, 0, DATA, MPI_COMM_WORLD));
            else
                OK(MPI_Ssend(data, length, MPI_BYTE, 0, DATA, MPI_COMM_WORLD));
            /* The buffer is ours again. */
            memset(data, 0x77, LONG);
            flags->over = round;
        }
    }

    /* A message is announced; the receiver has it while its sender computes. */
    for (int i = 0; i < ROUNDS; i++) {
        round++;
        if (rank == 0) {
            fill(data, LONG, (unsigned)round);
            OK(MPI_Isend(data, LONG, MPI_BYTE, 1, DATA, MPI_COMM_WORLD, &request));
            compute(flags, round);
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        } else if (rank == 1) {
            memset(data, 0, LONG);
            OK(MPI_Recv(data, LONG, MPI_BYTE, 0, DATA, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_BYTES(data, LONG, (unsigned)round);
            flags->over = round;
        }
    }
    OK(MPI_Free_mem(data));
    munmap(flags, sizeof *flags);
    end();
    return 0;
}
