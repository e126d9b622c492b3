// SPDX-License-Identifier: Apache-2.0
// Which call made each node of a CUDA graph: the call stands inside the scopes of the capture, so the node's
// kernels of every replay can be booked there.
//
// A node that was made before tracing began is not in the map; its work belongs to the scope of the replay.
// An executable graph owns the copies that were made of a graph's nodes while it was instantiated, and no
// others: the graph may be instantiated again. What the vendor's callbacks name as the graph of a copy or of
// the end of an executable one is not said, so each instantiation has a number of ours.
//
// Records of a destroyed node may still be on their way, so it is kept until a whole round of buffers that
// were handed out before has come back.
//
// Threads: any, under the map's own lock, which is taken when graphs are made and when buffers are read, and
// by before_fork and after_fork around a fork.
#ifndef RGM_CUDA_GRAPH_NODES_H
#define RGM_CUDA_GRAPH_NODES_H

#include <pthread.h>

#include "cuda/trace/id_map.h"

enum { RGM_GRAPH_NODES_MOST = 1 << 20, RGM_GRAPH_EXECS_MOST = 65536, RGM_GRAPH_RETIRING_MOST = 4096 };

typedef struct {
    uint64_t node;
    uint64_t round; // buffers that had been handed out when it was destroyed
} rgm_retiring_node;

typedef struct {
    pthread_mutex_t mutex;
    rgm_id_map calls; // node -> correlation of the call, instantiation (0 for none)
    rgm_id_map execs; // executable graph -> instantiation
    uint64_t instantiations;
    rgm_retiring_node *retiring;
    size_t retiring_count, retiring_capacity;
    uint64_t unmapped; // nodes that found no room, since they were last taken
} rgm_graph_nodes;

void rgm_graph_nodes_init(rgm_graph_nodes *nodes);
void rgm_graph_nodes_clear(rgm_graph_nodes *nodes);
// A node made by the call, correlation 0 when by none that is known.
void rgm_graph_nodes_add(rgm_graph_nodes *nodes, uint64_t node, uint32_t correlation);
// The number of an instantiation that begins.
uint64_t rgm_graph_nodes_instantiation(rgm_graph_nodes *nodes);
// A copy of a node, made by an instantiation or (0) by a graph that is cloned.
void rgm_graph_nodes_clone(rgm_graph_nodes *nodes, uint64_t node, uint64_t original, uint64_t instantiation);
void rgm_graph_nodes_instantiated(rgm_graph_nodes *nodes, uint64_t exec, uint64_t instantiation);
// `handed_out`: buffers so far.
void rgm_graph_nodes_destroy(rgm_graph_nodes *nodes, uint64_t node, uint64_t handed_out);
void rgm_graph_nodes_destroy_exec(rgm_graph_nodes *nodes, uint64_t exec, uint64_t handed_out);
// Forgets what was destroyed before `returned` buffers had been handed out.
void rgm_graph_nodes_purge(rgm_graph_nodes *nodes, uint64_t returned);
// Correlation of the call that made the node, 0 when not known.
uint32_t rgm_graph_nodes_call(rgm_graph_nodes *nodes, uint64_t node);
// Nodes that found no room since the last call.
uint64_t rgm_graph_nodes_take_unmapped(rgm_graph_nodes *nodes);

#endif
