/* Procedures whose arguments differ from C's by more than their form. */
#include "fortran.h"

/* The length counts no zero in Fortran. */
ENTRY(info_get_string, INFO_GET_STRING)
(FINT *info, char *key, FINT *buflen, char *value, FINT *flag, FINT *ierror, size_t key_length, size_t value_length) {
    char *c_key = trimmed_in(key, key_length);
    int has_room = *buflen > 0, length = has_room ? *buflen + 1 : 0;
    char *c_value = room((size_t)length);
    int code = C(MPI_Info_get_string)(info_in(*info), c_key, &length, c_value, flag);
    if (code == MPI_SUCCESS && *flag) {
        if (has_room) {
            string_out(c_value, value, value_length < (size_t)*buflen ? value_length : (size_t)*buflen);
            if (value_length > (size_t)*buflen) memset(value + *buflen, ' ', value_length - (size_t)*buflen);
        }
        *buflen = length > 0 ? length - 1 : 0;
    }
    free(c_key);
    free(c_value);
    if (ierror) *ierror = code;
}
F08(info_get_string);

ENTRY(info_get, INFO_GET)
(FINT *info, char *key, FINT *valuelen, char *value, FINT *flag, FINT *ierror, size_t key_length, size_t value_length) {
    char *c_key = trimmed_in(key, key_length);
    char *c_value = room(*valuelen > 0 ? (size_t)*valuelen : 0);
    int code = C(MPI_Info_get)(info_in(*info), c_key, *valuelen, c_value, flag);
    if (code == MPI_SUCCESS && *flag) string_out(c_value, value, value_length);
    free(c_key);
    free(c_value);
    if (ierror) *ierror = code;
}
F08(info_get);

ENTRY(session_get_nth_pset, SESSION_GET_NTH_PSET)
(FINT *session, FINT *info, FINT *n, FINT *pset_len, char *pset_name, FINT *ierror, size_t pset_name_length) {
    int has_room = *pset_len > 0, length = has_room ? *pset_len + 1 : 0;
    char *name = room((size_t)length);
    int code = C(MPI_Session_get_nth_pset)(session_in(*session), info_in(*info), *n, &length, name);
    if (code == MPI_SUCCESS) {
        if (has_room) string_out(name, pset_name, pset_name_length);
        *pset_len = length > 0 ? length - 1 : 0;
    }
    free(name);
    if (ierror) *ierror = code;
}
F08(session_get_nth_pset);

/* All forms of a status are the same integers. */
ENTRY(status_f2f08, STATUS_F2F08)(FINT *f_status, FINT *f08_status, FINT *ierror) {
    memcpy(f08_status, f_status, sizeof(MPI_Status));
    if (ierror) *ierror = MPI_SUCCESS;
}
F08(status_f2f08);

ENTRY(status_f082f, STATUS_F082F)(FINT *f08_status, FINT *f_status, FINT *ierror) {
    memcpy(f_status, f08_status, sizeof(MPI_Status));
    if (ierror) *ierror = MPI_SUCCESS;
}
F08(status_f082f);

/* For the compiler alone: the buffer may have changed. */
ENTRY(f_sync_reg, F_SYNC_REG)(void *buf) { (void)buf; }
void FORTRAN_(f_sync_reg_f08ts_)(void *buf) { (void)buf; }
void FORTRAN_(f_sync_reg_cdesc)(void *buf) { (void)buf; }
F08_ADDRESSES(f_sync_reg);

/* The second field of a descriptor in C's form is the size of an element. */
void FORTRAN_(sizeof_cdesc)(const size_t *x, FINT *size, FINT *ierror) {
    *size = (FINT)x[1];
    if (ierror) *ierror = MPI_SUCCESS;
}

