// SPDX-License-Identifier: Apache-2.0
// Graphs of the double of CUPTI, as tests make them. A part of cupti.c, which includes it once.
#ifndef RGM_FAKES_CUPTI_GRAPHS_H
#define RGM_FAKES_CUPTI_GRAPHS_H

static void tell_exec(uint32_t id, uint64_t node, uint64_t original, uint64_t graph, uint64_t exec) {
    rgm_cupti_graph data = {.graph = (rgm_cu_graph)(uintptr_t)graph,
                            .exec = (rgm_cu_graph_exec)(uintptr_t)exec,
                            .node = (rgm_cu_graph_node)(uintptr_t)node,
                            .original_node = (rgm_cu_graph_node)(uintptr_t)original};
    const rgm_cupti_resource resource = {.descriptor = &data};
    listener to[CLIENTS];
    size_t count = listeners_of(3, id, to);
    inside = INSIDE_RESOURCE;
    for (size_t i = 0; i < count; i++) to[i].callback(to[i].user, 3, id, &resource);
    inside = 0;
}

static void tell_graph(uint32_t id, uint64_t node, uint64_t original, uint64_t graph) {
    tell_exec(id, node, original, graph, 0);
}

static uint64_t node_new(void) {
    pthread_mutex_lock(&mutex);
    uint64_t node = ++next_node;
    pthread_mutex_unlock(&mutex);
    return node;
}

FAKE_EXPORT uint64_t fake_cupti_capture(const char *name, uint64_t graph) {
    uint32_t correlation = correlation_new();
    uint64_t node = node_new();
    tell(2, 211, RGM_CUPTI_ENTER, correlation, 0);
    tell_graph(RGM_CUPTI_GRAPH_NODE_CREATED, node, 0, graph);
    tell(2, 211, RGM_CUPTI_EXIT, correlation, 0);
    return node;
}

FAKE_EXPORT uint64_t fake_cupti_clone(uint64_t node, uint64_t graph) {
    uint64_t copy = node_new();
    tell_graph(RGM_CUPTI_GRAPH_NODE_CLONED, copy, node, graph);
    return copy;
}

// What is named beside the executable graph is the graph that it is made of, also at its end: the least
// helpful that NVIDIA's header allows.
FAKE_EXPORT uint64_t fake_cupti_instantiate(uint64_t graph, uint64_t *nodes, size_t count) {
    uint64_t exec = node_new();
    tell_exec(RGM_CUPTI_GRAPH_EXEC_CREATE, 0, 0, graph, 0);
    for (size_t i = 0; i < count; i++) nodes[i] = fake_cupti_clone(nodes[i], graph);
    tell_exec(RGM_CUPTI_GRAPH_EXEC_CREATED, 0, 0, graph, exec);
    return exec;
}

FAKE_EXPORT void fake_cupti_exec_destroy(uint64_t graph, uint64_t exec) {
    tell_exec(RGM_CUPTI_GRAPH_EXEC_DESTROY, 0, 0, graph, exec);
}

FAKE_EXPORT uint32_t fake_cupti_graph_launch(uint32_t graph, const uint64_t *nodes, size_t count) {
    uint32_t correlation = correlation_new();
    bool whole = are_several() ? whole_graphs != 0 : clients[0].kinds[LAYOUT_GRAPH];
    if (whole && FAKE_VALUE(older_graph) == (long long)graph) abort();
    layout_work w = {.name = (uint64_t)(uintptr_t)"node_kernel",
                     .context = 1,
                     .stream = 7,
                     .correlation = correlation,
                     .graph = graph,
                     .grid = {1, 1, 1},
                     .block = {32, 1, 1}};
    tell(2, 311, RGM_CUPTI_ENTER, correlation, 0);
    int64_t now = monotonic();
    uint64_t from = stamp(now);
    if (whole) add_work(LAYOUT_GRAPH, &w, now, now + 1000, now);
    for (size_t i = 0; i < count && !whole; i++) {
        bool copies = (long long)i == FAKE_VALUE(copy_node);
        w.node = nodes[i];
        w.copy = copies ? 8 : 0;
        w.from = w.to = copies ? 3 : 0;
        w.start = from + i * 100;
        w.end = w.start + (uint64_t)FAKE_VALUE(node_ns);
        add_stamped(copies ? LAYOUT_MEMCPY : LAYOUT_KERNEL, &w, now + (int64_t)(w.end - from));
    }
    tell(2, 311, RGM_CUPTI_EXIT, correlation, 0);
    return correlation;
}

#endif
