/* Procedures that take the program's callbacks: C functions that MPI calls, and that call the Fortran procedures. */
#include "fortran.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* Callbacks of attributes. Equal ones are kept once, for good: a key's callbacks may be called after the key was freed. */
typedef void COPY(FINT *object, FINT *keyval, void *extra, void *in, void *out, FINT *flag, FINT *ierror);
typedef void DELETE(FINT *object, FINT *keyval, void *value, void *extra, FINT *ierror);
typedef struct key {
    struct key *next;
    COPY *copy;
    DELETE *delete;
    ADDRESS extra;
} KEY;

static KEY *key(void *copy, void *delete, ADDRESS extra) {
    static KEY *all;
    KEY *found;
    pthread_mutex_lock(&lock);
    for (found = all; found; found = found->next)
        if (found->copy == (COPY *)copy && found->delete == (DELETE *)delete && found->extra == extra) break;
    if (!found) {
        found = malloc(sizeof *found);
        if (!found) abort();
        *found = (KEY){.next = all, .copy = (COPY *)copy, .delete = (DELETE *)delete, .extra = extra};
        all = found;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

/* Callbacks get a copy of the extra state, which is one value for all (MPI-5.0 §7.7.2). VALUE: how long attributes are. */
#define ATTRIBUTE_CALLBACKS(object, Type, VALUE, prefix) \
    static int prefix##_copy(Type of, int keyval, void *extra, void *in, void *out, int *flag) { \
        const KEY *key = extra; \
        FINT handle = object##_out(of), number = keyval, is_copied = 0, code = MPI_SUCCESS; \
        VALUE state = (VALUE)key->extra, from = (VALUE)(ADDRESS)in, to = 0; \
        key->copy(&handle, &number, &state, &from, &to, &is_copied, &code); \
        *flag = is_copied != 0; \
        if (*flag) *(void **)out = (void *)(ADDRESS)to; \
        return code; \
    } \
    static int prefix##_delete(Type of, int keyval, void *value, void *extra) { \
        const KEY *key = extra; \
        FINT handle = object##_out(of), number = keyval, code = MPI_SUCCESS; \
        VALUE state = (VALUE)key->extra, old = (VALUE)(ADDRESS)value; \
        key->delete(&handle, &number, &old, &state, &code); \
        return code; \
    }
ATTRIBUTE_CALLBACKS(comm, MPI_Comm, ADDRESS, comm)
ATTRIBUTE_CALLBACKS(datatype, MPI_Datatype, ADDRESS, type)
ATTRIBUTE_CALLBACKS(win, MPI_Win, ADDRESS, win)
ATTRIBUTE_CALLBACKS(comm, MPI_Comm, FINT, old)

#define KEYVAL_ENTRY(name, NAME, prefix, function, VALUE) \
    (void *copy, void *delete, FINT *keyval, VALUE *extra_state, FINT *ierror) { \
        int code = C(function)(prefix##_copy, prefix##_delete, keyval, key(copy, delete, *extra_state)); \
        if (ierror) *ierror = code; \
    }
ENTRY(comm_create_keyval, COMM_CREATE_KEYVAL)KEYVAL_ENTRY(, , comm, MPI_Comm_create_keyval, ADDRESS)
F08(comm_create_keyval);
ENTRY(type_create_keyval, TYPE_CREATE_KEYVAL)KEYVAL_ENTRY(, , type, MPI_Type_create_keyval, ADDRESS)
F08(type_create_keyval);
ENTRY(win_create_keyval, WIN_CREATE_KEYVAL)KEYVAL_ENTRY(, , win, MPI_Win_create_keyval, ADDRESS)
F08(win_create_keyval);
ENTRY(keyval_create, KEYVAL_CREATE)KEYVAL_ENTRY(, , old, MPI_Keyval_create, FINT)

/* C's operations and error handlers do not know which they are. Where handles are integers in C too, MPI calls the Fortran procedure itself; elsewhere
 * a C function of its own is there for each procedure that a program has, which are not many. */
typedef void OPERATION(void *in, void *inout, void *length, FINT *datatype);
typedef void HANDLER(FINT *object, FINT *code);

#if defined(MPICH_ABI)

static MPI_User_function *plain_op(void *procedure) { return (MPI_User_function *)procedure; }
static MPI_User_function_c *large_op(void *procedure) { return (MPI_User_function_c *)procedure; }
#define HANDLERS(name, Type, Function) \
    static Function *name##_handler(void *procedure) { return (Function *)procedure; }
HANDLERS(comm, MPI_Comm, MPI_Comm_errhandler_function)
HANDLERS(session, MPI_Session, MPI_Session_errhandler_function)
HANDLERS(win, MPI_Win, MPI_Win_errhandler_function)
/* But for files. */
#define FUNCTIONS 64
#define EACH(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
    X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) \
    X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) \
    X(48) X(49) X(50) X(51) X(52) X(53) X(54) X(55) X(56) X(57) X(58) X(59) X(60) X(61) X(62) X(63) 

