// ranks: 1 3
// Complex numbers from C++: the standard library's, and C's where the compiler has them.
#include "check.h"

static std::complex<double> here[2], there[2];
static float _Complex c_here, c_there;

int main()
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes();
    here[0] = { 0.0, 1.0 };
    here[1] = { double(me), 2.0 };
    CHECK(shmem_complexd_prod_reduce(SHMEM_TEAM_WORLD, there, here, 1) == 0);
    CHECK(there[0] == (n == 1 ? std::complex<double>(0, 1) : std::complex<double>(0, -1)));
    CHECK(shmem_sum_reduce(SHMEM_TEAM_WORLD, there, here, 2) == 0);
    CHECK(there[1] == std::complex<double>(n * (n - 1) / 2, 2 * n));
    __real__ c_here = 1;
    __imag__ c_here = float(me);
    CHECK(shmem_complexf_sum_reduce(SHMEM_TEAM_WORLD, &c_there, &c_here, 1) == 0);
    CHECK(__real__ c_there == float(n) && __imag__ c_there == float(n * (n - 1) / 2));
    c_there = 0;
    CHECK(shmem_sum_inscan(SHMEM_TEAM_WORLD, &c_there, &c_here, 1) == 0);
    CHECK(__real__ c_there == float(me + 1));
    shmem_finalize();
    return 0;
}
