// ranks: 1 2
/* The tool interface: list, read and set, before and after initialization. */
#include "check.h"

static int find(const char *wanted) {
    int count, index;
    OK(MPI_T_cvar_get_num(&count));
    CHECK(count > 0, "%d", count);
    for (int i = 0; i < count; i++) {
        char name[64], description[256];
        int name_length = sizeof name, description_length = sizeof description, verbosity, bind, scope;
        MPI_Datatype datatype;
        MPI_T_enum values;
        OK(MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &datatype, &values, description, &description_length, &bind, &scope));
        CHECK(name_length == (int)strlen(name) + 1 && strlen(description) > 5, "%s: %s", name, description);
        CHECK((datatype == MPI_UNSIGNED_LONG_LONG || datatype == MPI_CHAR) && values == MPI_T_ENUM_NULL, "%s", name);
        CHECK(bind == MPI_T_BIND_NO_OBJECT && scope == MPI_T_SCOPE_LOCAL && verbosity == MPI_T_VERBOSITY_TUNER_BASIC, "%s", name);
        OK(MPI_T_cvar_get_index(name, &index));
        CHECK(index == i, "%d", index);
    }
    OK(MPI_T_cvar_get_index(wanted, &index));
    return index;
}

/* What a registration was told. */
struct log {
    MPI_T_event_registration registration;
    int told, freed, level;
    unsigned long long added, total, dropped;
    MPI_Count last;
};

static void note(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data) {
    struct log *log = data;
    unsigned long long both[2] = {0, 0}, added, ignored;
    MPI_Count when;
    int source = -1, flag;
    CHECK(registration == log->registration, "another's event");
    OK(MPI_T_event_copy(instance, both));
    OK(MPI_T_event_read(instance, 0, &added));
    CHECK(added == both[0] && added > 0 && both[1] > log->total, "%llu %llu", added, both[1]);
    CHECK(MPI_T_event_read(instance, 2, &ignored) == MPI_T_ERR_INVALID_INDEX, "two elements");
    OK(MPI_T_event_get_source(instance, &source));
    OK(MPI_T_event_get_timestamp(instance, &when));
    CHECK(source == 0 && when >= log->last && when > 0, "%d", source);
    log->told++;
    log->level = safety;
    log->added += added;
    log->total = both[1];
    log->last = when;
    /* Any call may be made. */
    OK(MPI_Iprobe(MPI_ANY_SOURCE, 77, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE));
}

static void note_other(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data) {
    note(instance, registration, safety, data);
}

static void note_dropped(MPI_Count count, MPI_T_event_registration registration, int source, MPI_T_cb_safety safety, void *data) {
    struct log *log = data;
    CHECK(registration == log->registration && source == 0 && (int)safety == log->level && count > 0, "%d", source);
    log->dropped += (unsigned long long)count;
}

static void note_freed(MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data) {
    struct log *log = data;
    CHECK(registration == log->registration && safety == MPI_T_CB_REQUIRE_NONE, "%d", safety);
    log->freed++;
}

static void free_itself(MPI_T_event_instance instance, MPI_T_event_registration registration, MPI_T_cb_safety safety, void *data) {
    struct log *log = data;
    MPI_Count when;
    (void)safety;
    log->told++;
    OK(MPI_T_event_handle_free(registration, log, note_freed));
    CHECK(log->freed == 0, "its callback still runs");
    OK(MPI_T_event_get_timestamp(instance, &when));
}