#else

#define FUNCTIONS 256
#define EACH(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
    X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31) \
    X(32) X(33) X(34) X(35) X(36) X(37) X(38) X(39) X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) \
    X(48) X(49) X(50) X(51) X(52) X(53) X(54) X(55) X(56) X(57) X(58) X(59) X(60) X(61) X(62) X(63) \
    X(64) X(65) X(66) X(67) X(68) X(69) X(70) X(71) X(72) X(73) X(74) X(75) X(76) X(77) X(78) X(79) \
    X(80) X(81) X(82) X(83) X(84) X(85) X(86) X(87) X(88) X(89) X(90) X(91) X(92) X(93) X(94) X(95) \
    X(96) X(97) X(98) X(99) X(100) X(101) X(102) X(103) X(104) X(105) X(106) X(107) X(108) X(109) X(110) X(111) \
    X(112) X(113) X(114) X(115) X(116) X(117) X(118) X(119) X(120) X(121) X(122) X(123) X(124) X(125) X(126) X(127) \
    X(128) X(129) X(130) X(131) X(132) X(133) X(134) X(135) X(136) X(137) X(138) X(139) X(140) X(141) X(142) X(143) \
    X(144) X(145) X(146) X(147) X(148) X(149) X(150) X(151) X(152) X(153) X(154) X(155) X(156) X(157) X(158) X(159) \
    X(160) X(161) X(162) X(163) X(164) X(165) X(166) X(167) X(168) X(169) X(170) X(171) X(172) X(173) X(174) X(175) \
    X(176) X(177) X(178) X(179) X(180) X(181) X(182) X(183) X(184) X(185) X(186) X(187) X(188) X(189) X(190) X(191) \
    X(192) X(193) X(194) X(195) X(196) X(197) X(198) X(199) X(200) X(201) X(202) X(203) X(204) X(205) X(206) X(207) \
    X(208) X(209) X(210) X(211) X(212) X(213) X(214) X(215) X(216) X(217) X(218) X(219) X(220) X(221) X(222) X(223) \
    X(224) X(225) X(226) X(227) X(228) X(229) X(230) X(231) X(232) X(233) X(234) X(235) X(236) X(237) X(238) X(239) \
    X(240) X(241) X(242) X(243) X(244) X(245) X(246) X(247) X(248) X(249) X(250) X(251) X(252) X(253) X(254) X(255) 

#endif

/* The place of a procedure in a table; -1 if that is full. */
static int place(void **table, void *procedure) {
    int i;
    pthread_mutex_lock(&lock);
    for (i = 0; i < FUNCTIONS; i++)
        if (!table[i] || table[i] == procedure) break;
    if (i < FUNCTIONS) table[i] = procedure;
    else i = -1;
    pthread_mutex_unlock(&lock);
    if (i < 0) fprintf(stderr, "isthmus: the Fortran library keeps %d different callbacks of a kind: use fewer procedures\n", FUNCTIONS);
    return i;
}

#define ENTRY_OF_TABLE(i) TABLE(i),

/* A table of procedures and C functions that call them. */
#define HANDLER_TABLE(name, Type, Function) \
    static void *name##_procedures[FUNCTIONS]; \
    static void name##_call(int i, Type *object, int *code) { \
        FINT handle = name##_out(*object); \
        ((HANDLER *)name##_procedures[i])(&handle, code); \
    }

#if !defined(MPICH_ABI)

static void *plain_procedures[FUNCTIONS], *large_procedures[FUNCTIONS];
#define OP(i) \
    static void plain_##i(void *in, void *inout, int *length, MPI_Datatype *datatype) { \
        FINT handle = datatype_out(*datatype); \
        ((OPERATION *)plain_procedures[i])(in, inout, length, &handle); \
    } \
    static void large_##i(void *in, void *inout, MPI_Count *length, MPI_Datatype *datatype) { \
        FINT handle = datatype_out(*datatype); \
        ((OPERATION *)large_procedures[i])(in, inout, length, &handle); \
    }
