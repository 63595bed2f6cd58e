// ranks: 1 2
/* Objects of every kind made, used and freed, again and again: afterwards as much memory is in use as before, and as many
   handles. 200,000 cycles; in the full test ten million. A twentieth of it with another rank, where each waits for the other.

   object_cycles [CYCLES [KIND]] */
#include "handles.h"

#include <malloc.h>
#include <unistd.h>

/* The memory of this process: resident, and in use by malloc's count. */
struct memory {
    long resident;
    size_t in_use;
};

/* Two blocks of 16 KiB may be kept for messages that come before their receives, as soon as one does. */
enum { SLACK = 1 << 20, HEAP_SLACK = (16 << 10) + 2 * ((16 << 10) + 64) };

static MPI_Comm own;
static int next, previous;

/* While nobody sends anything. */
static struct memory measure(void) {
    struct memory now;
    long pages = 0, ignored;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    FILE *file = fopen("/proc/self/statm", "r");
    CHECK(file && fscanf(file, "%ld %ld", &ignored, &pages) == 2, "no statm");
    fclose(file);
    now.resident = pages * sysconf(_SC_PAGESIZE);
    struct mallinfo2 heap = mallinfo2();
    now.in_use = heap.uordblks + heap.hblkhd;
    OK(MPI_Barrier(MPI_COMM_WORLD));
    return now;
}

/* ---- The cycles ---- */

static void datatypes(int i) {
    MPI_Datatype row, pair, copy, parts[2] = {MPI_INT, MPI_DOUBLE};
    int from[8] = {1, 2, 3, 4, 5, 6, 7, i}, to[8] = {0}, position = 0, count;
    char packed[64];
    OK(MPI_Type_vector(4, 1, 2, MPI_INT, &row));
    OK(MPI_Type_create_struct(2, (int[]){1, 2}, (MPI_Aint[]){0, 8}, parts, &pair));
    OK(MPI_Type_dup(pair, &copy));
    OK(MPI_Type_free(&pair));
    OK(MPI_Type_commit(&row));
    OK(MPI_Type_set_name(copy, "a copy"));
    OK(MPI_Type_size(copy, &count));
    CHECK(count == 20, "%d", count);
    OK(MPI_Pack(from, 1, row, packed, sizeof packed, &position, own));
    position = 0;
    OK(MPI_Unpack(packed, sizeof packed, &position, to, 1, row, own));
    CHECK(to[0] == 1 && to[2] == 3 && to[6] == 7 && to[7] == 0, "%d %d", to[0], to[6]);
    OK(MPI_Type_free(&copy));
    OK(MPI_Type_free(&row));
}

static void contents(int i) {
    MPI_Datatype row, plane, inner;
    int integers[4], combiner, n, a, d;
    MPI_Aint address;
    OK(MPI_Type_contiguous(1 + i % 5, MPI_CHAR, &row));
    OK(MPI_Type_create_hvector(3, 1, 100, row, &plane));
    OK(MPI_Type_free(&row));
    OK(MPI_Type_get_envelope(plane, &n, &a, &d, &combiner));
    CHECK(n == 2 && a == 1 && d == 1 && combiner == MPI_COMBINER_HVECTOR, "%d %d %d", n, a, d);
    OK(MPI_Type_get_contents(plane, n, a, d, integers, &address, &inner));
    CHECK(integers[0] == 3 && address == 100, "%d", integers[0]);
    OK(MPI_Type_free(&inner));
    OK(MPI_Type_free(&plane));
}

static void groups(int i) {
    MPI_Group all, mine, both;
    int result;
    OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
    OK(MPI_Group_incl(all, 1, (int[]){i % size}, &mine));
    OK(MPI_Group_union(mine, all, &both));
    OK(MPI_Group_compare(both, all, &result));
    CHECK(result == (i % size == 0 ? MPI_IDENT : MPI_SIMILAR), "%d", result);
    OK(MPI_Group_free(&all));
    OK(MPI_Group_free(&mine));
    OK(MPI_Group_free(&both));
}

