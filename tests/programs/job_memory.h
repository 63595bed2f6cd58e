/* What a job's shared memory takes of the machine. */
#ifndef JOB_MEMORY_H
#define JOB_MEMORY_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes behind the job's memory, whichever process touched them; -1: this process has no descriptor of it. */
static long job_memory(void) {
    long bytes = -1;
    struct dirent *entry;
    DIR *open = opendir("/proc/self/fd");
    while (open && (entry = readdir(open))) {
        char name[300], target[300] = "";
        struct stat status;
        snprintf(name, sizeof name, "/proc/self/fd/%s", entry->d_name);
        if (readlink(name, target, sizeof target - 1) > 0 && strstr(target, "isthmus-job") && stat(name, &status) == 0)
            bytes = (long)status.st_blocks * 512;
    }
    if (open) closedir(open);
    return bytes;
}

/* Does memory come when it is touched? Not where the kernel counts what could be touched. */
static int comes_when_touched(void) {
    int mode = 2;
    FILE *file = fopen("/proc/sys/vm/overcommit_memory", "r");
    if (file && fscanf(file, "%d", &mode) != 1) mode = 2;
    if (file) fclose(file);
    return mode != 2;
}

#endif
