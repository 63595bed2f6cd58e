/* Two ranks on two nodes: long messages are read out of their sender's memory. Where the provider cannot do that this fails. */
#include "counter.h"

enum { LENGTH = 1 << 20, ROUNDS = 4 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(size == 2 && !on_one_node(), "it takes two nodes");
    int provided;
    MPI_T_pvar_session session;
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    OK(MPI_T_pvar_session_create(&session));
    MPI_T_pvar_handle read = counter(session, "network_read_bytes");
    OK(MPI_T_pvar_start(session, read));
    unsigned char *buffer = malloc(LENGTH);
    CHECK(buffer, "no memory");
    for (int i = 0; i < ROUNDS; i++) {
        unsigned long long before, after;
        OK(MPI_T_pvar_read(session, read, &before));
        if (rank == i % 2) {
            fill(buffer, LENGTH, (unsigned)i);
            OK(MPI_Send(buffer, LENGTH, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD));
        } else {
            OK(MPI_Recv(buffer, LENGTH, MPI_BYTE, 1 - rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
            CHECK_BYTES(buffer, LENGTH, (unsigned)i);
        }
        OK(MPI_T_pvar_read(session, read, &after));
        unsigned long long wanted = rank == i % 2 ? 0 : LENGTH;
        CHECK(after - before == wanted, "%llu bytes in round %d, not %llu", after - before, i, wanted);
    }
    free(buffer);
    OK(MPI_T_pvar_session_free(&session));
    OK(MPI_T_finalize());
    end();
    return 0;
}
