/* counts MIB [real | mapped]: rank 0 sends so many MiB and some bytes to rank 1, in one message: as a count that no int holds,
 * and scattered in blocks. Both buffers show the same few MiB again and again, a number of which no power of two is a
 * multiple, so that offsets that lose their upper bits lead to wrong bytes; with "real" and "mapped" the receiver's has all its
 * own bytes. */
#define _GNU_SOURCE
#include "check.h"

#include <limits.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MIB = 1 << 20, PERIOD = 48 * MIB, ODD = 12345 };

static uint64_t word(size_t at, int round) { return (at + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)round << 32; }

/* `length` bytes of addresses, with PERIOD bytes behind them. */
static char *repeated(size_t length) {
    size_t whole = (length + PERIOD - 1) / PERIOD * PERIOD;
    int file = memfd_create("counts", 0);
    CHECK(file >= 0 && ftruncate(file, PERIOD) == 0, "no memory");
    char *at = mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(at != MAP_FAILED, "no addresses");
    for (size_t done = 0; done < whole; done += PERIOD)
        CHECK(mmap(at + done, PERIOD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED, "no pages");
    close(file);
    return at;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(size == 2 && argc > 1, "two ranks, and how many MiB");
    size_t length = (size_t)atol(argv[1]) * MIB + ODD;
    int mapped = argc > 2 && strcmp(argv[2], "mapped") == 0, real = argc > 2 && strcmp(argv[2], "real") == 0;
    char *buffer = NULL;
    if (mapped)
        OK(MPI_Alloc_mem((MPI_Aint)length, MPI_INFO_NULL, &buffer));
    else
        buffer = real && rank == 1 ? malloc(length) : repeated(2 * length);
    CHECK(buffer, "%zu bytes", length);
    /* The bytes that are written and read one by one: the rest is the same memory. */
    size_t own = mapped || (real && rank == 1) ? length : PERIOD;
    /* Every second MiB: what is sent so repeats itself within PERIOD, too. */
    MPI_Count block = MIB, stride = 2 * MIB;
    for (int round = 0; round < 2; round++) {
        MPI_Datatype type = MPI_BYTE;
        MPI_Count count = (MPI_Count)length;
        if (round == 1) {
            MPI_Count blocks = count / (mapped ? stride : block), used = blocks * block;
            if (rank == 0) OK(MPI_Type_create_hvector_c(blocks, block, stride, MPI_BYTE, &type));
            if (rank == 0) OK(MPI_Type_commit(&type));
            OK(MPI_Bcast(&used, 1, MPI_COUNT, 0, MPI_COMM_WORLD));
            count = rank == 0 ? 1 : used;
        }
        if (rank == 0) {
            for (size_t at = 0; at < own / 8; at++) ((uint64_t *)(void *)buffer)[at] = word(at % (PERIOD / 8), round);
            for (size_t at = own / 8 * 8; at < own; at++) buffer[at] = 1;
            OK(MPI_Send_c(buffer, count, type, 1, round, MPI_COMM_WORLD));
        } else {
            MPI_Status status;
            MPI_Count got;
            int got_int;
            for (size_t at = 0; at < own; at += 4096) buffer[at] = 7;
            OK(MPI_Recv_c(buffer, count, MPI_BYTE, 0, round, MPI_COMM_WORLD, &status));
            OK(MPI_Get_count_c(&status, MPI_BYTE, &got));
            CHECK(got == count, "%lld of %lld bytes", (long long)got, (long long)count);
            OK(MPI_Get_count(&status, MPI_BYTE, &got_int));
            CHECK(got_int == (got > INT_MAX ? MPI_UNDEFINED : (int)got), "count %d", got_int);
            size_t end = (size_t)got / 8, begin = own == length ? 0 : end - PERIOD / 8;
            for (size_t at = begin; at < end; at++) {
                size_t from = at;
                if (round == 1) from = at * 8 / (size_t)block * (size_t)stride / 8 + at % ((size_t)block / 8);
                uint64_t is = ((uint64_t *)(void *)buffer)[at], wanted = word(from % (PERIOD / 8), round);
                CHECK(is == wanted, "round %d: word %zu of %zu is %llx, not %llx", round, at, end, (unsigned long long)is,
                      (unsigned long long)wanted);
            }
        }
        if (type != MPI_BYTE) OK(MPI_Type_free(&type));
    }
    if (mapped) OK(MPI_Free_mem(buffer));
    end();
    return 0;
}
