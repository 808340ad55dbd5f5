/* SPDX-License-Identifier: BSD-3-Clause */
/* Square roots without libm, for arithmetic done once a trial. */
#ifndef SLUICE_CONTROL_ROOT_H
#define SLUICE_CONTROL_ROOT_H

/* Heron's method from above; 0 unless x > 0. Exact to rounding below 1e30. */
static inline double root(double x)
{
    double y = x > 1 ? x : 1;

    if (!(x > 0))
        return 0;
    for (int i = 0; i < 64; i++) {
        double next = (y + x / y) / 2;

        if (next >= y)
            break;
        y = next;
    }
    return y;
}

#endif