/* A list of strings, of the same length each, that ends with an empty one; the i-th of every `rows` where there are several lists. */
static char **list_in(const char *argv, size_t length, int rows) {
    size_t count = 0, i;
    char **list;
    for (;; count++) {
        char *word = string_in(argv + count * (size_t)rows * length, length);
        int is_empty = *word == 0;
        free(word);
        if (is_empty) break;
    }
    list = malloc(sizeof(char *) * (count + 1));
    if (!list) abort();
    for (i = 0; i < count; i++) list[i] = string_in(argv + i * (size_t)rows * length, length);
    list[count] = NULL;
    return list;
}

static void list_free(char **list) {
    size_t i;
    if (!list) return;
    for (i = 0; list[i]; i++) free(list[i]);
    free(list);
}

static int is_argv_null(const char *argv) { return IS_ARGV_NULL(argv); }

static int is_argvs_null(const char *argv) { return IS_ARGVS_NULL(argv); }

/* Other arguments than root and communicator mean something at the root only. */

ENTRY(comm_spawn, COMM_SPAWN)
(char *command, char *argv, FINT *maxprocs, FINT *info, FINT *root, FINT *comm, FINT *intercomm, FINT *array_of_errcodes,
 FINT *ierror, size_t command_length, size_t argv_length) {
    MPI_Comm c_comm = comm_in(*comm), c_intercomm = MPI_COMM_NULL;
    int at_root = is_root(*root, c_comm), code;
    char *c_command = at_root ? string_in(command, command_length) : NULL;
    char **c_argv = !at_root || is_argv_null(argv) ? NULL : list_in(argv, argv_length, 1);
    code = C(MPI_Comm_spawn)(c_command, c_argv ? c_argv : MPI_ARGV_NULL, *maxprocs, info_in(*info), *root, c_comm, &c_intercomm,
                             is_errcodes_ignore(array_of_errcodes) ? MPI_ERRCODES_IGNORE : array_of_errcodes);
    if (code == MPI_SUCCESS) *intercomm = comm_out(c_intercomm);
    free(c_command);
    list_free(c_argv);
    if (ierror) *ierror = code;
}
F08(comm_spawn);

ENTRY(comm_spawn_multiple, COMM_SPAWN_MULTIPLE)
(FINT *count, char *array_of_commands, char *array_of_argv, FINT *array_of_maxprocs, FINT *array_of_info, FINT *root, FINT *comm,
 FINT *intercomm, FINT *array_of_errcodes, FINT *ierror, size_t commands_length, size_t argv_length) {
    MPI_Comm c_comm = comm_in(*comm), c_intercomm = MPI_COMM_NULL;
    int rows = is_root(*root, c_comm) && *count > 0 ? *count : 0, code, i;
    char **commands = calloc((size_t)rows + 1, sizeof(char *));
    char ***lists = rows == 0 || is_argvs_null(array_of_argv) ? NULL : calloc((size_t)rows + 1, sizeof(char **));
    MPI_Info *infos = calloc((size_t)rows + 1, sizeof(MPI_Info));
    if (!commands || !infos) abort();
    for (i = 0; i < rows; i++) {
        commands[i] = string_in(array_of_commands + (size_t)i * commands_length, commands_length);
        infos[i] = info_in(array_of_info[i]);
        if (lists) lists[i] = list_in(array_of_argv + (size_t)i * argv_length, argv_length, rows);
    }
    code = C(MPI_Comm_spawn_multiple)(*count, commands, lists ? lists : MPI_ARGVS_NULL, array_of_maxprocs, infos, *root, c_comm,
                                      &c_intercomm, is_errcodes_ignore(array_of_errcodes) ? MPI_ERRCODES_IGNORE : array_of_errcodes);
    if (code == MPI_SUCCESS) *intercomm = comm_out(c_intercomm);
    for (i = 0; i < rows; i++) {
        free(commands[i]);
        if (lists) list_free(lists[i]);
    }
    free(commands);
    free(lists);
    free(infos);
    if (ierror) *ierror = code;
}
F08(comm_spawn_multiple);
