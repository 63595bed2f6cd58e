/* The library of with_library.c. */
#define LIBRARY_LENGTH 5000
extern long library_data[LIBRARY_LENGTH], library_zeros[LIBRARY_LENGTH];
long *library_hidden(void);
void library_put(int pe, long value);
long library_got(void);
