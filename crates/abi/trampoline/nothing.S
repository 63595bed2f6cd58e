/* A library with nothing in it. */

    .section .note.GNU-stack, "", %progbits
