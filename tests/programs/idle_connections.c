/* idle_connections NAME COUNT SECONDS: connects to the abstract socket NAME of an mpiexec COUNT times, sends nothing, and exits after SECONDS.
 * idle_connections NAME flood SECONDS: connects and closes in a loop for SECONDS. No MPI in here. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    int is_flood = strcmp(argv[2], "flood") == 0, count = atoi(argv[2]), seconds = atoi(argv[3]);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "%s", argv[1]);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    time_t end = time(NULL) + seconds;
    for (int i = 0; is_flood ? time(NULL) < end : i < count; i++) {
        int connection = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        if (connection < 0 || connect(connection, (struct sockaddr *)&address, size) != 0) {
            /* The job may have ended meanwhile. */
            if (is_flood) return 0;
            perror("idle_connections");
            return 1;
        }
        if (is_flood) close(connection);
    }
    if (!is_flood) sleep((unsigned)seconds);
    return 0;
}