/* Messages from rank 0 to 1, or to itself. */
static void exchange(int messages) {
    static MPI_Request requests[4000];
    static char in[4000], out[4000];
    int count = 0;
    for (int i = 0; i < messages; i++) {
        if (rank == size - 1) OK(MPI_Recv_init(&in[i], 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD, &requests[count++]));
        if (rank == 0) OK(MPI_Send_init(&out[i], 1, MPI_CHAR, size - 1, 1, MPI_COMM_WORLD, &requests[count++]));
    }
    OK(MPI_Startall(count, requests));
    OK(MPI_Waitall(count, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < count; i++) OK(MPI_Request_free(&requests[i]));
    OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void events(void) {
    int count, index, sources, length, elements = 1, bind, variables;
    char name[32], description[256];
    MPI_Datatype types[2] = {MPI_DATATYPE_NULL, MPI_DATATYPE_NULL};
    MPI_Aint places[2] = {-1, -1};
    MPI_Info info;
    OK(MPI_T_event_get_num(&count));
    OK(MPI_T_pvar_get_num(&variables));
    CHECK(count == variables && MPI_T_event_get_index("any", &index) == MPI_T_ERR_INVALID_NAME, "%d", count);
    for (int i = 0; i < count; i++) {
        int description_length = sizeof description;
        length = sizeof name;
        OK(MPI_T_event_get_info(i, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, description, &description_length, &bind));
        OK(MPI_T_event_get_index(name, &index));
        CHECK(index == i && bind == MPI_T_BIND_NO_OBJECT && strlen(description) > 20, "%s: %s", name, description);
    }
    OK(MPI_T_category_get_num_events(0, &index));
    CHECK(index == count, "%d", index);
    int indices[2] = {-1, -1};
    OK(MPI_T_category_get_events(0, 1, indices));
    CHECK(indices[0] == 0 && indices[1] == -1, "%d", indices[1]);

    OK(MPI_T_event_get_index("eager_sent", &index));
    OK(MPI_T_event_get_info(index, NULL, NULL, NULL, types, places, &elements, NULL, &info, NULL, NULL, NULL));
    CHECK(elements == 2 && types[0] == MPI_UNSIGNED_LONG_LONG && places[0] == 0 && places[1] == -1, "%d", elements);
    OK(MPI_Info_free(&info));
    CHECK(MPI_T_event_get_info(count, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL) == MPI_T_ERR_INVALID_INDEX, "no such");

    MPI_Count now, later, ticks, most;
    MPI_T_source_order order;
    OK(MPI_T_source_get_num(&sources));
    length = sizeof name;
    OK(MPI_T_source_get_info(0, name, &length, NULL, NULL, &order, &ticks, &most, NULL));
    CHECK(sources == 1 && order == MPI_T_SOURCE_ORDERED && ticks > 1000 && most > ticks, "%d", sources);
    OK(MPI_T_source_get_timestamp(0, &now));
    CHECK(MPI_T_source_get_timestamp(1, &later) == MPI_T_ERR_INVALID_INDEX, "one source");

    static struct log first, second, fleeting;
    MPI_T_event_registration nobody = NULL;
    first.last = now;
    OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &first.registration));
    OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &second.registration));
    CHECK(MPI_T_event_handle_alloc(count, NULL, MPI_INFO_NULL, &nobody) == MPI_T_ERR_INVALID_INDEX, "no such");
    CHECK(MPI_T_event_register_callback(nobody, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, NULL, note) == MPI_T_ERR_INVALID_HANDLE, "none");
    /* Of several callbacks, the one that promises least is called: nothing is asked of it. */
    OK(MPI_T_event_register_callback(first.registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, NULL, note_other));
    OK(MPI_T_event_register_callback(first.registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, &first, note));
    OK(MPI_T_event_callback_get_info(first.registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, &info));
    OK(MPI_Info_free(&info));
    CHECK(MPI_T_event_callback_get_info(first.registration, MPI_T_CB_REQUIRE_NONE, &info) == MPI_T_ERR_INVALID_HANDLE, "none there");
    OK(MPI_T_event_handle_get_info(first.registration, &info));
    OK(MPI_T_event_handle_set_info(first.registration, info));
    OK(MPI_Info_free(&info));
    OK(MPI_T_event_set_dropped_handler(first.registration, note_dropped));
    exchange(5);
    int sends = rank == 0 && size > 1;
    if (sends) CHECK(first.told >= 5 && first.added >= 5, "%d", first.told);
    CHECK(second.told == 0 && (first.told == 0 || first.level == MPI_T_CB_REQUIRE_MPI_RESTRICTED), "%d", first.level);
    /* More in one call than anybody remembers: either way nothing is lost without a word. */
    first.told = 0;
    first.added = 0;
    exchange(4000 / (size == 1 ? 2 : 1));
    if (sends) CHECK(first.dropped > 0 && first.added + first.dropped >= 4000, "%llu and %llu dropped", first.added, first.dropped);
    /* Nobody is called any more. */
    int told = first.told;
    OK(MPI_T_event_register_callback(first.registration, MPI_T_CB_REQUIRE_MPI_RESTRICTED, MPI_INFO_NULL, NULL, NULL));
    OK(MPI_T_event_register_callback(first.registration, MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE, MPI_INFO_NULL, NULL, NULL));
    exchange(5);
    CHECK(first.told == told, "%d", first.told - told);
    OK(MPI_T_event_handle_free(first.registration, &first, note_freed));
    OK(MPI_T_event_handle_free(second.registration, NULL, NULL));
    CHECK(first.freed == 1 && MPI_T_event_handle_free(first.registration, NULL, NULL) == MPI_T_ERR_INVALID_HANDLE, "twice");
    OK(MPI_T_event_handle_alloc(index, NULL, MPI_INFO_NULL, &fleeting.registration));
    OK(MPI_T_event_register_callback(fleeting.registration, MPI_T_CB_REQUIRE_NONE, MPI_INFO_NULL, &fleeting, free_itself));
    exchange(5);
    if (sends) CHECK(fleeting.told == 1 && fleeting.freed == 1, "%d %d", fleeting.told, fleeting.freed);
}

