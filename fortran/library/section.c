/* Sections of arrays with gaps between their elements: a datatype describes them, so that they are sent and received in place. */
#include "section.h"

#include <pthread.h>
#include <stdio.h>

/* Without dimensions of one element, and with as few dimensions as describe the same places. */
static STRIDED simplified(const STRIDED *section) {
    STRIDED simple = {.base = section->base, .element = section->element, .rank = 0};
    int i;
    for (i = 0; i < section->rank; i++) {
        ptrdiff_t extent = section->dimension[i].extent, stride = section->dimension[i].stride;
        int last = simple.rank - 1;
        if (extent == 1) continue;
        if (last >= 0 && stride == simple.dimension[last].stride * simple.dimension[last].extent && extent > 0) {
            simple.dimension[last].extent *= extent;
        } else {
            simple.dimension[simple.rank].extent = extent;
            simple.dimension[simple.rank].stride = stride;
            simple.rank++;
        }
    }
    return simple;
}

static MPI_Count elements(const STRIDED *section, int dimensions) {
    MPI_Count count = 1;
    int i;
    for (i = 0; i < dimensions; i++) count *= section->dimension[i].extent;
    return count;
}

/* The size of a datatype whose elements follow each other without gaps, or 0. */
static MPI_Count dense_size(MPI_Datatype datatype) {
    MPI_Count size, lb, extent, true_lb, true_extent;
    if (PMPI_Type_size_c(datatype, &size) != MPI_SUCCESS) return 0;
    if (PMPI_Type_get_extent_c(datatype, &lb, &extent) != MPI_SUCCESS) return 0;
    if (PMPI_Type_get_true_extent_c(datatype, &true_lb, &true_extent) != MPI_SUCCESS) return 0;
    return lb == 0 && true_lb == 0 && extent == size && true_extent == size ? size : 0;
}

/* Is it MPI's own, so that it is not freed? */
static int is_predefined(MPI_Datatype datatype) {
    MPI_Count integers, addresses, large, datatypes;
    int combiner;
    if (PMPI_Type_get_envelope_c(datatype, &integers, &addresses, &large, &datatypes, &combiner) != MPI_SUCCESS) return 1;
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_VALUE_INDEX;
}

/* Of how many items, of which one or several make an element of the array, a datatype consists: without gaps and in order; 0 if it does not. The item's
 * datatype is to be freed. */
static MPI_Count items_of(MPI_Datatype datatype, MPI_Count element, MPI_Datatype *item) {
    MPI_Count size = dense_size(datatype), integers, addresses, large, datatypes, items, counts[3] = {1, 1, 1};
    MPI_Datatype inner;
    int combiner, small[3], i;
    if (size == 0) return 0;
    if (element % size == 0) return PMPI_Type_dup(datatype, item) == MPI_SUCCESS;
    if (PMPI_Type_get_envelope_c(datatype, &integers, &addresses, &large, &datatypes, &combiner) != MPI_SUCCESS) return 0;
    /* The blocks of a vector that has no gaps follow each other. */
    if (combiner != MPI_COMBINER_DUP && combiner != MPI_COMBINER_CONTIGUOUS && combiner != MPI_COMBINER_VECTOR) return 0;
    if (PMPI_Type_get_contents_c(datatype, integers, addresses, large, datatypes, small, NULL, counts, &inner) != MPI_SUCCESS) return 0;
    for (i = 0; i < integers; i++) counts[i] = small[i];
    items = items_of(inner, element, item);
    if (combiner == MPI_COMBINER_CONTIGUOUS) items *= counts[0];
    if (combiner == MPI_COMBINER_VECTOR) items *= counts[0] * counts[1];
    if (!is_predefined(inner)) PMPI_Type_free(&inner);
    return items;
}

/* The first `count` elements of the innermost `dimensions`, as a datatype to be freed. */
static MPI_Datatype first_elements(const STRIDED *section, int dimensions, MPI_Count count, MPI_Datatype unit) {
    MPI_Datatype rows, inner, both[2];
    MPI_Count row, full, left, places[2] = {0, 0}, lengths[2] = {1, 1};
    if (dimensions == 0) {
        PMPI_Type_dup(unit, &rows);
        return rows;
    }
    row = elements(section, dimensions - 1);
    full = count / row;
    left = count % row;
    inner = first_elements(section, dimensions - 1, row, unit);
    PMPI_Type_create_hvector_c(full, 1, section->dimension[dimensions - 1].stride, inner, &rows);
    PMPI_Type_free(&inner);
    if (left == 0) return rows;
    both[0] = rows;
    both[1] = first_elements(section, dimensions - 1, left, unit);
    places[1] = full * section->dimension[dimensions - 1].stride;
    PMPI_Type_create_struct_c(2, lengths, places, both, &rows);
    PMPI_Type_free(&both[0]);
    PMPI_Type_free(&both[1]);
    return rows;
}

