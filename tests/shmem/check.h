/* What the programs here share: a check that says where it failed and ends the job. */
#ifndef CHECK_H
#define CHECK_H

#include <shmem.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                                                     \
    do {                                                                                                \
        if (!(what)) {                                                                                  \
            fprintf(stderr, "%s:%d: PE %d: not so: %s\n", __FILE__, __LINE__, shmem_my_pe(), #what);    \
            shmem_global_exit(3);                                                                       \
        }                                                                                               \
    } while (0)

#endif
