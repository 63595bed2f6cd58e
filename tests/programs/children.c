// ranks: 2 4
/* Children of a rank, by fork, by posix_spawn, by system: they harm nothing, whatever they do at their end. */
#include "check.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static void exchange(int round) {
    int next = (rank + 1) % size, previous = (rank + size - 1) % size, length = 1 << (8 + 3 * (round % 5));
    char *buffer = malloc(length);
    fill(buffer, length, round + rank);
    OK(MPI_Sendrecv_replace(buffer, length, MPI_BYTE, next, 1, previous, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    CHECK_BYTES(buffer, length, round + previous);
    free(buffer);
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void await(pid_t child, int code) {
    int status;
    CHECK(waitpid(child, &status, 0) == child, "waitpid");
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == code, "the child ended with status %#x", status);
}

/* A program of its own, in a rank's environment: a job of one. */
static int child_program(int argc, char **argv) {
    begin(&argc, &argv);
    int self = -1;
    OK(MPI_Sendrecv(&size, 1, MPI_INT, 0, 0, &self, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    end();
    return size == 1 && rank == 0 && self == 1 ? 33 : 1;
}

int main(int argc, char **argv) {
    if (argc > 1) return child_program(argc, argv);
    begin(&argc, &argv);
    exchange(0);

    /* exit() runs the handlers of the parent's libraries in the child. */
    pid_t child = fork();
    if (child == 0) exit(7);
    exchange(1);
    await(child, 7);
    exchange(2);

    /* A child that lives longer than its parent's MPI, and writes all over its copy of the memory. */
    pid_t lasting = fork();
    if (lasting == 0) {
        for (int i = 0; i < 50; i++) free(malloc(100000)), usleep(2000);
        _exit(0);
    }
    exchange(3);

    /* MPI_Finalize in a child is harmless. */
    child = fork();
    if (child == 0) {
        MPI_Finalize();
        exit(9);
    }
    exchange(4);
    await(child, 9);

    /* Another call ends the child, and says why. */
    int ends[2];
    char said[400] = "";
    CHECK(pipe(ends) == 0, "pipe");
    child = fork();
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        MPI_Barrier(MPI_COMM_WORLD);
        _exit(1);
    }
    close(ends[1]);
    CHECK(read(ends[0], said, sizeof said - 1) > 0 && strstr(said, "MPI_Barrier") && strstr(said, "fork"), "%s", said);
    close(ends[0]);
    CHECK(waitpid(child, NULL, 0) == child, "waitpid");

    CHECK(system("exit 3") == 3 << 8, "system");
    exchange(5);

    char *arguments[] = {argv[0], "child", NULL};
    CHECK(posix_spawn(&child, argv[0], NULL, NULL, arguments, environ) == 0, "posix_spawn");
    exchange(6);
    await(child, 33);

    /* What Open MPI's mpirun says to processes that it starts below a rank: these are a job of two, not two jobs of one. */
    char command[4200];
    snprintf(command, sizeof command, "PMIX_NAMESPACE=prterun-1 OMPI_COMM_WORLD_SIZE=2 '%s' child 2>&1 | grep -q OMPI_COMM_WORLD_SIZE", argv[0]);
    CHECK(system(command) == 0, "a child of another launcher was not refused");
    for (int round = 7; round < 30; round++) exchange(round);
    end();
    await(lasting, 0);
    return 0;
}