static void duplicates(int i) {
    MPI_Comm dup, later;
    MPI_Request request;
    int sum;
    OK(MPI_Comm_dup(own, &dup));
    OK(MPI_Comm_idup(dup, &later, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    /* Some talk long enough to get memory of their own. */
    for (int k = 0; k < 1 + i % 5; k++) {
        OK(MPI_Allreduce(&k, &sum, 1, MPI_INT, MPI_SUM, later));
        CHECK(sum == k * size, "%d", sum);
    }
    OK(MPI_Comm_free(&dup));
    OK(MPI_Comm_disconnect(&later));
}

static void parts(int i) {
    MPI_Comm part, grid, line;
    MPI_Group group;
    int dims[1] = {size}, periods[1] = {1}, source, target;
    OK(MPI_Comm_split(own, 0, -rank * (i % 2), &part));
    OK(MPI_Comm_group(part, &group));
    OK(MPI_Comm_create(part, group, &line));
    OK(MPI_Group_free(&group));
    OK(MPI_Cart_create(line, 1, dims, periods, 0, &grid));
    OK(MPI_Cart_shift(grid, 0, 1, &source, &target));
    OK(MPI_Comm_free(&grid));
    OK(MPI_Comm_free(&line));
    OK(MPI_Comm_free(&part));
}

static void intercommunicators(int i) {
    MPI_Comm inter, both;
    int one = i, got = -1;
    if (size < 2) return;
    OK(MPI_Intercomm_create(MPI_COMM_SELF, 0, own, !rank, 3, &inter));
    OK(MPI_Sendrecv(&one, 1, MPI_INT, 0, 1, &got, 1, MPI_INT, 0, 1, inter, MPI_STATUS_IGNORE));
    CHECK(got == i, "%d", got);
    OK(MPI_Intercomm_merge(inter, rank, &both));
    OK(MPI_Barrier(both));
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&both));
}

