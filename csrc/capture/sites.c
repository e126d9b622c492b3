// SPDX-License-Identifier: Apache-2.0
// Call sites: (operation, declared device) -> a row with a stable address.
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "capture/session_state.h"

#define OTHER_OPERATIONS "<other operations>"

// Which site: one of each operation, declared device and role.
typedef struct {
    uint32_t name; // string id
    uint8_t device;
    uint8_t role;
} site_key;

static uint64_t site_hash(site_key key) {
    return rgm_hash_u64(((uint64_t)key.name << 16) | (uint64_t)key.role << 8 | key.device);
}

static uint32_t *slot_find(rgm_session *session, site_key key) {
    uint32_t at = (uint32_t)site_hash(key) & session->site_mask;
    for (; session->site_slots[at]; at = (at + 1) & session->site_mask) {
        const rgm_site *site = rgm_session_site_at(session, session->site_slots[at] - 1);
        if (site->name == key.name && site->device == key.device && site->role == key.role) break;
    }
    return &session->site_slots[at];
}

static rgm_status slots_grow(rgm_session *session, rgm_error *err) {
    uint32_t size = session->site_slots ? (session->site_mask + 1) * 2 : 256;
    uint32_t *before = session->site_slots;
    uint32_t *slots = rgm_calloc(size, sizeof *slots);
    if (!slots) return rgm_error_no_memory(err);
    session->site_slots = slots;
    session->site_mask = size - 1;
    uint32_t count = atomic_load_explicit(&session->site_count, memory_order_relaxed);
    for (uint32_t id = 0; id < count; id++) {
        const rgm_site *site = rgm_session_site_at(session, id);
        *slot_find(session, (site_key){site->name, site->device, site->role}) = id + 1;
    }
    rgm_free(before);
    return RGM_OK;
}

static rgm_status site_add(rgm_session *session, site_key key, rgm_site **site, rgm_error *err) {
    uint32_t id = atomic_load_explicit(&session->site_count, memory_order_relaxed);
    rgm_site **chunk = &session->site_chunks[id / SITES_PER_CHUNK];
    if (!*chunk && !(*chunk = rgm_calloc(SITES_PER_CHUNK, sizeof **chunk))) return rgm_error_no_memory(err);
    rgm_site *fresh = rgm_session_site_at(session, id);
    fresh->id = id;
    fresh->name = key.name;
    fresh->device = key.device;
    fresh->role = key.role;
    fresh->probes = key.role == RGM_ROLE_NONE; // of what was found it is known what it uses
    atomic_store(&fresh->threshold, UINT32_MAX);
    atomic_store_explicit(&session->site_count, id + 1, memory_order_release);
    *slot_find(session, key) = id + 1;
    *site = fresh;
    return RGM_OK;
}

// Finds or adds; with `forced` the limit does not apply (for the common name itself).
static rgm_status site_get(rgm_session *session, site_key key, bool forced, rgm_site **site, rgm_error *err) {
    uint32_t count = atomic_load_explicit(&session->site_count, memory_order_relaxed);
    if (!session->site_slots || count * 2 > session->site_mask) RGM_TRY(slots_grow(session, err));
    uint32_t *slot = slot_find(session, key);
    if (*slot) {
        *site = rgm_session_site_at(session, *slot - 1);
        return RGM_OK;
    }
    if (!forced && (int64_t)count >= session->options.max_sites)
        return rgm_error_set(err, RGM_LIMIT, "more than %u operations", count);
    if (count >= (uint32_t)SITES_PER_CHUNK * MAX_SITE_CHUNKS)
        return rgm_error_set(err, RGM_LIMIT, "more than %u operations", count);
    return site_add(session, key, site, err);
}

rgm_status rgm_session_site(rgm_session *session, const char *name, size_t length, rgm_device device,
                            rgm_role role, rgm_site **site, rgm_error *err) {
    uint32_t id;
    // A full table must not take the scope away: it is filed under the common name, and counted.
    rgm_status status = rgm_strings_intern(&session->strings, name, length, &id, err);
    pthread_mutex_lock(&session->state_mutex);
    if (status == RGM_OK)
        status = site_get(session, (site_key){id, (uint8_t)device, (uint8_t)role}, false, site, err);
    if (status == RGM_LIMIT) {
        rgm_session_note(session, RGM_ANOMALY_DROPPED_NAMES, 1);
        // The common name was interned when the session began.
        status = rgm_strings_intern(&session->strings, OTHER_OPERATIONS, strlen(OTHER_OPERATIONS), &id, err);
        if (status == RGM_OK)
            status = site_get(session, (site_key){id, (uint8_t)device, (uint8_t)role}, true, site, err);
    }
    pthread_mutex_unlock(&session->state_mutex);
    return status;
}

rgm_site_row rgm_site_row_of(const rgm_site *site) {
    return (rgm_site_row){.name = site->name,
                          .device = site->device,
                          .backend = atomic_load(&site->backend),
                          .role = site->role};
}

void rgm_session_each_site(rgm_session *session, void (*visit)(rgm_site *site, const char *name, void *arg),
                           void *arg) {
    uint32_t count = atomic_load_explicit(&session->site_count, memory_order_acquire);
    for (uint32_t id = 0; id < count; id++) {
        rgm_site *site = rgm_session_site_at(session, id);
        visit(site, rgm_strings_view(&session->strings, site->name).data, arg);
    }
}

void rgm_session_site_backend(rgm_session *session, rgm_site *site, rgm_backend backend) {
    if (atomic_load(&site->backend) == (uint8_t)backend) return;
    pthread_mutex_lock(&session->state_mutex);
    atomic_store(&site->backend, (uint8_t)backend);
    if (site->id < session->sites_dirty) session->sites_dirty = site->id;
    pthread_mutex_unlock(&session->state_mutex);
}

uint32_t rgm_session_metadata(rgm_session *session, const char *json, size_t length) {
    uint32_t id;
    rgm_status status = rgm_strings_intern_on(&session->strings, &session->metadata, json, length, &id, NULL);
    if (status == RGM_OK && id <= RGM_RECORD_META_MAX) return id;
    rgm_session_note(session, RGM_ANOMALY_DROPPED_METADATA, 1);
    return 0;
}
