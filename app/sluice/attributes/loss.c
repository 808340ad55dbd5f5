/* SPDX-License-Identifier: BSD-3-Clause */
/* What cannot be kept. See loss.h. */
#include "sluice/attributes/loss.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "console/text.h"
#include "sluice/say.h"

static const struct loss_text {
    const char *what, *denied, *cure;
} loss_texts[LOSSES] = {
    [LOSS_OWNER] = {"owner not kept", "only root gives files to other users",
                    "run it as root there, or leave out --owner"},
    [LOSS_GROUP] = {"group not kept", "only root gives files to groups that it is not in",
                    "run it as root there, or leave out --group"},
    [LOSS_ACL] = {"ACL not kept", "no permission",
                  "choose a file system with ACLs there, or leave out --acls"},
    [LOSS_XATTR] = {"extended attributes not kept", "only root sets some of them",
                    "choose a file system that has them there, run it as root there, or leave out "
                    "--xattrs"},
    [LOSS_UNREAD] = {"ACL or extended attributes not read", "no permission",
                     "make it readable, or leave out --acls and --xattrs"},
};

void loss_note(struct losses *l, enum loss_kind kind, const char *name, int err)
{
    struct loss *loss = &l->of[kind];

    if (loss->n++ > 0)
        return;
    loss->err = -err;
    text_safe(loss->first, sizeof loss->first, name[0] == 0 ? "." : name);
}

int losses_say(const struct losses *l)
{
    int i, code = SAY_OK;

    for (i = 0; i < LOSSES; i++) {
        const struct loss *loss = &l->of[i];
        const struct loss_text *t = &loss_texts[i];
        const char *why = loss->err == EPERM ? t->denied : strerror(loss->err);
        char others[48] = "";

        if (loss->n > 1)
            snprintf(others, sizeof others, " and of %" PRIu64 " others", loss->n - 1);
        if (loss->n > 0)
            code = say_error(SAY_LOCAL, "%s%s: %s: %s; %s", loss->first, others, t->what, why,
                             t->cure);
    }
    return code;
}
