/* device_memory DRIVER: buffers in memory of a GPU are refused once the driver's library is loaded, whatever the call. */
#include "check.h"
#include "fake_driver.h"

#include <dlfcn.h>
#include <sys/mman.h>

int main(int argc, char **argv) {
    begin(&argc, &argv);
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
    CHECK(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), "%s", dlerror());
    FAILS(MPI_ERR_BUFFER, MPI_Send(device, 1, MPI_INT, 0, 0, MPI_COMM_SELF));
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
    OK(MPI_Win_unlock(0, win));
    OK(MPI_Win_free(&win));
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
