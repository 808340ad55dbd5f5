/* SPDX-License-Identifier: BSD-3-Clause */
/* The RESULT of a file or directory, as the receiver answers it and prints it. */
#include <stdio.h>

#include "console/text.h"
#include "sluice/report/json_lines.h"
#include "sluice/say.h"
#include "sluice/transfer/incoming.h"

void incoming_failed(struct incoming *in, int code)
{
    if (in->code == SAY_OK)
        in->code = code;
}

/* Exit code for a file that was not received. */
static int incoming_exit(enum record_code code)
{
    return code == RECORD_CORRUPT || code == RECORD_BAD_NAME || code == RECORD_DROPPED
               ? SAY_TRANSFER
               : SAY_LOCAL;
}

/* Whether a file that was not received is an error to be printed here. In a copy, the near end
 * prints it, and the sender says why it has dropped a file. */
static bool incoming_says(const struct incoming *in, enum record_code code)
{
    return in->copy == NULL || (!copy_is_far(in->copy) && code != RECORD_DROPPED);
}

int incoming_result(struct incoming *in, enum record_code code, uint64_t size)
{
    const char *why = code == RECORD_OK ? "" : in->part.why;
    char safe[512];

    if (code != RECORD_OK) {
        in->summary.failed++;
        json_lines_failed(in->lines, in->name, why[0] != 0 ? why : record_code_cause(code));
    }
    if (code != RECORD_OK && incoming_says(in, code)) {
        incoming_failed(in, incoming_exit(code));
        say_error(SAY_LOCAL, "%s: %s; %s", text_safe(safe, sizeof safe, in->name),
                  why[0] != 0 ? why : record_code_cause(code), record_code_cure(code));
    }
    return result_queue_add(&in->results, in->file, code, size, why);
}