int main(int argc, char **argv) {
    int provided, count, index, length;
    unsigned long long value;
    CHECK(MPI_T_cvar_get_num(&count) == MPI_T_ERR_NOT_INITIALIZED, "%d", count);
    OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
    MPI_T_cvar_handle limit;
    OK(MPI_T_cvar_handle_alloc(find("eager_limit"), NULL, &limit, &count));
    CHECK(count == 1, "%d", count);
    OK(MPI_T_cvar_read(limit, &value));
    value = 1000;
    OK(MPI_T_cvar_write(limit, &value));
    /* Some are texts. */
    MPI_T_cvar_handle kinds;
    char text[5000] = "";
    OK(MPI_T_cvar_handle_alloc(find("memory_alloc_kinds"), NULL, &kinds, &count));
    CHECK(count > 100 && count <= (int)sizeof text, "%d", count);
    OK(MPI_T_cvar_read(kinds, text));
    CHECK(strcmp(text, "") == 0, "%s", text);
    OK(MPI_T_cvar_write(kinds, "system,mpi:alloc_mem"));

    begin(&argc, &argv);
    OK(MPI_T_cvar_read(kinds, text));
    CHECK(strcmp(text, "system,mpi:alloc_mem") == 0, "%s", text);
    CHECK(MPI_T_cvar_write(kinds, "mpi") == MPI_T_ERR_CVAR_SET_NOT_NOW, "set");
    OK(MPI_T_cvar_handle_free(&kinds));
    value = 0;
    OK(MPI_T_cvar_read(limit, &value));
    CHECK(value == 1000, "%llu", value);
    CHECK(MPI_T_cvar_write(limit, &value) == MPI_T_ERR_CVAR_SET_NOT_NOW, "in use");
    OK(MPI_T_cvar_handle_free(&limit));
    CHECK(limit == MPI_T_CVAR_HANDLE_NULL, "freed");
    CHECK(MPI_T_cvar_read(limit, &value) == MPI_T_ERR_INVALID_HANDLE, "freed");
    /* Nobody looks at the buffer of what is no variable. */
    CHECK(MPI_T_cvar_write(limit, (void *)8) == MPI_T_ERR_INVALID_HANDLE, "freed");
    CHECK(MPI_T_pvar_write(MPI_T_PVAR_SESSION_NULL, MPI_T_PVAR_HANDLE_NULL, (void *)8) == MPI_T_ERR_INVALID_SESSION, "none");
    CHECK(MPI_T_cvar_get_index("no such thing", &index) == MPI_T_ERR_INVALID_NAME, "no such name");

    /* A name that does not fit is cut; its length is told. */
    char cut[4] = "###";
    length = sizeof cut;
    OK(MPI_T_cvar_get_info(find("eager_limit"), cut, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
    CHECK(strcmp(cut, "eag") == 0 && length == 12, "%s %d", cut, length);

    MPI_T_pvar_session session;
    MPI_T_pvar_handle eager, announced;
    OK(MPI_T_pvar_session_create(&session));
    OK(MPI_T_pvar_get_index("eager_sent", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &eager, &count));
    OK(MPI_T_pvar_get_index("rendezvous_sent", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &announced, &count));
    CHECK(MPI_T_pvar_get_index("eager_sent", MPI_T_PVAR_CLASS_TIMER, &index) == MPI_T_ERR_INVALID_NAME, "no timer");
    OK(MPI_T_pvar_start(session, MPI_T_PVAR_ALL_HANDLES));
    static char buffer[2000];
    if (size == 2) {
        int sizes[3] = {10, 1000, 1001};
        for (int i = 0; i < 3; i++) {
            if (rank == 0) OK(MPI_Send(buffer, sizes[i], MPI_CHAR, 1, 0, MPI_COMM_WORLD));
            else OK(MPI_Recv(buffer, sizes[i], MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
        }
    }
    OK(MPI_T_pvar_stop(session, MPI_T_PVAR_ALL_HANDLES));
    unsigned long long sent[2];
    OK(MPI_T_pvar_read(session, eager, &sent[0]));
    OK(MPI_T_pvar_readreset(session, announced, &sent[1]));
    if (size == 2 && rank == 0) CHECK(sent[0] == 2 && sent[1] == 1, "%llu eager, %llu announced", sent[0], sent[1]);
    OK(MPI_T_pvar_read(session, announced, &value));
    CHECK(value == 0, "%llu", value);
    OK(MPI_T_pvar_handle_free(session, &eager));
    CHECK(MPI_T_pvar_read(session, eager, &value) == MPI_T_ERR_INVALID_HANDLE, "freed");
    OK(MPI_T_pvar_session_free(&session));
    CHECK(MPI_T_pvar_reset(session, announced) == MPI_T_ERR_INVALID_SESSION, "freed");

    OK(MPI_T_category_get_num(&count));
    CHECK(count == 1, "%d", count);
    char category[32];
    int variables, counters, categories;
    length = sizeof category;
    OK(MPI_T_category_get_info(0, category, &length, NULL, NULL, &variables, &counters, &categories));
    OK(MPI_T_category_get_index(category, &index));
    CHECK(index == 0 && variables > 0 && counters > 0 && categories == 0, "%s", category);
    int indices[3] = {-1, -1, -1};
    OK(MPI_T_category_get_pvars(0, 2, indices));
    CHECK(indices[0] == 0 && indices[1] == 1 && indices[2] == -1, "%d", indices[2]);
    events();

    MPI_Finalize();
    OK(MPI_T_cvar_get_num(&count));
    OK(MPI_T_finalize());
    CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED, "twice");
    return 0;
}