EACH(OP)
#define PLAIN(i) plain_##i,
static MPI_User_function *const plain_functions[] = {EACH(PLAIN)};
#define LARGE(i) large_##i,
static MPI_User_function_c *const large_functions[] = {EACH(LARGE)};

static MPI_User_function *plain_op(void *procedure) {
    int i = place(plain_procedures, procedure);
    return i < 0 ? NULL : plain_functions[i];
}
static MPI_User_function_c *large_op(void *procedure) {
    int i = place(large_procedures, procedure);
    return i < 0 ? NULL : large_functions[i];
}

HANDLER_TABLE(comm, MPI_Comm, MPI_Comm_errhandler_function)
HANDLER_TABLE(session, MPI_Session, MPI_Session_errhandler_function)
HANDLER_TABLE(win, MPI_Win, MPI_Win_errhandler_function)
#define COMM(i) static void comm_##i(MPI_Comm *of, int *code, ...) { comm_call(i, of, code); }
EACH(COMM)
#define SESSION(i) static void session_##i(MPI_Session *of, int *code, ...) { session_call(i, of, code); }
EACH(SESSION)
#define WIN(i) static void win_##i(MPI_Win *of, int *code, ...) { win_call(i, of, code); }
EACH(WIN)
#define COMM_PLACE(i) comm_##i,
static MPI_Comm_errhandler_function *const comm_functions[] = {EACH(COMM_PLACE)};
#define SESSION_PLACE(i) session_##i,
static MPI_Session_errhandler_function *const session_functions[] = {EACH(SESSION_PLACE)};
#define WIN_PLACE(i) win_##i,
static MPI_Win_errhandler_function *const win_functions[] = {EACH(WIN_PLACE)};
#define HANDLERS(name, Function) \
    static Function *name##_handler(void *procedure) { \
        int i = place(name##_procedures, procedure); \
        return i < 0 ? NULL : name##_functions[i]; \
    }
HANDLERS(comm, MPI_Comm_errhandler_function)
HANDLERS(session, MPI_Session_errhandler_function)
HANDLERS(win, MPI_Win_errhandler_function)

#endif

HANDLER_TABLE(file, MPI_File, MPI_File_errhandler_function)
#define FILE_(i) static void file_##i(MPI_File *of, int *code, ...) { file_call(i, of, code); }
EACH(FILE_)
#define FILE_PLACE(i) file_##i,
static MPI_File_errhandler_function *const file_functions[] = {EACH(FILE_PLACE)};
static MPI_File_errhandler_function *file_handler(void *procedure) {
    int i = place(file_procedures, procedure);
    return i < 0 ? NULL : file_functions[i];
}

