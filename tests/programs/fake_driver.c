/* A library that answers as NVIDIA's driver: addresses from DEVICE on are a device's, and of those the second half is managed. */
#include "fake_driver.h"

int times_asked;

int cuPointerGetAttribute(void *data, int attribute, unsigned long long address) {
    times_asked++;
    if (address < DEVICE || address >= DEVICE + DEVICE_BYTES) return 1;
    if (attribute == 2) *(unsigned *)data = 2;
    if (attribute == 8) *(unsigned *)data = address >= DEVICE + DEVICE_BYTES / 2;
    return 0;
}
