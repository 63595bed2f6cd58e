/* bulk MIB ROUNDS [mapped] [posted]: two ranks send each other a long message in turn, from memory that both map if that is
 * said. If "posted" is, the receive is posted before and its rank computes meanwhile. Every word is compared. ROUNDS 0: for
 * ever. */
#include "check.h"

#include <stdint.h>
#include <time.h>

/* A tag that no round has. */
enum { GO = 1 << 20 };

static uint64_t word(size_t at, int round) { return (at + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)round << 32; }

static void compute(int ms) {
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    do
        clock_gettime(CLOCK_MONOTONIC, &now);
    while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    size_t bytes = (size_t)atol(argv[1]) << 20, words = bytes / sizeof(uint64_t);
    int rounds = atoi(argv[2]);
    uint64_t *buffer = NULL;
    int mapped = 0, posted = 0;
    for (int i = 3; i < argc; i++) {
        mapped |= strcmp(argv[i], "mapped") == 0;
        posted |= strcmp(argv[i], "posted") == 0;
    }
    if (mapped)
        OK(MPI_Alloc_mem((MPI_Aint)bytes, MPI_INFO_NULL, &buffer));
    else
        buffer = malloc(bytes);
    CHECK(buffer && size == 2, "%zu bytes", bytes);
    MPI_Datatype block;
    OK(MPI_Type_contiguous(1 << 17, MPI_UINT64_T, &block));
    OK(MPI_Type_commit(&block));
    int blocks = (int)(words >> 17);
    for (int round = 0; !rounds || round < rounds; round++) {
        if (round % 2 == rank) {
            for (size_t at = 0; at < words; at++) buffer[at] = word(at, round);
            if (posted) OK(MPI_Recv(NULL, 0, MPI_BYTE, 1 - rank, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            OK(MPI_Send(buffer, blocks, block, 1 - rank, round, MPI_COMM_WORLD));
        } else {
            memset(buffer, 0xee, bytes);
            MPI_Request request;
            OK(MPI_Irecv(buffer, blocks, block, 1 - rank, round, MPI_COMM_WORLD, &request));
            if (posted) {
                OK(MPI_Send(NULL, 0, MPI_BYTE, 1 - rank, GO, MPI_COMM_WORLD));
                compute(20);
            }
            OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
            for (size_t at = 0; at < words; at++)
                CHECK(buffer[at] == word(at, round), "round %d: word %zu is %llx", round, at, (unsigned long long)buffer[at]);
        }
    }
    OK(MPI_Type_free(&block));
    if (mapped)
        OK(MPI_Free_mem(buffer));
    else
        free(buffer);
    end();
    return 0;
}
