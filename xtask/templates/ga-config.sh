#!/bin/sh
# What programs that use Global Arrays of Isthmus @VERSION@ are compiled and linked with.
# The prefix is found from this file's own place, through symbolic links too, so it may be moved.

prefix=$(cd -- "$(dirname -- "$(readlink -f -- "$(command -v -- "$0")")")/.." && pwd)
[ $# -gt 0 ] || set -- --help
for option in "$@"; do
    case $option in
        --prefix) echo "$prefix" ;;
        --version) echo "5.9.2" ;;
        --cc | --mpicc) echo "$prefix/bin/mpicc" ;;
        --cxx) echo "$prefix/bin/mpicxx" ;;
        --cppflags) echo "-I$prefix/include" ;;
        --cflags | --cxxflags) echo "" ;;
        # gfortran ends loops over int_mb and its kin after the two elements that mafdecls.fh declares, unless it is told not to conclude so.
        --fflags)
            case $("$prefix/bin/mpifort" --version 2>/dev/null) in
                "GNU Fortran"*) echo "-fno-aggressive-loop-optimizations -funconstrained-commons" ;;
                *) echo "" ;;
            esac
            ;;
        --ldflags) echo "-L$prefix/lib -Wl,-rpath,$prefix/lib" ;;
        --libs) echo "-lga -larmci -lmpi_abi" ;;
        --blas_size) echo 4 ;;
        --use_blas | --use_lapack) echo 1 ;;
        --use_scalapack | --use_elpa) echo 0 ;;
        --enable-f77) echo 1 ;;
        # INTEGERs of 4 bytes; with -fdefault-integer-8 it is -lga_fortran_i8.
        --flibs) echo "-lga_fortran -lga -larmci -lmpifort_abi -lmpi_abi" ;;
        --f77) echo "$prefix/bin/mpifort" ;;
        --network) echo "ISTHMUS" ;;
        --network_ldflags | --network_libs) echo "" ;;
        --help)
            echo "usage: ga-config --prefix | --version | --cc | --cxx | --cppflags | --cflags | --ldflags | --libs | --blas_size"
            echo "       | --use_blas | --use_lapack | --use_scalapack | --enable-f77 | --f77 | --fflags | --flibs | --network"
            ;;
        *)
            echo "ga-config: unknown option $option, see --help" >&2
            exit 1
            ;;
    esac
done
