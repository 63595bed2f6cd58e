/* A process that uses the CPUs beside what is measured, until SIGTERM.
 *
 *   neighbour [--nice N] [--idle] loop|copier|build
 *
 *   loop    computes; prints "result neighbour kind=loop ns=T", nanoseconds of wall clock for each of its iterations, when it is ended
 *   copier  copies memory beyond all caches
 *   build   runs the C compiler ($CC, or cc) over and over
 *
 * --idle runs it under SCHED_IDLE. It ends with the process that started it. */
#define _GNU_SOURCE
#include "measure.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t over;
static volatile unsigned long iterations;

static void end(int signal)
{
    (void)signal;
    over = 1;
}

static void loop(void)
{
    double began = now_us();
    while (!over)
        iterations++;
    printf("result neighbour kind=loop ns=%.4f\n", (now_us() - began) * 1e3 / (double)iterations);
}

static void copier(void)
{
    const size_t bytes = (size_t)256 << 20;
    char *from = malloc(bytes), *to = malloc(bytes);
    if (!from || !to)
        exit(1);
    memset(from, 1, bytes);
    while (!over) {
        memcpy(to, from, bytes);
        from[0] = to[bytes - 1];
    }
}

static void build(void)
{
    const char *given = getenv("CC");
    char command[512];
    snprintf(command, sizeof command, "echo '#include <math.h>' | %s -O2 -x c -c -o /dev/null -", given && *given ? given : "cc");
    while (!over)
        if (system(command) != 0 && !over)
            exit(1);
}

int main(int argc, char **argv)
{
    const char *kind = "";
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    signal(SIGTERM, end);
    for (int i = 1; i < argc; i++) {
        struct sched_param none = {0};
        if (strcmp(argv[i], "--nice") == 0 && i + 1 < argc) {
            if (nice(atoi(argv[++i])) == -1)
                return 1;
        } else if (strcmp(argv[i], "--idle") == 0) {
            if (sched_setscheduler(0, SCHED_IDLE, &none) != 0)
                return 1;
        } else {
            kind = argv[i];
        }
    }
    if (strcmp(kind, "loop") == 0)
        loop();
    else if (strcmp(kind, "copier") == 0)
        copier();
    else if (strcmp(kind, "build") == 0)
        build();
    else
        return 2;
    return 0;
}
