/* SPDX-License-Identifier: BSD-3-Clause */
/* filter_walk FOLDER RULE...: prints what of the folder takes part in a sync with these rules,
 * "- PATTERN" or "+ PATTERN"; directories with a slash. For filter_test.py. */
#include <stdio.h>

#include "sluice/files/tree.h"
#include "sluice/sync/filter.h"

static bool leave_out(void *context, const char *name, bool directory)
{
    return filter_excludes(context, name, directory);
}

int main(int argc, char **argv)
{
    struct filter f = {0};
    struct tree_entry e;
    struct tree *t;
    int i;

    for (i = 2; i < argc; i++) {
        const char *wrong = filter_option(&f, argv[i], false);

        if (wrong != NULL) {
            fprintf(stderr, "%s: %s\n", argv[i], wrong);
            return 1;
        }
    }
    t = argc < 2
            ? NULL
            : tree_open(argv[1],
                        (struct tree_rules){.sync = true, .leave_out = leave_out, .context = &f});
    if (t == NULL)
        return 1;
    while (tree_next(t, &e)) {
        if (e.kind != TREE_DIR)
            printf("%s%s\n", e.name, e.kind == TREE_ENTER ? "/" : "");
    }
    tree_close(t);
    filter_fini(&f);
    return 0;
}
