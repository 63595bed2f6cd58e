// ranks: 1
/* Libraries of hardware that is not there are not waited for: what libfabric is linked to is ours then (docs/decisions/0092). */
#include "check.h"
#include <dirent.h>

static int has_device(const char *begins) {
    DIR *devices = opendir("/dev");
    int found = 0;
    for (struct dirent *entry; devices && (entry = readdir(devices));)
        found |= strncmp(entry->d_name, begins, strlen(begins)) == 0;
    if (devices) closedir(devices);
    return found;
}

int main(int argc, char **argv) {
    char line[4096];
    int ipath = has_device("ipath"), hfi = has_device("hfi1");
    OK(MPI_Init(&argc, &argv));
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps, "/proc/self/maps");
    while (fgets(line, sizeof line, maps)) {
        int ours = strstr(line, "/lib/isthmus/") != NULL;
        CHECK(ipath || ours || !strstr(line, "/libpsm_infinipath.so"), "%s", line);
        CHECK(hfi || ours || !strstr(line, "/libpsm2.so"), "%s", line);
    }
    fclose(maps);
    OK(MPI_Finalize());
    return 0;
}
