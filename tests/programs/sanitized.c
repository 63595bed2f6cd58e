/* sanitized: `checked` and, if an argument says so, memory that is lost on purpose; compiled with -fsanitize=address. */
#define main checked
#include "checked.c"
#undef main

static void *volatile lost;

int main(int argc, char **argv) {
    if (argc > 1) lost = malloc(12345);
    lost = NULL;
    return checked(argc, argv);
}
