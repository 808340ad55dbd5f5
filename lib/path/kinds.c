/* SPDX-License-Identifier: BSD-3-Clause */
/* All kinds of elements, by name: doc/path.md describes each. */
#include "path/element.h"

#include "path/element/flow.h"

extern const struct element_kind kind_corrupt, kind_delay, kind_duplicate, kind_hop, kind_loss,
    kind_police, kind_rate, kind_receiver, kind_slot, kind_trace;

const struct element_kind *const element_kinds[] = {
    &kind_corrupt, &kind_delay, &kind_duplicate, &kind_each, &kind_hop,   &kind_loss, &kind_match,
    &kind_police,  &kind_rate,  &kind_receiver,  &kind_slot, &kind_trace, NULL,
};
