// ranks: 1
/* Info objects. */
#include "check.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Info info, dup;
    int flag, count, length;
    char value[MPI_MAX_INFO_VAL + 1], key[MPI_MAX_INFO_KEY + 1];
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "first", "1"));
    OK(MPI_Info_set(info, "second", "two words"));
    OK(MPI_Info_set(info, "first", "one"));
    OK(MPI_Info_get_nkeys(info, &count));
    CHECK(count == 2, "%d keys", count);
    OK(MPI_Info_get_nthkey(info, 1, key));
    CHECK(strcmp(key, "second") == 0, "%s", key);
    length = sizeof value;
    OK(MPI_Info_get_string(info, "first", &length, value, &flag));
    CHECK(flag && strcmp(value, "one") == 0 && length == 4, "%s, %d", value, length);
    length = 4;
    OK(MPI_Info_get_string(info, "second", &length, value, &flag));
    CHECK(flag && strcmp(value, "two") == 0 && length == 10, "%s, %d", value, length);
    OK(MPI_Info_get(info, "second", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(flag && strcmp(value, "two words") == 0, "%s", value);
    OK(MPI_Info_get(info, "third", MPI_MAX_INFO_VAL, value, &flag));
    CHECK(!flag, "there is no third");
    OK(MPI_Info_dup(info, &dup));
    OK(MPI_Info_delete(info, "first"));
    OK(MPI_Info_get_nkeys(info, &count));
    CHECK(count == 1, "%d keys", count);
    OK(MPI_Info_get_nkeys(dup, &count));
    CHECK(count == 2, "%d keys", count);
    OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
    OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    FAILS(MPI_ERR_INFO_NOKEY, MPI_Info_delete(info, "first"));
    FAILS(MPI_ERR_INFO_KEY, MPI_Info_set(info, "", "x"));
    OK(MPI_Info_free(&info));
    OK(MPI_Info_free(&dup));
    CHECK(info == MPI_INFO_NULL, "a freed handle is null");
    OK(MPI_Info_get_nkeys(MPI_INFO_ENV, &count));
    end();
    return 0;
}
