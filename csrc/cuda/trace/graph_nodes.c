// SPDX-License-Identifier: Apache-2.0
#include "cuda/trace/graph_nodes.h"

#include "base/memory.h"

void rgm_graph_nodes_init(rgm_graph_nodes *nodes) {
    *nodes =
        (rgm_graph_nodes){.calls = {.most = RGM_GRAPH_NODES_MOST}, .execs = {.most = RGM_GRAPH_EXECS_MOST}};
    pthread_mutex_init(&nodes->mutex, NULL);
}

void rgm_graph_nodes_clear(rgm_graph_nodes *nodes) {
    pthread_mutex_lock(&nodes->mutex);
    rgm_id_map_release(&nodes->calls);
    rgm_id_map_release(&nodes->execs);
    rgm_free(nodes->retiring);
    nodes->retiring = NULL;
    nodes->retiring_count = nodes->retiring_capacity = 0;
    nodes->unmapped = 0;
    pthread_mutex_unlock(&nodes->mutex);
}

// Under the lock.
static void put(rgm_graph_nodes *nodes, uint64_t node, uint64_t instantiation, uint64_t correlation) {
    if (!correlation) return;
    rgm_id_entry *entry = rgm_id_map_put(&nodes->calls, node);
    if (!entry) {
        nodes->unmapped++;
        return;
    }
    entry->first = correlation;
    entry->second = instantiation;
}

void rgm_graph_nodes_add(rgm_graph_nodes *nodes, uint64_t node, uint32_t correlation) {
    pthread_mutex_lock(&nodes->mutex);
    put(nodes, node, 0, correlation);
    pthread_mutex_unlock(&nodes->mutex);
}

uint64_t rgm_graph_nodes_instantiation(rgm_graph_nodes *nodes) {
    pthread_mutex_lock(&nodes->mutex);
    uint64_t number = ++nodes->instantiations;
    pthread_mutex_unlock(&nodes->mutex);
    return number;
}

void rgm_graph_nodes_instantiated(rgm_graph_nodes *nodes, uint64_t exec, uint64_t instantiation) {
    pthread_mutex_lock(&nodes->mutex);
    rgm_id_entry *entry = rgm_id_map_put(&nodes->execs, exec);
    if (entry) entry->first = instantiation; // else its nodes stay in the map until the end of tracing
    pthread_mutex_unlock(&nodes->mutex);
}

void rgm_graph_nodes_clone(rgm_graph_nodes *nodes, uint64_t node, uint64_t original, uint64_t instantiation) {
    pthread_mutex_lock(&nodes->mutex);
    const rgm_id_entry *made = rgm_id_map_find(&nodes->calls, original);
    put(nodes, node, instantiation, made ? made->first : 0);
    pthread_mutex_unlock(&nodes->mutex);
}

// Under the lock. What finds no room stays in the map until the end of tracing.
static void retire(rgm_graph_nodes *nodes, uint64_t node, uint64_t handed_out) {
    if (nodes->retiring_count == nodes->retiring_capacity) {
        size_t more = nodes->retiring_capacity ? nodes->retiring_capacity * 2 : 64;
        if (more > RGM_GRAPH_NODES_MOST) return;
        rgm_retiring_node *grown = rgm_realloc(nodes->retiring, more * sizeof *grown);
        if (!grown) return;
        nodes->retiring = grown;
        nodes->retiring_capacity = more;
    }
    nodes->retiring[nodes->retiring_count++] = (rgm_retiring_node){node, handed_out};
}

void rgm_graph_nodes_destroy(rgm_graph_nodes *nodes, uint64_t node, uint64_t handed_out) {
    pthread_mutex_lock(&nodes->mutex);
    if (rgm_id_map_find(&nodes->calls, node)) retire(nodes, node, handed_out);
    pthread_mutex_unlock(&nodes->mutex);
}

void rgm_graph_nodes_destroy_exec(rgm_graph_nodes *nodes, uint64_t exec, uint64_t handed_out) {
    pthread_mutex_lock(&nodes->mutex);
    const rgm_id_entry *made = rgm_id_map_find(&nodes->execs, exec);
    uint64_t instantiation = made ? made->first : 0;
    for (size_t i = 0; i < nodes->calls.capacity && instantiation; i++) {
        const rgm_id_entry *entry = &nodes->calls.entries[i];
        if (entry->used && entry->second == instantiation) retire(nodes, entry->key, handed_out);
    }
    if (made) rgm_id_map_remove(&nodes->execs, exec);
    pthread_mutex_unlock(&nodes->mutex);
}

void rgm_graph_nodes_purge(rgm_graph_nodes *nodes, uint64_t returned) {
    size_t kept = 0;
    pthread_mutex_lock(&nodes->mutex);
    for (size_t i = 0; i < nodes->retiring_count; i++) {
        if (nodes->retiring[i].round < returned)
            rgm_id_map_remove(&nodes->calls, nodes->retiring[i].node);
        else
            nodes->retiring[kept++] = nodes->retiring[i];
    }
    nodes->retiring_count = kept;
    pthread_mutex_unlock(&nodes->mutex);
}

uint32_t rgm_graph_nodes_call(rgm_graph_nodes *nodes, uint64_t node) {
    pthread_mutex_lock(&nodes->mutex);
    const rgm_id_entry *entry = rgm_id_map_find(&nodes->calls, node);
    uint32_t correlation = entry ? (uint32_t)entry->first : 0;
    pthread_mutex_unlock(&nodes->mutex);
    return correlation;
}

uint64_t rgm_graph_nodes_take_unmapped(rgm_graph_nodes *nodes) {
    pthread_mutex_lock(&nodes->mutex);
    uint64_t unmapped = nodes->unmapped;
    nodes->unmapped = 0;
    pthread_mutex_unlock(&nodes->mutex);
    return unmapped;
}
