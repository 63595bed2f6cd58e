/* act RANK ACTION: that rank does it, the others wait for a message that never comes.
 * exit=N       exits with N, MPI not finalized        late=N       exits with N after MPI_Finalize
 * early=N      exits with N before MPI_Init           abort=N      calls MPI_Abort with N
 * signal=N     sends itself the signal                wrong        sends to a rank that does not exist
 * hang         waits too                              hold=N       finalizes, then sleeps N seconds
 * leave=N      uses MPI by a session alone, then exits with N
 * endure       its errors return, it waits too        unread       prints until that fails, then waits too
 * With RANK "all", all do. */
#include "check.h"

#include <signal.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *own = getenv("ISTHMUS_RANK"), *action = argc > 2 ? argv[2] : "";
    int chosen = argc > 1 && (strcmp(argv[1], "all") == 0 || (own && strcmp(argv[1], own) == 0));
    const char *equals = strchr(action, '=');
    int number = equals ? atoi(equals + 1) : 0, value = 0;
    if (chosen && strncmp(action, "early=", 6) == 0) return number;
    if (chosen && strncmp(action, "leave=", 6) == 0) {
        MPI_Session session;
        OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session));
        OK(MPI_Session_finalize(&session));
        return number;
    }
    if (strcmp(action, "unread") == 0) signal(SIGPIPE, SIG_IGN);
    begin(&argc, &argv);
    // Other launchers say it otherwise.
    chosen = argc > 1 && (strcmp(argv[1], "all") == 0 || atoi(argv[1]) == rank);
    printf("joined as %d\n", rank);
    fflush(stdout);
    if (strncmp(action, "late=", 5) == 0 || strncmp(action, "hold=", 5) == 0) {
        end();
        if (chosen && action[0] == 'h') sleep((unsigned)number);
        return chosen && action[0] == 'l' ? number : 0;
    }
    if (chosen && strncmp(action, "exit=", 5) == 0) _exit(number);
    if (chosen && strcmp(action, "endure") == 0) OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    if (chosen && strcmp(action, "unread") == 0) {
        while (puts("read me") >= 0 && fflush(stdout) == 0) usleep(1000);
    }
    if (chosen && strncmp(action, "abort=", 6) == 0) {
        printf("rank %d gives up\n", rank);
        MPI_Abort(MPI_COMM_WORLD, number);
    }
    if (chosen && strncmp(action, "signal=", 7) == 0) raise(number);
    if (chosen && strcmp(action, "wrong") == 0) MPI_Send(&value, 1, MPI_INT, size + 5, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}
