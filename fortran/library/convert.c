/* Strings, arrays of datatypes, attributes. */
#include "fortran.h"

#include <pthread.h>

char *room(size_t length) {
    char *string = malloc(length + 1);
    if (!string) abort();
    return string;
}

char *string_in(const char *text, size_t length) {
    char *string;
    while (length > 0 && text[length - 1] == ' ') length--;
    string = room(length);
    memcpy(string, text, length);
    string[length] = 0;
    return string;
}

char *trimmed_in(const char *text, size_t length) {
    while (length > 0 && *text == ' ') {
        text++;
        length--;
    }
    return string_in(text, length);
}

void string_out(const char *string, char *text, size_t length) {
    size_t given = strlen(string);
    if (given > length) given = length;
    memcpy(text, string, given);
    memset(text + given, ' ', length - given);
}

/* Arrays of datatypes of operations that go on, by request: a call of Fortran's that completes or frees it frees them. */
struct kept { struct kept *next; FINT request; MPI_Datatype datatypes[]; };
static struct kept *all_kept[256];
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;
int kept_number;

static struct kept **kept_list(FINT request) {
    unsigned hash = (unsigned)request;
    return &all_kept[(hash ^ hash >> 8 ^ hash >> 16 ^ hash >> 24) % 256];
}

static void keep(struct kept *kept, FINT request) {
    struct kept **list = kept_list(request);
    kept->request = request;
    pthread_mutex_lock(&kept_lock);
    kept->next = *list;
    *list = kept;
    pthread_mutex_unlock(&kept_lock);
}

MPI_Datatype *datatypes_in(const FINT *of, MPI_Count count) {
    size_t number = count > 0 ? (size_t)count : 0, i;
    struct kept *new = malloc(sizeof(struct kept) + sizeof(MPI_Datatype) * number);
    if (!new) abort();
    for (i = 0; i < number; i++) new->datatypes[i] = datatype_in(of[i]);
    return new->datatypes;
}

void datatypes_done(MPI_Datatype *datatypes) {
    free((char *)datatypes - offsetof(struct kept, datatypes));
}

void datatypes_keep(MPI_Datatype *datatypes, MPI_Request request, int code) {
    if (code != MPI_SUCCESS || request == MPI_REQUEST_NULL) {
        datatypes_done(datatypes);
        return;
    }
    __atomic_fetch_add(&kept_number, 1, __ATOMIC_RELAXED);
    keep((struct kept *)((char *)datatypes - offsetof(struct kept, datatypes)), request_out(request));
}

KEPT *kept_take_all(FINT request) {
    struct kept **at, *taken = NULL;
    pthread_mutex_lock(&kept_lock);
    for (at = kept_list(request); *at;) {
        struct kept *one = *at;
        if (one->request != request) {
            at = &one->next;
            continue;
        }
        *at = one->next;
        one->next = taken;
        taken = one;
    }
    pthread_mutex_unlock(&kept_lock);
    return taken;
}

void kept_settle_all(KEPT *kept, FINT request) {
    while (kept) {
        struct kept *next = kept->next;
        if (kept->request == request) {
            keep(kept, request);
        } else {
            free(kept);
            __atomic_fetch_sub(&kept_number, 1, __ATOMIC_RELAXED);
        }
        kept = next;
    }
}

MPI_Datatype *datatypes_room(MPI_Count count) {
    size_t number = count > 0 ? (size_t)count : 0, i;
    MPI_Datatype *datatypes = malloc(sizeof(MPI_Datatype) * (number + 1));
    if (!datatypes) abort();
    for (i = 0; i < number; i++) datatypes[i] = MPI_DATATYPE_NULL;
    return datatypes;
}

void datatypes_out(MPI_Datatype *datatypes, FINT *of, MPI_Count count, int filled) {
    MPI_Count i;
    for (i = 0; filled && i < count; i++)
        if (datatypes[i] != MPI_DATATYPE_NULL) of[i] = datatype_out(datatypes[i]);
    free(datatypes);
}