/* A buffer that C refuses with an error of the datatype: of no elements it would take any. */
static SECTION refused(const STRIDED *section) {
    return (SECTION){.address = section->base, .count = 1, .datatype = MPI_DATATYPE_NULL, .refused = 1};
}

/* A section as one element of a datatype that is made for it. */
static SECTION described(const STRIDED *section, MPI_Count count, MPI_Datatype datatype) {
    STRIDED places = *section;
    SECTION made = {.address = section->base, .count = 1, .is_made = 1};
    MPI_Datatype unit = datatype;
    MPI_Count size, items;
    int i;
    /* The null datatype is C's to refuse, or not to look at. */
    if (count <= 0 || datatype == MPI_DATATYPE_NULL)
        return (SECTION){.address = section->base, .count = count, .datatype = datatype};
    size = dense_size(datatype);
    if (size == 0) {
        SECTION wrong = refused(section);
        wrong.count = count;
        /* A datatype that is wrong by itself is C's to refuse. */
        if (PMPI_Type_size_c(datatype, &size) != MPI_SUCCESS || size == 0) wrong.datatype = datatype;
        else fprintf(stderr, "isthmus: an array section that is not contiguous takes datatypes without gaps only: copy the section\n");
        return wrong;
    }
    if (size > (MPI_Count)places.element && size % (MPI_Count)places.element == 0) {
        items = items_of(datatype, (MPI_Count)places.element, &unit);
        if (items == 0) {
            fprintf(stderr, "isthmus: an array section that is not contiguous has elements of %zu bytes, the datatype %lld, and it is not made of "
                    "elements in their order: copy the section\n", places.element, (long long)size);
            return refused(section);
        }
        count *= items;
        size /= items;
    }
    if (size < (MPI_Count)places.element && (MPI_Count)places.element % size == 0) {
        /* Several items of the datatype make an element. */
        if (places.rank == MOST_DIMENSIONS) {
            if (unit != datatype) PMPI_Type_free(&unit);
            return refused(section);
        }
        for (i = places.rank; i > 0; i--) places.dimension[i] = places.dimension[i - 1];
        places.dimension[0].extent = (ptrdiff_t)((MPI_Count)places.element / size);
        places.dimension[0].stride = (ptrdiff_t)size;
        places.rank++;
    } else if (size != (MPI_Count)places.element) {
        fprintf(stderr, "isthmus: an array section that is not contiguous has elements of %zu bytes, the datatype %lld: copy the section\n",
                places.element, (long long)size);
        return refused(section);
    }
    places = simplified(&places);
    made.datatype = first_elements(&places, places.rank, count, unit);
    PMPI_Type_commit(&made.datatype);
    if (unit != datatype) PMPI_Type_free(&unit);
    return made;
}

/* Datatypes that were made of predefined ones for the last few shapes of sections. The thread that makes the first one has them alone. A program frees no
 * predefined datatype, so its handle always means the same. In MPI_Finalize an attribute of MPI_COMM_SELF frees the remaining ones. */
enum { REMEMBERED = 8 };
static struct remembered { STRIDED section; MPI_Count count; MPI_Datatype of, made; } remembered[REMEMBERED];
static int remembered_number, remembered_next, remembered_state;
static pthread_t remembered_by;

static int is_own(MPI_Datatype datatype) {
#if defined(MPICH_ABI)
    return ((unsigned)datatype & 0xc0000000) == 0x40000000;
#else
    return (uintptr_t)datatype < 0x400;
#endif
}

static int forget(MPI_Comm comm, int key, void *value, void *extra) {
    int i;
    (void)comm, (void)key, (void)value, (void)extra;
    for (i = 0; i < remembered_number; i++) PMPI_Type_free(&remembered[i].made);
    remembered_number = 0;
    __atomic_store_n(&remembered_state, 3, __ATOMIC_RELEASE);
    return MPI_SUCCESS;
}

/* May this thread use them? States: 0 no thread does, 1 being claimed, 2 claimed, 3 never again. */
static int remembers(void) {
    int state = __atomic_load_n(&remembered_state, __ATOMIC_ACQUIRE), key, is_initialized = 0, expected = 0;
    if (state == 2) return pthread_equal(remembered_by, pthread_self());
    if (state != 0) return 0;
    /* Without MPI_Init there is no MPI_COMM_SELF. */
    if (PMPI_Initialized(&is_initialized) != MPI_SUCCESS || !is_initialized) return 0;
    if (!__atomic_compare_exchange_n(&remembered_state, &expected, 1, 0, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)) return 0;
    if (PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &key, NULL) != MPI_SUCCESS) return 0;
    if (PMPI_Comm_set_attr(MPI_COMM_SELF, key, NULL) != MPI_SUCCESS) return 0;
    PMPI_Comm_free_keyval(&key);
    remembered_by = pthread_self();
    __atomic_store_n(&remembered_state, 2, __ATOMIC_RELEASE);
    return 1;
}

