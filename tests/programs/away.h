/* A rank that is not inside MPI until another one calls it, by a signal: nothing moves there meanwhile. */
#ifndef AWAY_H
#define AWAY_H

#include <signal.h>
#include <unistd.h>

/* Before anybody calls: a call that comes early waits. What others call us by. */
static int callable(void) {
    sigset_t calls;
    sigemptyset(&calls);
    sigaddset(&calls, SIGUSR1);
    sigprocmask(SIG_BLOCK, &calls, NULL);
    return getpid();
}

static void stay_away(void) {
    sigset_t calls;
    int signal;
    sigemptyset(&calls);
    sigaddset(&calls, SIGUSR1);
    sigwait(&calls, &signal);
}

static void call_back(int pid) { kill(pid, SIGUSR1); }

#endif