ADDRESS *addresses_in(const FINT *of, int count) {
    size_t number = count > 0 ? (size_t)count : 0, i;
    ADDRESS *addresses = malloc(sizeof(ADDRESS) * (number + 1));
    if (!addresses) abort();
    for (i = 0; i < number; i++) addresses[i] = of[i];
    return addresses;
}

int has_completed(int code) {
    int class;
    if (code == MPI_SUCCESS) return 1;
    return PMPI_Error_class(code, &class) == MPI_SUCCESS && class == MPI_ERR_IN_STATUS;
}

int peers(MPI_Comm comm) {
    int inter = 0, size = 0;
    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return 0;
    if (inter) PMPI_Comm_remote_size(comm, &size);
    else PMPI_Comm_size(comm, &size);
    return size;
}

/* The processes that a neighbourhood exchange receives from and sends to. */
static void neighbours(MPI_Comm comm, int *from, int *to) {
    int kind = MPI_UNDEFINED, number = 0, rank = 0, weighted;
    *from = *to = 0;
    if (comm == MPI_COMM_NULL || PMPI_Topo_test(comm, &kind) != MPI_SUCCESS) return;
    if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, from, to, &weighted);
        return;
    }
    if (kind == MPI_CART) {
        PMPI_Cartdim_get(comm, &number);
        number *= 2;
    } else if (kind == MPI_GRAPH) {
        PMPI_Comm_rank(comm, &rank);
        PMPI_Graph_neighbors_count(comm, rank, &number);
    }
    *from = *to = number;
}

int sources(MPI_Comm comm) {
    int from, to;
    neighbours(comm, &from, &to);
    return from;
}

int destinations(MPI_Comm comm) {
    int from, to;
    neighbours(comm, &from, &to);
    return to;
}

int is_root(FINT root, MPI_Comm comm) {
    int inter = 0, rank = MPI_UNDEFINED;
    if (comm == MPI_COMM_NULL || PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) return 0;
    if (inter) return root == MPI_ROOT;
    return PMPI_Comm_rank(comm, &rank) == MPI_SUCCESS && rank == root;
}

ADDRESS attribute_out(int keyval, void *value) {
    switch (keyval) {
    case MPI_TAG_UB:
    case MPI_IO:
    case MPI_HOST:
    case MPI_WTIME_IS_GLOBAL:
    case MPI_APPNUM:
    case MPI_LASTUSEDCODE:
    case MPI_UNIVERSE_SIZE:
    case MPI_WIN_DISP_UNIT:
    case MPI_WIN_CREATE_FLAVOR:
    case MPI_WIN_MODEL: return *(int *)value;
    case MPI_WIN_SIZE: return *(MPI_Aint *)value;
    default: return (ADDRESS)value;
    }
}

/* gfortran's logicals are 0 and 1; MPI may have been told otherwise before. */
void announce(void) {
#if !defined(MPICH_ABI) && !defined(OPENMPI_ABI)
    static const char *const sizes[][2] = {
        {"mpi_logical_size", "4"}, {"mpi_integer_size", "4"}, {"mpi_real_size", "4"}, {"mpi_double_precision_size", "8"}};
    FINT is_true = 1, is_false = 0, old_true, old_false;
    MPI_Info info = MPI_INFO_NULL;
    int is_set = 0, i;
    if (PMPI_Abi_get_fortran_info(&info) == MPI_SUCCESS && info == MPI_INFO_NULL && PMPI_Info_create(&info) == MPI_SUCCESS) {
        for (i = 0; i < 4; i++) PMPI_Info_set(info, sizes[i][0], sizes[i][1]);
        PMPI_Abi_set_fortran_info(info);
    }
    if (info != MPI_INFO_NULL) PMPI_Info_free(&info);
    if (PMPI_Abi_get_fortran_booleans(sizeof(FINT), &old_true, &old_false, &is_set) == MPI_SUCCESS && !is_set)
        PMPI_Abi_set_fortran_booleans(sizeof(FINT), &is_true, &is_false);
#endif
}