static int same_shape(const STRIDED *one, const STRIDED *other) {
    return one->rank == other->rank && one->element == other->element &&
           memcmp(one->dimension, other->dimension, sizeof(one->dimension[0]) * (size_t)one->rank) == 0;
}

SECTION section_block(const STRIDED *section, MPI_Count count, MPI_Datatype datatype) {
    struct remembered *slot;
    SECTION made;
    int i;
    if (count <= 0 || !is_own(datatype) || datatype == MPI_DATATYPE_NULL || !remembers()) return described(section, count, datatype);
    for (i = 0; i < remembered_number; i++) {
        slot = &remembered[i];
        if (slot->of == datatype && slot->count == count && same_shape(&slot->section, section))
            return (SECTION){.address = section->base, .count = 1, .datatype = slot->made};
    }
    made = described(section, count, datatype);
    if (!made.is_made) return made;
    slot = &remembered[remembered_next];
    remembered_next = (remembered_next + 1) % REMEMBERED;
    if (remembered_number < REMEMBERED) remembered_number++;
    else PMPI_Type_free(&slot->made);
    *slot = (struct remembered){.section = *section, .count = count, .of = datatype, .made = made.datatype};
    made.is_made = 0;
    return made;
}

/* Copy between a section and contiguous memory. */
static void copy(const STRIDED *section, char *contiguous, int to_section) {
    ptrdiff_t at[MOST_DIMENSIONS] = {0};
    char *place = section->base;
    MPI_Count left = elements(section, section->rank);
    while (left-- > 0) {
        int i;
        if (to_section) memcpy(place, contiguous, section->element);
        else memcpy(contiguous, place, section->element);
        contiguous += section->element;
        for (i = 0; i < section->rank; i++) {
            place += section->dimension[i].stride;
            if (++at[i] < section->dimension[i].extent) break;
            place -= section->dimension[i].stride * section->dimension[i].extent;
            at[i] = 0;
        }
    }
}

SECTION section_whole(const STRIDED *section, int waits, int writes) {
    SECTION copied = {.datatype = MPI_BYTE, .writes = writes};
    if (!waits) return refused(section);
    copied.copy = malloc(section->element * (size_t)elements(section, section->rank));
    copied.of = malloc(sizeof *section);
    if (!copied.copy || !copied.of) abort();
    *copied.of = *section;
    copy(section, copied.copy, 0);
    copied.address = copied.copy;
    return copied;
}

SECTION section_many(const STRIDED *section, MPI_Datatype datatype, int waits, int writes) {
    STRIDED places = simplified(section);
    /* The null datatype is C's to refuse, or not to look at. */
    if (datatype == MPI_DATATYPE_NULL) return (SECTION){.address = section->base, .datatype = datatype};
    if (places.rank == 1 && places.dimension[0].stride > 0 && dense_size(datatype) == (MPI_Count)places.element) {
        SECTION made = {.address = section->base, .is_made = 1};
        PMPI_Type_create_resized(datatype, 0, places.dimension[0].stride, &made.datatype);
        PMPI_Type_commit(&made.datatype);
        return made;
    }
    SECTION copied = section_whole(section, waits, writes);
    if (!copied.refused) copied.datatype = datatype;
    return copied;
}

void section_done(SECTION *section) {
    if (section->is_made) PMPI_Type_free(&section->datatype);
    if (section->copy) {
        if (section->writes) copy(section->of, section->copy, 1);
        free(section->copy);
        free(section->of);
    }
}

static void say(const char *procedure) {
    fprintf(stderr, "isthmus: %s takes no array section of several strides, nor one whose elements it computes with or uses as bytes: copy the section, or "
            "call the blocking procedure if there is one\n", procedure);
}

int refuse(const char *procedure, MPI_Comm comm) {
    say(procedure);
    PMPI_Comm_call_errhandler(comm, MPI_ERR_BUFFER);
    return MPI_ERR_BUFFER;
}

int refuse_of_win(const char *procedure, MPI_Win win) {
    say(procedure);
    PMPI_Win_call_errhandler(win, MPI_ERR_BUFFER);
    return MPI_ERR_BUFFER;
}

int refuse_of_session(const char *procedure, MPI_Session session) {
    say(procedure);
    PMPI_Session_call_errhandler(session, MPI_ERR_BUFFER);
    return MPI_ERR_BUFFER;
}
