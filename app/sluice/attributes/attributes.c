/* SPDX-License-Identifier: BSD-3-Clause */
/* The items of an ATTR record. See attributes.h. */
#include "sluice/attributes/attributes.h"

#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"

/* ---- writing ------------------------------------------------------------------------------- */

void attribute_put(struct attribute_list *l, const struct attribute *a)
{
    uint32_t need = ATTRIBUTE_HEADER_BYTES + a->name_len + a->len_bytes;
    uint8_t *to;

    l->full |= need > l->max_bytes - l->len_bytes;
    if (!l->full && need > l->size - l->len_bytes) {
        uint32_t size = 2 * (l->len_bytes + need);

        to = realloc(l->data, size);
        l->full = to == NULL;
        l->data = to != NULL ? to : l->data;
        l->size = to != NULL ? size : l->size;
    }
    if (l->full)
        return;
    to = l->data + l->len_bytes;
    to[0] = a->kind;
    to[1] = a->name_len;
    bytes_put_u16(to + 2, 0);
    bytes_put_u32(to + 4, a->len_bytes);
    to += ATTRIBUTE_HEADER_BYTES;
    if (a->name_len > 0)
        memcpy(to, a->name, a->name_len);
    if (a->len_bytes > 0)
        memcpy(to + a->name_len, a->value, a->len_bytes);
    l->len_bytes += need;
}

void attribute_put_number(struct attribute_list *l, enum attribute_kind kind, const char *name,
                          uint64_t number)
{
    uint8_t value[8];
    struct attribute a = {.kind = (uint8_t)kind,
                          .name_len = (uint8_t)strlen(name),
                          .len_bytes = kind == ATTRIBUTE_LINK ? 8 : 4,
                          .name = (const uint8_t *)name,
                          .value = value};

    if (kind == ATTRIBUTE_LINK)
        bytes_put_u64(value, number);
    else
        bytes_put_u32(value, (uint32_t)number);
    attribute_put(l, &a);
}

void attribute_list_fini(struct attribute_list *l)
{
    free(l->data);
    *l = (struct attribute_list){0};
}

/* ---- reading ------------------------------------------------------------------------------- */

static const struct attribute_shape {
    uint32_t choice; /* only if this was asked for */
    uint32_t name_min, name_max, len_min, len_max;
    bool many;
} attribute_shapes[ATTRIBUTE_KINDS] = {
    [ATTRIBUTE_LINK] = {ATTRIBUTES_LINKS, 0, 0, 8, 8, false},
    [ATTRIBUTE_OWNER] = {ATTRIBUTES_OWNERS, 0, ATTRIBUTE_NAME_MAX, 4, 4, false},
    [ATTRIBUTE_GROUP] = {ATTRIBUTES_GROUPS, 0, ATTRIBUTE_NAME_MAX, 4, 4, false},
    [ATTRIBUTE_ACL] = {ATTRIBUTES_ACLS, 0, ATTRIBUTE_NAME_MAX, 8, 8, true},
    [ATTRIBUTE_DEFAULT_ACL] = {ATTRIBUTES_ACLS, 0, ATTRIBUTE_NAME_MAX, 8, 8, true},
    [ATTRIBUTE_XATTR] = {ATTRIBUTES_XATTRS, 1, ATTRIBUTE_NAME_MAX, 0, ATTRIBUTE_VALUE_MAX, true},
};

bool attributes_next(const uint8_t *data, uint32_t len_bytes, uint32_t *at, struct attribute *a)
{
    const uint8_t *from;

    if (len_bytes - *at < ATTRIBUTE_HEADER_BYTES)
        return false;
    from = data + *at;
    a->kind = from[0];
    a->name_len = from[1];
    a->len_bytes = bytes_get_u32(from + 4);
    a->name = from + ATTRIBUTE_HEADER_BYTES;
    a->value = a->name + a->name_len;
    if ((uint64_t)a->name_len + a->len_bytes > len_bytes - *at - ATTRIBUTE_HEADER_BYTES)
        return false;
    *at += ATTRIBUTE_HEADER_BYTES + a->name_len + a->len_bytes;
    return true;
}

/* Names of extended attributes ascend, so that none comes twice. */
static bool attribute_ascends(const struct attribute *last, const struct attribute *a)
{
    uint32_t len = last->name_len < a->name_len ? last->name_len : a->name_len;
    int order = memcmp(last->name, a->name, len);

    return order < 0 || (order == 0 && last->name_len < a->name_len);
}

/* NULL, or what is wrong with the item behind `last`, whose kind is 0 if it is the first. */
static const char *attribute_fault(const struct attribute *last, const struct attribute *a,
                                   uint32_t chosen)
{
    const struct attribute_shape *shape = &attribute_shapes[a->kind];

    if ((shape->choice & chosen) == 0)
        return "an attribute that was not asked for";
    if (a->name_len < shape->name_min || a->name_len > shape->name_max ||
        a->len_bytes < shape->len_min || a->len_bytes > shape->len_max)
        return "length of an attribute out of range";
    if (memchr(a->name, 0, a->name_len) != NULL)
        return "a zero byte in the name of an attribute";
    if (a->kind < last->kind || (a->kind == last->kind && !shape->many))
        return "an attribute out of order";
    if (a->kind == ATTRIBUTE_LINK && bytes_get_u64(a->value) == 0)
        return "a link without a number";
    if ((a->kind == ATTRIBUTE_OWNER || a->kind == ATTRIBUTE_GROUP) &&
        bytes_get_u32(a->value) == UINT32_MAX) /* chown() would leave it as it is */
        return "an owner or group without a number";
    if (a->kind != ATTRIBUTE_XATTR)
        return NULL;
    if (a->name_len >= 7 && memcmp(a->name, "system.", 7) == 0)
        return "an attribute of the system";
    return last->kind == ATTRIBUTE_XATTR && !attribute_ascends(last, a)
               ? "extended attributes out of order"
               : NULL;
}

const char *attributes_check(const uint8_t *data, uint32_t len_bytes, uint32_t chosen)
{
    struct attribute last = {.kind = 0}, a;
    const char *why = NULL;
    uint32_t at = 0;

    while (why == NULL && at < len_bytes) {
        uint32_t start = at;

        if (!attributes_next(data, len_bytes, &at, &a))
            return "half an attribute";
        if (a.kind < ATTRIBUTE_LINK || a.kind >= ATTRIBUTE_KINDS ||
            bytes_get_u16(data + start + 2) != 0)
            return "unknown attribute";
        why = attribute_fault(&last, &a, chosen);
        last = a;
    }
    return why;
}
