/* device_memory DRIVER FILE: buffers in memory of a GPU are refused once the driver's library is loaded, whatever the call.
 * device_memory DRIVER unwatched: with device_memory=0 neither the driver nor the list of libraries is looked at. */
#define _GNU_SOURCE
#include "check.h"
#include "fake_driver.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>

static int lists;

/* In the place of the C library's: how the library learns which libraries are loaded. */
int dl_iterate_phdr(int (*each)(struct dl_phdr_info *, size_t, void *), void *data) {
    static int (*next)(int (*)(struct dl_phdr_info *, size_t, void *), void *);
    lists++;
    if (!next) *(void **)&next = dlsym(RTLD_NEXT, "dl_iterate_phdr");
    return next(each, data);
}

static void exchange(int *from) {
    int to = 0;
    OK(MPI_Sendrecv(from, 1, MPI_INT, 0, 0, &to, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    OK(MPI_Allreduce(from, &to, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
}

/* How often the driver was asked during calls with these bytes. */
static int asked(void *driver, int *from) {
    int *times = dlsym(driver, "times_asked");
    CHECK(times, "%s", dlerror());
    int before = *times;
    exchange(from);
    return *times - before;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int value = rank;
    CHECK(argc == 3, "%d arguments", argc);
    if (strcmp(argv[2], "unwatched") == 0) {
        void *driver = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
        exchange(&value);
        int before = lists, questions = asked(driver, &value);
        CHECK(lists == before && questions == 0, "%d looks at the libraries, %d questions", lists - before, questions);
        end();
        return 0;
    }
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    void *mapped = mmap((void *)DEVICE, DEVICE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    CHECK(mapped == (void *)DEVICE, "no memory at %#llx", DEVICE);
    int *device = mapped, *managed = (int *)(DEVICE + DEVICE_BYTES / 2), host[4] = {0};
    MPI_Win win;
    MPI_Request request;
    MPI_Datatype absolute;
    MPI_Aint place;
    OK(MPI_Sendrecv(device, 1, MPI_INT, 0, 0, host, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    int before = lists;
    exchange(&value);
    CHECK(lists > before, "the library does not look through the function of this program");
    void *driver = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    CHECK(driver, "%s", dlerror());
    CHECK(asked(driver, &value) > 0, "the driver is not asked");
    before = lists;
    exchange(&value);
    CHECK(lists == before, "%d looks at the libraries, with the driver found", lists - before);
    FAILS(MPI_ERR_BUFFER, MPI_Send(device, 1, MPI_INT, 0, 0, MPI_COMM_SELF));
    FAILS(MPI_ERR_BUFFER, MPI_Recv(device, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_BUFFER, MPI_Irecv(device, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request));
    FAILS(MPI_ERR_BUFFER, MPI_Bcast(device, 1, MPI_INT, 0, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Allreduce(device, host, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Allreduce(MPI_IN_PLACE, device, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    FAILS(MPI_ERR_BUFFER, MPI_Buffer_attach(device, 4096));
    FAILS(MPI_ERR_BUFFER, MPI_Win_create(device, 64, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win));
    OK(MPI_Win_create(host, sizeof host, 1, MPI_INFO_NULL, MPI_COMM_SELF, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
    FAILS(MPI_ERR_BUFFER, MPI_Put(device, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_BUFFER, MPI_Get(device, 1, MPI_INT, 0, 0, 1, MPI_INT, win));
    FAILS(MPI_ERR_BUFFER, MPI_Accumulate(device, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, win));
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Win_free(&win));
    MPI_File file;
    OK(MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file));
    FAILS(MPI_ERR_BUFFER, MPI_File_write(file, device, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_BUFFER, MPI_File_iwrite_at(file, 0, device, 1, MPI_INT, &request));
    FAILS(MPI_ERR_BUFFER, MPI_File_write_at_all(file, 4 * rank, device, 1, MPI_INT, MPI_STATUS_IGNORE));
    FAILS(MPI_ERR_BUFFER, MPI_File_read_at(file, 0, device, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_write_at_all(file, 4 * rank, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&file));
    place = (MPI_Aint)DEVICE;
    OK(MPI_Type_create_hindexed_block(1, 1, &place, MPI_INT, &absolute));
    OK(MPI_Type_commit(&absolute));
    FAILS(MPI_ERR_BUFFER, MPI_Send(MPI_BOTTOM, 1, absolute, 0, 0, MPI_COMM_SELF));
    OK(MPI_Type_free(&absolute));
    OK(MPI_Send(device, 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_SELF));
    OK(MPI_Sendrecv(managed, 1, MPI_INT, 0, 0, host, 1, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE));
    int code = MPI_Send(device, 1, MPI_INT, 0, 0, MPI_COMM_SELF), length;
    char text[MPI_MAX_ERROR_STRING];
    OK(MPI_Error_string(code, text, &length));
    CHECK(strstr(text, "GPU"), "%s", text);
    end();
    return 0;
}
