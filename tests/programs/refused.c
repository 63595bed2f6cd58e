// ranks: 2 4 34
/* One rank's arguments are refused in a collective: the others get an error, or have their data, and no rank waits without end;
   the next call is right. By messages and on a board, in every form. */
#include "check.h"

enum kind { SCATTER, GATHER, BCAST, REDUCE, ALLREDUCE, KINDS };
enum form { BLOCKING, IMMEDIATE, PERSISTENT, FORMS };

#define CALL(name, immediate, ...)                                                                       \
    (form == BLOCKING    ? MPI_##name(__VA_ARGS__)                                                       \
     : form == IMMEDIATE ? MPI_I##immediate(__VA_ARGS__, &request)                                       \
                         : MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request))

/* The class of the first error. */
static int attempt(enum kind kind, enum form form, int count, MPI_Datatype type, MPI_Comm comm) {
    enum { MOST = 8 * 64 };
    static int send[MOST], recv[MOST];
    MPI_Request request = MPI_REQUEST_NULL;
    int code = MPI_SUCCESS, class = MPI_SUCCESS;
    for (int i = 0; i < MOST; i++) send[i] = rank + i, recv[i] = -1;
    switch (kind) {
    case SCATTER: code = CALL(Scatter, scatter, send, count, type, recv, count, type, 0, comm); break;
    case GATHER: code = CALL(Gather, gather, send, count, type, recv, count, type, 0, comm); break;
    case BCAST: code = CALL(Bcast, bcast, rank ? recv : send, count, type, 0, comm); break;
    case REDUCE: code = CALL(Reduce, reduce, send, recv, count, type, MPI_SUM, 0, comm); break;
    default: code = CALL(Allreduce, allreduce, send, recv, count, type, MPI_SUM, comm); break;
    }
    if (!code && form != BLOCKING) {
        if (form == PERSISTENT) code = MPI_Start(&request);
        if (!code) code = MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (form == PERSISTENT) OK(MPI_Request_free(&request));
    }
    if (code) {
        OK(MPI_Error_class(code, &class));
    } else if (kind == ALLREDUCE) {
        CHECK(recv[3] == 3 * size + size * (size - 1) / 2, "sum %d", recv[3]);
    } else if (kind == BCAST && rank) {
        CHECK(recv[3] == 3, "got %d", recv[3]);
    }
    return class;
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    for (int kind = 0; kind < KINDS; kind++)
        for (int form = 0; form < FORMS; form++)
            for (int is_warm = 0; is_warm < 2; is_warm++)
                for (int refused = 0; refused < size; refused += size - 1)
                    for (int is_type = 0; is_type < 2; is_type++) {
                        MPI_Comm comm;
                        OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
                        OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
                        for (int i = 0; i < 4 * is_warm; i++) OK(attempt(kind, form, 8, MPI_INT, comm));
                        int is_mine = rank == refused;
                        int class = attempt(kind, form, is_mine && !is_type ? -1 : 8,
                                            is_mine && is_type ? MPI_DATATYPE_NULL : MPI_INT, comm);
                        int expected = is_type ? MPI_ERR_TYPE : MPI_ERR_COUNT;
                        int is_needed = kind == ALLREDUCE || (rank == 0) == (kind == GATHER || kind == REDUCE);
                        is_needed = is_needed && (kind == ALLREDUCE || refused == 0 || rank == 0);
                        if (is_mine) CHECK(class == expected, "kind %d form %d: class %d", kind, form, class);
                        else if (is_needed && (refused == 0 || kind > BCAST || kind == GATHER))
                            CHECK(class == MPI_ERR_OTHER, "kind %d form %d warm %d type %d refused %d: class %d", kind, form,
                                  is_warm, is_type, refused, class);
                        else CHECK(!class || class == MPI_ERR_OTHER, "kind %d form %d: class %d", kind, form, class);
                        OK(MPI_Barrier(comm));
                        for (int other = 0; other < KINDS; other++) OK(attempt(other, form, 8, MPI_INT, comm));
                        OK(MPI_Comm_free(&comm));
                    }
    end();
    return 0;
}