static void sessions(int i) {
    MPI_Session session;
    MPI_Group group;
    MPI_Comm comm;
    OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session));
    OK(MPI_Group_from_session_pset(session, "mpi://SELF", &group));
    if (i % 4 == 0) {
        OK(MPI_Comm_create_from_group(group, "alone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
        OK(MPI_Comm_free(&comm));
    }
    OK(MPI_Group_free(&group));
    OK(MPI_Session_finalize(&session));
}

static void messages(int i) {
    static int out[3000], in[3000];
    int count = i % 2 ? 1 : 3000;
    MPI_Request requests[2];
    out[0] = i;
    OK(MPI_Irecv(in, count, MPI_INT, previous, 1, own, &requests[0]));
    OK(MPI_Isend(out, count, MPI_INT, next, 1, own, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in[0] == i, "%d", in[0]);
}

/* Handles that are given up before their operation is complete, and operations that are given up. */
static void given_up(int i) {
    int in = -1;
    MPI_Request request, receive;
    OK(MPI_Irecv(&in, 1, MPI_INT, previous, 2, own, &receive));
    OK(MPI_Isend(&i, 1, MPI_INT, next, 2, own, &request));
    OK(MPI_Request_free(&request));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
    CHECK(in == i, "%d", in);
    OK(MPI_Irecv(&in, 1, MPI_INT, previous, 3, own, &receive));
    OK(MPI_Cancel(&receive));
    OK(MPI_Wait(&receive, MPI_STATUS_IGNORE));
}

static void persistent(int i) {
    int in = -1, sum = 0;
    MPI_Request requests[2], collective;
    OK(MPI_Recv_init(&in, 1, MPI_INT, previous, 4, own, &requests[0]));
    OK(MPI_Ssend_init(&i, 1, MPI_INT, next, 4, own, &requests[1]));
    for (int k = 0; k < 2; k++) {
        OK(MPI_Startall(2, requests));
        OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    }
    CHECK(in == i, "%d", in);
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
    OK(MPI_Allreduce_init(&i, &sum, 1, MPI_INT, MPI_SUM, own, MPI_INFO_NULL, &collective));
    OK(MPI_Start(&collective));
    OK(MPI_Wait(&collective, MPI_STATUS_IGNORE));
    CHECK(sum == i * size, "%d", sum);
    OK(MPI_Request_free(&collective));
}

static void partitioned(int i) {
    int out[4] = {i, i, i, i}, in[4] = {0};
    MPI_Request requests[2];
    OK(MPI_Precv_init(in, 2, 2, MPI_INT, previous, 5, own, MPI_INFO_NULL, &requests[0]));
    OK(MPI_Psend_init(out, 2, 2, MPI_INT, next, 5, own, MPI_INFO_NULL, &requests[1]));
    OK(MPI_Startall(2, requests));
    OK(MPI_Pready_range(0, 1, requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    CHECK(in[3] == i, "%d", in[3]);
    OK(MPI_Request_free(&requests[0]));
    OK(MPI_Request_free(&requests[1]));
}

static void immediates(int i) {
    int sum = -1, all[8], value = i;
    MPI_Request requests[3];
    OK(MPI_Iallreduce(&i, &sum, 1, MPI_INT, MPI_SUM, own, &requests[0]));
    OK(MPI_Iallgather(&rank, 1, MPI_INT, all, 1, MPI_INT, own, &requests[1]));
    OK(MPI_Ibcast(&value, 1, MPI_INT, 0, own, &requests[2]));
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(sum == i * size && all[size - 1] == size - 1, "%d", sum);
}

static int answer(void *extra, MPI_Status *status) {
    (void)extra;
    OK(MPI_Status_set_elements(status, MPI_INT, 3));
    OK(MPI_Status_set_cancelled(status, 0));
    return MPI_SUCCESS;
}
static int no_more(void *extra) {
    ++*(int *)extra;
    return MPI_SUCCESS;
}
static int no_cancel(void *extra, int complete) {
    (void)extra, (void)complete;
    return MPI_SUCCESS;
}

static void generalized(int i) {
    MPI_Request request;
    MPI_Status status;
    int freed = 0, count;
    (void)i;
    OK(MPI_Grequest_start(answer, no_more, no_cancel, &freed, &request));
    OK(MPI_Grequest_complete(request));
    OK(MPI_Wait(&request, &status));
    OK(MPI_Get_count(&status, MPI_INT, &count));
    CHECK(freed == 1 && count == 3, "%d", count);
}

static void probed(int i) {
    MPI_Request request;
    MPI_Message message;
    MPI_Status status;
    int in = -1;
    OK(MPI_Isend(&i, 1, MPI_INT, next, 6, own, &request));
    OK(MPI_Mprobe(previous, 6, own, &message, &status));
    OK(MPI_Mrecv(&in, 1, MPI_INT, &message, &status));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(in == i, "%d", in);
}

static void buffers(int i) {
    static char room[4096];
    void *back;
    int length, in = -1;
    if (i % 2) OK(MPI_Buffer_attach(room, sizeof room));
    else OK(MPI_Comm_attach_buffer(own, MPI_BUFFER_AUTOMATIC, 0));
    OK(MPI_Bsend(&i, 1, MPI_INT, next, 7, own));
    OK(MPI_Recv(&in, 1, MPI_INT, previous, 7, own, MPI_STATUS_IGNORE));
    CHECK(in == i, "%d", in);
    if (i % 2) OK(MPI_Buffer_detach(&back, &length));
    else OK(MPI_Comm_detach_buffer(own, &back, &length));
}

static void add(void *in, void *inout, int *count, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *count; i++) ((int *)inout)[i] += ((int *)in)[i];
}

static void operations(int i) {
    MPI_Op op;
    int in = i, inout = 1;
    OK(MPI_Op_create(add, i % 2, &op));
    OK(MPI_Reduce_local(&in, &inout, 1, MPI_INT, op));
    CHECK(inout == i + 1, "%d", inout);
    OK(MPI_Op_free(&op));
}

static void infos(int i) {
    MPI_Info info, copy;
    char value[32];
    int length = sizeof value, flag;
    OK(MPI_Info_create(&info));
    snprintf(value, sizeof value, "%d", i);
    OK(MPI_Info_set(info, "key", value));
    OK(MPI_Info_dup(info, &copy));
    OK(MPI_Info_free(&info));
    OK(MPI_Info_get_string(copy, "key", &length, value, &flag));
    CHECK(flag && atoi(value) == i, "%s", value);
    OK(MPI_Info_delete(copy, "key"));
    OK(MPI_Info_free(&copy));
}

static int handled;
static void handle(MPI_Comm *comm, int *code, ...) {
    (void)comm, (void)code;
    handled++;
}

static void errhandlers(int i) {
    MPI_Errhandler made, got;
    int before = handled;
    (void)i;
    OK(MPI_Comm_create_errhandler(handle, &made));
    OK(MPI_Comm_set_errhandler(own, made));
    OK(MPI_Errhandler_free(&made));
    OK(MPI_Comm_call_errhandler(own, MPI_ERR_OTHER));
    CHECK(handled == before + 1, "%d", handled);
    OK(MPI_Comm_get_errhandler(own, &got));
    OK(MPI_Errhandler_free(&got));
    OK(MPI_Comm_set_errhandler(own, MPI_ERRORS_ARE_FATAL));
}

/* An error says what was wrong, each time in its own words. */
static void errors(int i) {
    char text[MPI_MAX_ERROR_STRING];
    int class, code, length;
    OK(MPI_Comm_set_errhandler(own, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_RANK, MPI_Send(&i, 1, MPI_INT, size + i % 1000, 0, own));
    OK(MPI_Comm_set_errhandler(own, MPI_ERRORS_ARE_FATAL));
    OK(MPI_Add_error_class(&class));
    OK(MPI_Add_error_code(class, &code));
    OK(MPI_Add_error_string(code, "something"));
    OK(MPI_Error_string(code, text, &length));
    CHECK(strcmp(text, "something") == 0, "%s", text);
    OK(MPI_Remove_error_string(code));
    OK(MPI_Remove_error_code(code));
    OK(MPI_Remove_error_class(class));
}

static void attributes(int i) {
    int comm_key, type_key, flag, *value;
    MPI_Datatype type, copy;
    OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL));
    OK(MPI_Type_create_keyval(MPI_TYPE_DUP_FN, MPI_TYPE_NULL_DELETE_FN, &type_key, NULL));
    OK(MPI_Comm_set_attr(own, comm_key, &i));
    OK(MPI_Comm_get_attr(own, comm_key, &value, &flag));
    CHECK(flag && *value == i, "%d", flag);
    OK(MPI_Comm_delete_attr(own, comm_key));
    OK(MPI_Type_contiguous(2, MPI_INT, &type));
    OK(MPI_Type_set_attr(type, type_key, &i));
    OK(MPI_Type_dup(type, &copy));
    OK(MPI_Type_get_attr(copy, type_key, &value, &flag));
    CHECK(flag && *value == i, "%d", flag);
    OK(MPI_Comm_free_keyval(&comm_key));
    OK(MPI_Type_free_keyval(&type_key));
    OK(MPI_Type_free(&copy));
    OK(MPI_Type_free(&type));
}

static void memory(int i) {
    static const MPI_Aint sizes[] = {1, 100, 4096, 70000, 1 << 20};
    char *base;
    OK(MPI_Alloc_mem(sizes[i % 5], MPI_INFO_NULL, &base));
    base[0] = base[sizes[i % 5] - 1] = (char)i;
    OK(MPI_Free_mem(base));
}

static void tools(int i) {
    MPI_T_pvar_session session;
    MPI_T_pvar_handle pvar;
    MPI_T_cvar_handle cvar;
    unsigned long long value;
    int count;
    (void)i;
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_handle_alloc(session, 0, NULL, &pvar, &count));
    OK(MPI_T_cvar_handle_alloc(0, NULL, &cvar, &count));
    OK(MPI_T_cvar_read(cvar, &value));
    OK(MPI_T_cvar_handle_free(&cvar));
    OK(MPI_T_pvar_session_free(&session));
}

/* How many of them, against the others: those that all ranks make together take longer. */
static const struct kind {
    const char *name;
    void (*cycle)(int);
    int weight;
} KINDS[] = {
    {"datatypes", datatypes, 4},     {"contents", contents, 4},       {"groups", groups, 4},
    {"duplicates", duplicates, 1},   {"parts", parts, 1},             {"intercommunicators", intercommunicators, 1},
    {"sessions", sessions, 4},       {"messages", messages, 4},       {"requests given up", given_up, 4},
    {"persistent", persistent, 2},   {"partitioned", partitioned, 2}, {"collectives", immediates, 2},
    {"generalized", generalized, 4}, {"matched probes", probed, 4},   {"buffers", buffers, 4},
    {"operations", operations, 4},   {"infos", infos, 4},             {"error handlers", errhandlers, 4},
    {"errors", errors, 4},           {"attributes", attributes, 4},   {"memory", memory, 4},
    {"tools", tools, 4},
};
enum { KINDS_COUNT = sizeof KINDS / sizeof *KINDS };

static void repeat(const struct kind *kind, int cycles) {
    for (int i = 0; i < cycles; i++) kind->cycle(i);
}

static void keep_at_it(const struct kind *kind, int cycles) {
    /* Tables, caches and rings get as large as they will be. */
    repeat(kind, cycles < 5000 ? 1000 : cycles < 100000 ? cycles / 5 : 20000);
    long handles = live_handles();
    struct memory before = measure();
    repeat(kind, cycles);
    struct memory after = measure();
    CHECK(live_handles() == handles, "%s: %d cycles left %ld handles", kind->name, cycles, live_handles() - handles);
    /* Checks of collectives are messages, and as much is kept for later ones as was ever under way at a time. */
    size_t slack = getenv("ISTHMUS_CHECK") ? 4 * HEAP_SLACK : HEAP_SLACK;
    CHECK(after.in_use <= before.in_use + slack, "%s: %d cycles took %zu bytes of heap for good", kind->name, cycles,
          after.in_use - before.in_use);
    CHECK(after.resident <= before.resident + SLACK, "%s: %d cycles took %ld bytes of memory for good", kind->name, cycles,
          after.resident - before.resident);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    CHECK(size <= 2, "%d", size);
    long cycles = (getenv("ISTHMUS_TEST_FULL") ? 10000000 : 200000) / (size == 1 ? 1 : 20), weights = 0;
    if (argc > 1) cycles = atol(argv[1]);
    next = (rank + 1) % size;
    previous = (rank + size - 1) % size;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &own));
    watch_handles();
    for (int i = 0; i < KINDS_COUNT; i++) weights += KINDS[i].weight;
    for (int i = 0; i < KINDS_COUNT; i++)
        if (argc < 3 || strcmp(argv[2], KINDS[i].name) == 0)
            keep_at_it(&KINDS[i], (int)(cycles * (argc < 3 ? KINDS[i].weight : weights) / weights));
    unwatch_handles();
    OK(MPI_Comm_free(&own));
    end();
    return 0;
}
