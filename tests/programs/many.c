/* many: everybody sends 8 bytes to everybody, in collectives and in messages. Rank 0 prints "descriptors MOST, private MOST, shared ALL": the most
 * descriptors that a rank has open, the most anonymous memory of a rank, and the job's shared memory, in KiB. */
#include "check.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ROUNDS = 5 };

static long descriptors(void) {
    long count = -3; /* ".", ".." and the folder itself */
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder, "no /proc");
    while (readdir(folder)) count++;
    closedir(folder);
    return count;
}

/* KiB of anonymous memory. Not what smaps calls private: pages of the job's memory that only this rank has touched are among that, too. */
static long private_memory(void) {
    char line[256];
    long found = 0;
    FILE *maps = fopen("/proc/self/smaps_rollup", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (strncmp(line, "Anonymous:", 10) == 0) found = atol(line + 10);
    if (maps) fclose(maps);
    return found;
}

/* KiB of the job's memory that are in use. */
static long shared_memory(void) {
    DIR *folder = opendir("/proc/self/map_files");
    char path[600], target[256];
    long found = 0;
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        struct stat facts;
        snprintf(path, sizeof path, "/proc/self/map_files/%s", entry->d_name);
        memset(target, 0, sizeof target);
        if (readlink(path, target, sizeof target - 1) > 0 && strstr(target, "memfd:isthmus-job") && stat(path, &facts) == 0)
            found = facts.st_blocks / 2;
    }
    if (folder) closedir(folder);
    return found;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    unsigned long *out = malloc(8 * (size_t)size), *in = malloc(8 * (size_t)size);
    for (int i = 0; i < size; i++) out[i] = (unsigned long)rank << 32 | (unsigned long)i;
    /* The first calls go by messages, the others through a board, of which there is one for each form. */
    for (int round = 0; round < 2 * ROUNDS; round++) {
        MPI_Request request = MPI_REQUEST_NULL;
        long sum = rank + round;
        memset(in, 0, 8 * (size_t)size);
        if (round < ROUNDS) OK(MPI_Alltoall(out, 8, MPI_BYTE, in, 8, MPI_BYTE, MPI_COMM_WORLD));
        else OK(MPI_Ialltoall(out, 8, MPI_BYTE, in, 8, MPI_BYTE, MPI_COMM_WORLD, &request));
        OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
        for (int i = 0; i < size; i++) CHECK(in[i] == ((unsigned long)i << 32 | (unsigned long)rank), "%lx from %d", in[i], i);
        OK(MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD));
        CHECK(sum == (long)size * round + (long)size * (size - 1) / 2, "%ld in round %d", sum, round);
    }
    /* The same by messages, so that every pair has its ring. */
    MPI_Request *requests = malloc(sizeof *requests * (size_t)size * 2);
    memset(in, 0, 8 * (size_t)size);
    for (int i = 0; i < size; i++) OK(MPI_Irecv(&in[i], 8, MPI_BYTE, i, 1, MPI_COMM_WORLD, &requests[i]));
    for (int i = 0; i < size; i++) {
        int to = (rank + i) % size;
        OK(MPI_Isend(&out[to], 8, MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[size + i]));
    }
    OK(MPI_Waitall(2 * size, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < size; i++) CHECK(in[i] == ((unsigned long)i << 32 | (unsigned long)rank), "%lx from %d", in[i], i);
    long own[2] = {descriptors(), private_memory()}, most[2];
    OK(MPI_Reduce(own, most, 2, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD));
    if (rank == 0) printf("descriptors %ld, private %ld, shared %ld\n", most[0], most[1], shared_memory());
    free(out), free(in), free(requests);
    end();
    return 0;
}
