/* How long first answer bytes take, out of a histogram. */
#include "report/report.h"
#include <math.h>

double report_first_byte(const struct breaker_first_bytes *first_bytes, double q)
{
    double total = 0;
    double below = 0;
    for (int i = 0; i < PREBREAK_HISTOGRAM; i++) {
        total += (double)first_bytes->count[i];
    }
    if (total <= 0) {
        return NAN;
    }
    for (int i = 0; i < PREBREAK_HISTOGRAM - 1; i++) {
        double count = (double)first_bytes->count[i];
        if (count > 0 && below + count >= q * total) {
            double from = i == 0 ? 0 : ldexp(1, i - 1);
            return from + (ldexp(1, i) - from) * (q * total - below) / count;
        }
        below += count;
    }
    return ldexp(1, PREBREAK_HISTOGRAM - 2);
}
