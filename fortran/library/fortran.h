/* What all of the Fortran library is written with. It is compiled six times: for the standard ABI, the MPICH ABI (MPICH_ABI) and Open MPI's
 * (OPENMPI_ABI), and for the names that begin with MPI_ and with PMPI_ (PROFILING). It calls MPI by its C interface alone, so it runs on any library of its ABI. */
#ifndef ISTHMUS_FORTRAN_H
#define ISTHMUS_FORTRAN_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Of the ABI that is compiled for. */
#include <mpi.h>

/* Names. What Fortran calls MPI_X calls the C function MPI_X, so that a tool which intercepts that sees it; PMPI_X calls PMPI_X. */
#if defined(PROFILING)
#define C(function) P##function
#define FORTRAN_(name) pmpi_##name
#define TEXT_(name) "pmpi_" #name
#define MPICH_(name) pmpir_##name
#define CAPITALS_(NAME) PMPI_##NAME
#define EXTENSION_(NAME) PMPIX_##NAME
#else
#define C(function) function
#define FORTRAN_(name) mpi_##name
#define TEXT_(name) "mpi_" #name
#define CAPITALS_(NAME) MPI_##NAME
#endif

#define ALIAS_(name, text) extern __attribute__((alias(text))) void name(void)

/* A procedure of mpif.h, with the spellings of all compilers: mpi_x_, mpi_x, mpi_x__, MPI_X. */
#define SPELLINGS_(name, NAME) \
    ALIAS_(FORTRAN_(name), TEXT_(name##_)); \
    ALIAS_(FORTRAN_(name##__), TEXT_(name##_)); \
    ALIAS_(CAPITALS_(NAME), TEXT_(name##_))
/* Another name of a procedure, with all its spellings. */
#define SPELLINGS_AS(name, NAME, of) \
    ALIAS_(FORTRAN_(name), TEXT_(of##_)); \
    ALIAS_(FORTRAN_(name##_), TEXT_(of##_)); \
    ALIAS_(FORTRAN_(name##__), TEXT_(of##_)); \
    ALIAS_(CAPITALS_(NAME), TEXT_(of##_))
#define RETURNS(type, name, NAME) SPELLINGS_(name, NAME); type FORTRAN_(name##_)
#define ENTRY(name, NAME) RETURNS(void, name, NAME)

/* The same procedure in module mpi_f08, under the standard's linker name (MPI-5.0 §19.1.5) and, for PMPI, MPICH's too. */
#if defined(PROFILING)
#define F08(name) ALIAS_(FORTRAN_(name##_f08_), TEXT_(name##_)); ALIAS_(MPICH_(name##_f08_), TEXT_(name##_))
#else
#define F08(name) ALIAS_(FORTRAN_(name##_f08_), TEXT_(name##_))
#endif
/* A form that only module mpi_f08 has; for large counts (`name` ends in _c) also as MPICH 4.0 calls it. */
#if defined(PROFILING)
#define ENTRY_F08(name) ALIAS_(MPICH_(name##_f08_), TEXT_(name##_f08_)); void FORTRAN_(name##_f08_)
#define ENTRY_LARGE(name, small) ALIAS_(FORTRAN_(small##_f08_large_), TEXT_(name##_f08_)); \
    ALIAS_(MPICH_(small##_f08_large_), TEXT_(name##_f08_)); ENTRY_F08(name)
#else
#define ENTRY_F08(name) void FORTRAN_(name##_f08_)
#define ENTRY_LARGE(name, small) ALIAS_(FORTRAN_(small##_f08_large_), TEXT_(name##_f08_)); ENTRY_F08(name)
#endif

/* Choice buffers of module mpi_f08 are addresses where its compiler is told to check neither type nor rank, as Open MPI's modules do. */
#if defined(OPENMPI_ABI)
#define F08_ADDRESSES(name) F08(name)
#else
#define F08_ADDRESSES(name)
#endif

/* Libraries of these ABIs have what was removed from the standard. */
#if defined(MPICH_ABI) || defined(OPENMPI_ABI)
#define HAS_REMOVED
#endif

typedef MPI_Aint ADDRESS;
typedef int FINT;

/* The arguments that programs recognise by their address: variables of mpif.h and module mpi (common blocks), and of module mpi_f08. */
#if defined(OPENMPI_ABI)
/* Of all of them; libmpi.so.40 has them too, for programs without. */
extern FINT mpi_fortran_bottom_, mpi_fortran_in_place_, mpi_fortran_errcodes_ignore_, mpi_fortran_unweighted_, mpi_fortran_weights_empty_;
extern FINT mpi_fortran_status_ignore_[], mpi_fortran_statuses_ignore_[];
extern char mpi_fortran_argv_null_, mpi_fortran_argvs_null_;
#define IS_BOTTOM(address) ((address) == &mpi_fortran_bottom_)
#define IS_IN_PLACE(address) ((address) == &mpi_fortran_in_place_)
#define IS_AUTOMATIC(address) 0
#define IS_STATUS_IGNORE(address) ((address) == mpi_fortran_status_ignore_)
#define IS_STATUSES_IGNORE(address) ((address) == mpi_fortran_statuses_ignore_)
#define IS_UNWEIGHTED(address) ((address) == &mpi_fortran_unweighted_)
#define IS_WEIGHTS_EMPTY(address) ((address) == &mpi_fortran_weights_empty_)
#define IS_ERRCODES_IGNORE(address) ((address) == &mpi_fortran_errcodes_ignore_)
#define IS_ARGV_NULL(address) ((address) == &mpi_fortran_argv_null_)
#define IS_ARGVS_NULL(address) ((address) == &mpi_fortran_argvs_null_)
#else
struct mpipriv1 { FINT bottom, in_place, status_ignore[sizeof(MPI_Status) / sizeof(FINT)]; };
struct mpipriv2 { FINT statuses_ignore[sizeof(MPI_Status) / sizeof(FINT)], errcodes_ignore; };
struct mpiprivc { char argvs_null, argv_null; };
extern struct mpipriv1 mpipriv1_;
extern struct mpipriv2 mpipriv2_;
extern struct mpiprivc mpiprivc_;
extern FINT mpifcmb5_, mpifcmb9_, mpi_abi_buffer_automatic_;
extern FINT MPIR_F08_MPI_BOTTOM, MPIR_F08_MPI_IN_PLACE, MPIR_F08_MPI_BUFFER_AUTOMATIC, MPIR_F08_MPI_ERRCODES_IGNORE;
extern FINT MPIR_F08_MPI_UNWEIGHTED, MPIR_F08_MPI_WEIGHTS_EMPTY;
extern char MPIR_F08_MPI_ARGV_NULL, MPIR_F08_MPI_ARGVS_NULL;
extern MPI_Status MPIR_F08_MPI_STATUS_IGNORE_OBJ, MPIR_F08_MPI_STATUSES_IGNORE_OBJ;
#if defined(MPICH_ABI)
/* The same in the modules that MPICH compiles with gfortran. */
extern FINT __mpi_f08_link_constants_MOD_mpi_errcodes_ignore, __mpi_f08_link_constants_MOD_mpi_unweighted,
    __mpi_f08_link_constants_MOD_mpi_weights_empty;
extern char __mpi_f08_link_constants_MOD_mpi_argv_null, __mpi_f08_link_constants_MOD_mpi_argvs_null;
#define OF_MODULE_(address, name) || (address) == &__mpi_f08_link_constants_MOD_mpi_##name
#else
#define OF_MODULE_(address, name)
#endif
#define IS_BOTTOM(address) ((address) == &mpipriv1_.bottom || (address) == &MPIR_F08_MPI_BOTTOM)
#define IS_IN_PLACE(address) ((address) == &mpipriv1_.in_place || (address) == &MPIR_F08_MPI_IN_PLACE)
#define IS_AUTOMATIC(address) ((address) == &mpi_abi_buffer_automatic_ || (address) == &MPIR_F08_MPI_BUFFER_AUTOMATIC)
#define IS_STATUS_IGNORE(address) \
    ((address) == mpipriv1_.status_ignore || (MPI_Status *)(address) == &MPIR_F08_MPI_STATUS_IGNORE_OBJ)
#define IS_STATUSES_IGNORE(address) \
    ((address) == mpipriv2_.statuses_ignore || (MPI_Status *)(address) == &MPIR_F08_MPI_STATUSES_IGNORE_OBJ)
#define IS_UNWEIGHTED(address) ((address) == &mpifcmb5_ || (address) == &MPIR_F08_MPI_UNWEIGHTED OF_MODULE_(address, unweighted))
#define IS_WEIGHTS_EMPTY(address) \
    ((address) == &mpifcmb9_ || (address) == &MPIR_F08_MPI_WEIGHTS_EMPTY OF_MODULE_(address, weights_empty))
#define IS_ERRCODES_IGNORE(address) \
    ((address) == &mpipriv2_.errcodes_ignore || (address) == &MPIR_F08_MPI_ERRCODES_IGNORE OF_MODULE_(address, errcodes_ignore))
#define IS_ARGV_NULL(address) ((address) == &mpiprivc_.argv_null || (address) == &MPIR_F08_MPI_ARGV_NULL OF_MODULE_(address, argv_null))
#define IS_ARGVS_NULL(address) \
    ((address) == &mpiprivc_.argvs_null || (address) == &MPIR_F08_MPI_ARGVS_NULL OF_MODULE_(address, argvs_null))
#endif

/* A choice buffer. */
static inline void *choice_in(const void *address) {
    if (IS_BOTTOM(address)) return MPI_BOTTOM;
    if (IS_IN_PLACE(address)) return MPI_IN_PLACE;
    return (void *)address;
}

/* The buffer that is attached for buffered sends. */
static inline void *attached_in(const void *address) {
    return IS_AUTOMATIC(address) ? MPI_BUFFER_AUTOMATIC : choice_in(address);
}

/* Statuses are the same integers in both languages. */
static inline MPI_Status *status_out(FINT *address) {
    return IS_STATUS_IGNORE(address) ? MPI_STATUS_IGNORE : (MPI_Status *)address;
}
static inline MPI_Status *statuses_out(FINT *address) {
    return IS_STATUSES_IGNORE(address) ? MPI_STATUSES_IGNORE : (MPI_Status *)address;
}

static inline int *weights_in(FINT *address) {
    if (IS_UNWEIGHTED(address)) return MPI_UNWEIGHTED;
    if (IS_WEIGHTS_EMPTY(address)) return MPI_WEIGHTS_EMPTY;
    return address;
}

static inline int is_errcodes_ignore(FINT *address) { return IS_ERRCODES_IGNORE(address); }

/* Handles. Predefined ones have the same value in both languages, but in Open MPI's ABI; others are converted by MPI. */
#if defined(MPICH_ABI)
#define HANDLE_(Type, Function, name) \
    static inline Type name##_in(FINT handle) { return handle; } \
    static inline FINT name##_out(Type handle) { return handle; }
#elif defined(OPENMPI_ABI)
#define HANDLE_(Type, Function, name) \
    static inline Type name##_in(FINT handle) { return P##Function##_f2c(handle); } \
    static inline FINT name##_out(Type handle) { return P##Function##_c2f(handle); }
#else
#define HANDLE_(Type, Function, name) \
    static inline Type name##_in(FINT handle) { \
        return (unsigned)handle < 0x400 ? (Type)(intptr_t)handle : P##Function##_fromint(handle); \
    } \
    static inline FINT name##_out(Type handle) { \
        return (uintptr_t)handle < 0x400 ? (FINT)(intptr_t)handle : P##Function##_toint(handle); \
    }
#endif
HANDLE_(MPI_Comm, MPI_Comm, comm)
HANDLE_(MPI_Datatype, MPI_Type, datatype)
HANDLE_(MPI_Errhandler, MPI_Errhandler, errhandler)
HANDLE_(MPI_Group, MPI_Group, group)
HANDLE_(MPI_Info, MPI_Info, info)
HANDLE_(MPI_Message, MPI_Message, message)
HANDLE_(MPI_Op, MPI_Op, op)
HANDLE_(MPI_Request, MPI_Request, request)
HANDLE_(MPI_Session, MPI_Session, session)
HANDLE_(MPI_Win, MPI_Win, win)
#if defined(MPICH_ABI)
static inline MPI_File file_in(FINT handle) { return PMPI_File_f2c(handle); }
static inline FINT file_out(MPI_File handle) { return PMPI_File_c2f(handle); }
#else
HANDLE_(MPI_File, MPI_File, file)
#endif

#define shared __attribute__((visibility("hidden")))

/* Copies of arrays of handles. Those of an operation that goes on after its call are kept until its request is complete or freed. */
shared MPI_Datatype *datatypes_in(const FINT *of, MPI_Count count);
shared void datatypes_done(MPI_Datatype *datatypes);
shared void datatypes_keep(MPI_Datatype *datatypes, MPI_Request request, int code);
/* The copies of a request, taken before a call that may end it, since its handle may mean another one at once; and put back, or freed. */
typedef struct kept KEPT;
shared extern int kept_number;
shared KEPT *kept_take_all(FINT request);
shared void kept_settle_all(KEPT *kept, FINT request);
static inline KEPT *kept_take(FINT request) {
    return __builtin_expect(__atomic_load_n(&kept_number, __ATOMIC_RELAXED), 0) ? kept_take_all(request) : NULL;
}
static inline void kept_settle(KEPT *kept, FINT request) {
    if (__builtin_expect(kept != NULL, 0)) kept_settle_all(kept, request);
}

/* Arrays of handles: a place on the stack for a few, memory for many. */
enum { FEW = 16 };
typedef struct { MPI_Request few[FEW], *all; KEPT **kept; FINT *of; int count; } REQUESTS;
static inline MPI_Request *requests_in(REQUESTS *requests, FINT *of, int count) {
    int i;
    requests->of = of;
    requests->count = count < 0 ? 0 : count;
    requests->all = requests->few;
    if (count > FEW) requests->all = malloc(sizeof(MPI_Request) * (size_t)count);
    if (!requests->all) abort();
    for (i = 0; i < requests->count; i++) requests->all[i] = request_in(of[i]);
    requests->kept = NULL;
    if (__builtin_expect(__atomic_load_n(&kept_number, __ATOMIC_RELAXED), 0)) {
        requests->kept = malloc(sizeof(KEPT *) * ((size_t)requests->count + 1));
        if (!requests->kept) abort();
        for (i = 0; i < requests->count; i++) requests->kept[i] = kept_take_all(of[i]);
    }
    return requests->all;
}
static inline void requests_out(REQUESTS *requests, int changed) {
    int i;
    if (changed)
        for (i = 0; i < requests->count; i++) requests->of[i] = request_out(requests->all[i]);
    if (__builtin_expect(requests->kept != NULL, 0)) {
        for (i = 0; i < requests->count; i++) kept_settle(requests->kept[i], requests->of[i]);
        free(requests->kept);
    }
    if (requests->all != requests->few) free(requests->all);
}

/* An array that MPI fills, and what it was filled with. */
shared MPI_Datatype *datatypes_room(MPI_Count count);
shared void datatypes_out(MPI_Datatype *datatypes, FINT *of, MPI_Count count, int filled);
/* What were INTEGERs before MPI-2, in memory to be freed. */
shared ADDRESS *addresses_in(const FINT *of, int count);
/* Did a call that completes several operations fill its arrays? */
shared int has_completed(int code);
/* With how many processes a communicator's members exchange: in a collective call; with their neighbours. */
shared int peers(MPI_Comm comm);
shared int sources(MPI_Comm comm);
shared int destinations(MPI_Comm comm);
/* Is the process the root of a collective call? */
shared int is_root(FINT root, MPI_Comm comm);

/* Strings: without Fortran's blanks and with C's zero, in memory to be freed; and back. */
shared char *string_in(const char *text, size_t length);
shared char *trimmed_in(const char *text, size_t length);
shared void string_out(const char *string, char *text, size_t length);
shared char *room(size_t length);

/* What Fortran sees of an attribute: of predefined ones the value, of which C sees the address. */
shared ADDRESS attribute_out(int keyval, void *value);
#if defined(MPICH_ABI)
shared int keyval_in(FINT keyval);
#else
static inline int keyval_in(FINT keyval) { return keyval; }
#endif

/* Before MPI is initialised: what Fortran's integers, reals and logicals are. */
shared void announce(void);
/* Is it MPI_CONVERSION_FN_NULL or its large form, by any of their names? */
shared int is_null_conversion(const void *function);

#endif
