// SPDX-License-Identifier: Apache-2.0
// What it costs to launch: on the host, on the device, there and back, and in a graph. All with a kernel that
// does nothing.
#include "base/clock.h"
#include "calibrate/device.h"

enum { DURATION, PERIOD, HOST, TRIP, GRAPH, KINDS };
enum { AT_ONCE = 512 }; // launches that fit in a stream's queue, which holds about a thousand

typedef struct {
    rgm_device_job *job;
    rgm_gpu_launch empty;
    rgm_cu_graph graph;
    rgm_cu_graph_exec replay;
    uint32_t nodes, trips, launches;
} launch_job;

static const struct {
    rgm_ceiling_id id;
    const char *source;
} kinds[KINDS] = {
    [DURATION] = {RGM_CEILING_SHORTEST_KERNEL, "kernel rgm_empty between two events"},
    [PERIOD] = {RGM_CEILING_LAUNCH_GAP, "kernels rgm_empty back to back"},
    [HOST] = {RGM_CEILING_LAUNCH, "cuLaunchKernel of rgm_empty"},
    [TRIP] = {RGM_CEILING_ROUND_TRIP, "rgm_empty and cuStreamSynchronize"},
    [GRAPH] = {RGM_CEILING_GRAPH_NODE, "graph of kernels rgm_empty"},
};

static rgm_status enqueue_empty(rgm_gpu_queue *queue, void *arg) {
    const launch_job *launches = arg;
    for (uint32_t i = 0; i < AT_ONCE; i++) RGM_TRY(rgm_gpu_launch_once(queue, &launches->empty));
    return RGM_OK;
}

static rgm_status enqueue_graph(rgm_gpu_queue *queue, void *arg) {
    const launch_job *launches = arg;
    RGM_GPU_TRY(queue, graph_launch(launches->replay, queue->stream), "launching a graph");
    return RGM_OK;
}

static rgm_status host_cost(launch_job *launches, double *ns) {
    rgm_gpu_queue *queue = &launches->job->queue;
    int64_t spent_ns = 0;
    uint32_t done = 0;
    while (done < launches->launches) {
        int64_t begin_ns = rgm_clock_monotonic_ns();
        RGM_TRY(enqueue_empty(queue, launches));
        spent_ns += rgm_clock_monotonic_ns() - begin_ns;
        done += AT_ONCE;
        RGM_GPU_TRY(queue, stream_synchronize(queue->stream), "running");
    }
    *ns = (double)spent_ns / done;
    return RGM_OK;
}

static rgm_status round_trip(launch_job *launches, double *ns) {
    rgm_gpu_queue *queue = &launches->job->queue;
    int64_t begin_ns = rgm_clock_monotonic_ns();
    for (uint32_t i = 0; i < launches->trips; i++) {
        RGM_TRY(rgm_gpu_launch_once(queue, &launches->empty));
        RGM_GPU_TRY(queue, stream_synchronize(queue->stream), "running");
    }
    *ns = (double)(rgm_clock_monotonic_ns() - begin_ns) / launches->trips;
    return RGM_OK;
}

static rgm_status sample(void *arg, int what, double *value, rgm_error *err) {
    launch_job *launches = arg;
    rgm_device_job *job = launches->job;
    int64_t ns = 0;
    double one = 0;
    (void)err; // the queue has it
    switch (what) {
    case DURATION: return rgm_device_time(job, &launches->empty, value);
    case PERIOD:
        RGM_TRY(rgm_device_time(job, &launches->empty, &one));
        RGM_TRY(rgm_gpu_span(&job->queue, true, enqueue_empty, launches, &ns, &job->gaps));
        *value = ((double)ns - one) / (AT_ONCE - 1);
        return RGM_OK;
    case HOST: return host_cost(launches, value);
    case TRIP: return round_trip(launches, value);
    default:
        RGM_TRY(rgm_gpu_span(&job->queue, true, enqueue_graph, launches, &ns, &job->gaps));
        *value = (double)ns / launches->nodes;
        return RGM_OK;
    }
}

static rgm_status capture(launch_job *launches) {
    rgm_gpu_queue *queue = &launches->job->queue;
    rgm_status status = RGM_OK;
    RGM_GPU_TRY(queue, capture_begin(queue->stream, RGM_CU_CAPTURE_MODE_THREAD_LOCAL), "capturing a graph");
    for (uint32_t i = 0; status == RGM_OK && i < launches->nodes; i++)
        status = rgm_gpu_launch_once(queue, &launches->empty);
    rgm_cu_result result = queue->driver->capture_end(queue->stream, &launches->graph);
    RGM_TRY(status);
    RGM_TRY(rgm_gpu_check(queue, result, "capturing a graph"));
    RGM_GPU_TRY(queue, graph_instantiate(&launches->replay, launches->graph, 0), "making a graph");
    RGM_TRY(enqueue_graph(queue, launches)); // the first replay moves it to the device
    RGM_GPU_TRY(queue, stream_synchronize(queue->stream), "running a graph");
    return RGM_OK;
}

// A driver without graphs takes away that figure only.
static bool make_graph(launch_job *launches, rgm_figures *figures) {
    rgm_gpu_queue *queue = &launches->job->queue;
    rgm_status status =
        rgm_library_needs(&queue->driver->library, &rgm_driver_spec, RGM_DRIVER_GRAPHS, queue->err);
    if (status == RGM_OK) status = capture(launches);
    if (status == RGM_OK) return true;
    rgm_figure_refuse(figures, RGM_CEILING_GRAPH_NODE, "%.200s",
                      queue->err ? queue->err->message : "no graphs");
    return false;
}

static void free_graph(launch_job *launches) {
    const rgm_driver *driver = launches->job->queue.driver;
    if (launches->replay) (void)driver->graph_exec_destroy(launches->replay);
    if (launches->graph) (void)driver->graph_destroy(launches->graph);
}

static uint32_t at_least_one(double number) {
    return number > (double)RGM_GPU_MOST_LAUNCHES ? RGM_GPU_MOST_LAUNCHES
           : number >= 1                          ? (uint32_t)number
                                                  : 1;
}

static rgm_status run(launch_job *launches, rgm_figures *figures) {
    rgm_device_job *job = launches->job;
    rgm_probe probes[KINDS];
    size_t count = 0;
    RGM_TRY(rgm_gpu_load(&job->queue, "latency", "rgm_empty", &launches->empty.function));
    RGM_TRY(rgm_gpu_warm_up(&job->queue, &launches->empty, RGM_GPU_BATCH));
    bool graph = make_graph(launches, figures);
    for (int kind = 0; kind < KINDS; kind++)
        if (kind != GRAPH || graph)
            probes[count++] = (rgm_probe){.id = kinds[kind].id,
                                          .least = true,
                                          .sample = sample,
                                          .arg = launches,
                                          .what = kind,
                                          .source = kinds[kind].source};
    return rgm_probes_measure(probes, count, &job->request->effort, figures, job->queue.err);
}

rgm_status rgm_device_launches(rgm_device_job *job, rgm_figures *figures) {
    const rgm_effort *effort = &job->request->effort;
    launch_job launches = {.job = job,
                           .empty = {.grid = {1, 1, 1}, .block = {1, 1, 1}},
                           .nodes = at_least_one(effort->policy->graph_nodes),
                           .trips = at_least_one(effort->policy->round_trips),
                           .launches = at_least_one(RGM_EFFORT(effort, launches))};
    rgm_status status = run(&launches, figures);
    free_graph(&launches);
    return status;
}
