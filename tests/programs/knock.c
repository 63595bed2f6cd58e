/* knock N SECONDS: connects to mpiexec N times, says nothing, and goes after so many seconds. Leaves the job's world to the
 * others: it uses no MPI. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

int main(int argc, char **argv) {
    const char *job = getenv("ISTHMUS_JOB");
    int count = argc > 1 ? atoi(argv[1]) : 1, seconds = argc > 2 ? atoi(argv[2]) : 1;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!job) return 1;
    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "isthmus-%.16s", job);
    for (int i = 0; i < count; i++) {
        int connection = socket(AF_UNIX, SOCK_SEQPACKET, 0);
        socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
        if (connection < 0 || connect(connection, (struct sockaddr *)&address, size) != 0) {
            perror("knock");
            return 1;
        }
    }
    sleep((unsigned)seconds);
    return 0;
}
