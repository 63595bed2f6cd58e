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
        CHECK(datatype == MPI_UNSIGNED_LONG_LONG && values == MPI_T_ENUM_NULL, "%s", name);
        CHECK(bind == MPI_T_BIND_NO_OBJECT && scope == MPI_T_SCOPE_LOCAL && verbosity == MPI_T_VERBOSITY_TUNER_BASIC, "%s", name);
        OK(MPI_T_cvar_get_index(name, &index));
        CHECK(index == i, "%d", index);
    }
    OK(MPI_T_cvar_get_index(wanted, &index));
    return index;
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

    begin(&argc, &argv);
    value = 0;
    OK(MPI_T_cvar_read(limit, &value));
    CHECK(value == 1000, "%llu", value);
    CHECK(MPI_T_cvar_write(limit, &value) == MPI_T_ERR_CVAR_SET_NOT_NOW, "in use");
    OK(MPI_T_cvar_handle_free(&limit));
    CHECK(limit == MPI_T_CVAR_HANDLE_NULL, "freed");
    CHECK(MPI_T_cvar_read(limit, &value) == MPI_T_ERR_INVALID_HANDLE, "freed");
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
    OK(MPI_T_event_get_num(&count));
    CHECK(count == 0 && MPI_T_event_get_index("any", &index) == MPI_T_ERR_INVALID_NAME, "no events");

    MPI_Finalize();
    OK(MPI_T_cvar_get_num(&count));
    OK(MPI_T_finalize());
    CHECK(MPI_T_finalize() == MPI_T_ERR_NOT_INITIALIZED, "twice");
    return 0;
}