#define OP_ENTRY(which, function) \
    (void *user_fn, FINT *commute, FINT *op, FINT *ierror) { \
        MPI_Op made = MPI_OP_NULL; \
        int code = C(function)(which##_op(user_fn), *commute != 0, &made); \
        if (code == MPI_SUCCESS) *op = op_out(made); \
        if (ierror) *ierror = code; \
    }
ENTRY(op_create, OP_CREATE)OP_ENTRY(plain, MPI_Op_create)
F08(op_create);
ENTRY_LARGE(op_create_c, op_create)OP_ENTRY(large, MPI_Op_create_c)

#define HANDLER_ENTRY(name, function) \
    (void *procedure, FINT *errhandler, FINT *ierror) { \
        MPI_Errhandler made = MPI_ERRHANDLER_NULL; \
        int code = C(function)(name##_handler(procedure), &made); \
        if (code == MPI_SUCCESS) *errhandler = errhandler_out(made); \
        if (ierror) *ierror = code; \
    }
ENTRY(comm_create_errhandler, COMM_CREATE_ERRHANDLER)HANDLER_ENTRY(comm, MPI_Comm_create_errhandler)
F08(comm_create_errhandler);
ENTRY(file_create_errhandler, FILE_CREATE_ERRHANDLER)HANDLER_ENTRY(file, MPI_File_create_errhandler)
F08(file_create_errhandler);
ENTRY(session_create_errhandler, SESSION_CREATE_ERRHANDLER)HANDLER_ENTRY(session, MPI_Session_create_errhandler)
F08(session_create_errhandler);
ENTRY(win_create_errhandler, WIN_CREATE_ERRHANDLER)HANDLER_ENTRY(win, MPI_Win_create_errhandler)
F08(win_create_errhandler);
#if defined(HAS_REMOVED)
ENTRY(errhandler_create, ERRHANDLER_CREATE)HANDLER_ENTRY(comm, MPI_Comm_create_errhandler)
#endif

/* Generalized requests have their callbacks until they are freed. */
typedef struct {
    void (*query)(ADDRESS *extra, FINT *status, FINT *ierror);
    void (*free)(ADDRESS *extra, FINT *ierror);
    void (*cancel)(ADDRESS *extra, FINT *complete, FINT *ierror);
    ADDRESS extra;
} GENERALIZED;

static int query(void *extra, MPI_Status *status) {
    GENERALIZED *of = extra;
    FINT code = MPI_SUCCESS;
    of->query(&of->extra, (FINT *)status, &code);
    return code;
}

static int release(void *extra) {
    GENERALIZED *of = extra;
    FINT code = MPI_SUCCESS;
    of->free(&of->extra, &code);
    free(of);
    return code;
}

static int cancel(void *extra, int complete) {
    GENERALIZED *of = extra;
    FINT code = MPI_SUCCESS, is_complete = complete != 0;
    of->cancel(&of->extra, &is_complete, &code);
    return code;
}

ENTRY(grequest_start, GREQUEST_START)
(void *query_fn, void *free_fn, void *cancel_fn, ADDRESS *extra_state, FINT *request, FINT *ierror) {
    GENERALIZED *of = malloc(sizeof *of);
    MPI_Request made = MPI_REQUEST_NULL;
    int code;
    if (!of) abort();
    *of = (GENERALIZED){.query = (void (*)(ADDRESS *, FINT *, FINT *))query_fn,
                        .free = (void (*)(ADDRESS *, FINT *))free_fn,
                        .cancel = (void (*)(ADDRESS *, FINT *, FINT *))cancel_fn,
                        .extra = *extra_state};
    code = C(MPI_Grequest_start)(query, release, cancel, of, &made);
    if (code == MPI_SUCCESS) *request = request_out(made);
    else free(of);
    if (ierror) *ierror = code;
}
F08(grequest_start);

/* Representations of data are there until the end. */
typedef struct {
    void (*read)(void *user, FINT *datatype, void *count, void *file, MPI_Offset *position, ADDRESS *extra, FINT *ierror);
    void (*write)(void *user, FINT *datatype, void *count, void *file, MPI_Offset *position, ADDRESS *extra, FINT *ierror);
    void (*extent)(FINT *datatype, ADDRESS *extent, ADDRESS *extra, FINT *ierror);
    ADDRESS extra;
} REPRESENTATION;

#define CONVERSION(name, COUNT, member) \
    static int name(void *user, MPI_Datatype datatype, COUNT count, void *file, MPI_Offset position, void *extra) { \
        REPRESENTATION *of = extra; \
        FINT handle = datatype_out(datatype), code = MPI_SUCCESS; \
        of->member(user, &handle, &count, file, &position, &of->extra, &code); \
        return code; \
    }
CONVERSION(reads, int, read)
CONVERSION(writes, int, write)
CONVERSION(reads_large, MPI_Count, read)
CONVERSION(writes_large, MPI_Count, write)

static int extends(MPI_Datatype datatype, MPI_Aint *extent, void *extra) {
    REPRESENTATION *of = extra;
    FINT handle = datatype_out(datatype), code = MPI_SUCCESS;
    of->extent(&handle, extent, &of->extra, &code);
    return code;
}

#define REPRESENTATION_ENTRY(function, reads, writes, null) \
    (char *datarep, void *read_fn, void *write_fn, void *extent_fn, ADDRESS *extra_state, FINT *ierror, size_t length) { \
        REPRESENTATION *of = malloc(sizeof *of); \
        char *name = string_in(datarep, length); \
        int code; \
        if (!of) abort(); \
        memcpy(&of->read, &read_fn, sizeof(void *)); \
        memcpy(&of->write, &write_fn, sizeof(void *)); \
        memcpy(&of->extent, &extent_fn, sizeof(void *)); \
        of->extra = *extra_state; \
        code = C(function)(name, is_null_conversion(read_fn) ? null : reads, is_null_conversion(write_fn) ? null : writes, extends, of); \
        if (code != MPI_SUCCESS) free(of); \
        free(name); \
        if (ierror) *ierror = code; \
    }
ENTRY(register_datarep, REGISTER_DATAREP)
REPRESENTATION_ENTRY(MPI_Register_datarep, reads, writes, MPI_CONVERSION_FN_NULL)
F08(register_datarep);
ENTRY_LARGE(register_datarep_c, register_datarep)
REPRESENTATION_ENTRY(MPI_Register_datarep_c, reads_large, writes_large, MPI_CONVERSION_FN_NULL_C)
