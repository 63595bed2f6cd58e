/* What the programs with several threads share. */
#ifndef THREADS_H
#define THREADS_H

#include "check.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 8 };

static inline void begin_threads(int *argc, char ***argv) {
    int provided, level, main_thread;
    OK(MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided));
    OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
    OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
    CHECK(provided == MPI_THREAD_MULTIPLE, "level %d", provided);
    OK(MPI_Query_thread(&level));
    OK(MPI_Is_thread_main(&main_thread));
    CHECK(level == MPI_THREAD_MULTIPLE && main_thread, "level %d", level);
}

/* Run `work` on so many threads, with their numbers, and wait for them. */
static inline void run_threads(int count, void *(*work)(void *)) {
    pthread_t threads[64];
    for (size_t i = 0; i < (size_t)count; i++)
        CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0, "no thread %zu", i);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
}

#endif
