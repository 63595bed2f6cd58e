/* Where fake_driver.c and device_memory.c have memory that is said to be a GPU's. */
#define DEVICE 0x300000000000ull
#define DEVICE_BYTES (2ull << 20)

/* How often it was. */
extern int times_asked;
int cuPointerGetAttribute(void *data, int attribute, unsigned long long address);
