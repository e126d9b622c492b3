// SPDX-License-Identifier: Apache-2.0
#include "analysis/rules.h"

#include <stdbool.h>
#include <string.h>

#include "base/tokens.h"

// Names as the libraries' sources spell them.
// The more special go first:
// DeepEP and torch's symmetric memory name NVSHMEM in their arguments, RCCL names a type of NCCL.
const rgm_rule rgm_rules_builtin[] = {
    {"deep_ep::", RGM_ACTIVITY_COMMUNICATION, "DeepEP"},
    {"internode::", RGM_ACTIVITY_COMMUNICATION, "DeepEP"},
    {"internode_ll::", RGM_ACTIVITY_COMMUNICATION, "DeepEP"},
    {"intranode::", RGM_ACTIVITY_COMMUNICATION, "DeepEP"},
    {"symmetric_memory::", RGM_ACTIVITY_COMMUNICATION, "symmetric memory"},
    {"rccl", RGM_ACTIVITY_COMMUNICATION, "RCCL"},
    {"nccl", RGM_ACTIVITY_COMMUNICATION, "NCCL"},
    {"nvshmem", RGM_ACTIVITY_COMMUNICATION, "NVSHMEM"},
    {"rocshmem", RGM_ACTIVITY_COMMUNICATION, "rocSHMEM"},
    {"mscclpp", RGM_ACTIVITY_COMMUNICATION, "MSCCL++"},
    {"msccl::", RGM_ACTIVITY_COMMUNICATION, "MSCCL"},
    {"cross_device_reduce", RGM_ACTIVITY_COMMUNICATION, "custom all-reduce"},
    {"allreduce_prototype", RGM_ACTIVITY_COMMUNICATION, "custom all-reduce"},
    {"one_shot_all_reduce", RGM_ACTIVITY_COMMUNICATION, "symmetric memory"},
    {"two_shot_all_reduce", RGM_ACTIVITY_COMMUNICATION, "symmetric memory"},
    {"multimem_all_reduce", RGM_ACTIVITY_COMMUNICATION, "symmetric memory"},
    {"multimem_one_shot_all_reduce", RGM_ACTIVITY_COMMUNICATION, "symmetric memory"},
    {"multimem_all_gather", RGM_ACTIVITY_COMMUNICATION, "symmetric memory"},
    {"allreduce_fusion_kernel", RGM_ACTIVITY_COMMUNICATION, "TensorRT-LLM"},
    {"oneShotAllReduceKernel", RGM_ACTIVITY_COMMUNICATION, "TensorRT-LLM"},
    {"twoShotAllReduceKernel", RGM_ACTIVITY_COMMUNICATION, "TensorRT-LLM"},
    {"oneshotAllreduce", RGM_ACTIVITY_COMMUNICATION, "TensorRT-LLM"},
    {"twoshotAllreduce", RGM_ACTIVITY_COMMUNICATION, "TensorRT-LLM"},
    {"mnnvl_allreduce", RGM_ACTIVITY_COMMUNICATION, "TensorRT-LLM"},
    {"Lamport", RGM_ACTIVITY_COMMUNICATION,
     "TensorRT-LLM"}, // a normalisation that waits for the multi-cast sum
    {"moeAllToAll", RGM_ACTIVITY_COMMUNICATION, "TensorRT-LLM"},
    {"userbuffers_", RGM_ACTIVITY_COMMUNICATION, "Transformer Engine"},
    {"^hccl", RGM_ACTIVITY_COMMUNICATION, "HCCL"},
    // Whatever else calls itself an all-reduce, but those among the threads of one device.
    {"WarpAllReduce", RGM_ACTIVITY_COMPUTE, ""},
    {"BlockAllReduce", RGM_ACTIVITY_COMPUTE, ""},
    {"all_reduce", RGM_ACTIVITY_COMMUNICATION, "other"},
    {"allreduce", RGM_ACTIVITY_COMMUNICATION, "other"},
    {"allReduce", RGM_ACTIVITY_COMMUNICATION, "other"},
    {"AllReduce", RGM_ACTIVITY_COMMUNICATION, "other"},
    {"Allreduce", RGM_ACTIVITY_COMMUNICATION, "other"},
};
const size_t rgm_rules_builtin_count = sizeof rgm_rules_builtin / sizeof rgm_rules_builtin[0];

const rgm_rule *rgm_rules_match(const rgm_rule *rules, size_t count, const char *name, size_t length) {
    for (size_t i = 0; i < count; i++) {
        const char *text = rules[i].text;
        bool tied = text[0] == '^';
        size_t size = strlen(text + tied);
        if (tied ? length >= size && memcmp(name, text + 1, size) == 0
                 : memmem(name, length, text, size) != NULL)
            return &rules[i];
    }
    return NULL;
}

rgm_kernel_library rgm_rules_library(const char *name, size_t length) {
    static const char *const tokens[] = {RGM_LIBRARIES(RGM_TOKEN)};
    const rgm_rule *rule = rgm_rules_match(rgm_rules_builtin, rgm_rules_builtin_count, name, length);
    if (!rule || rule->activity != RGM_ACTIVITY_COMMUNICATION) return RGM_LIBRARY_OTHER;
    for (int i = RGM_LIBRARY_OTHER; i < RGM_LIBRARY_COUNT; i++)
        if (strcmp(tokens[i], rule->library) == 0) return (rgm_kernel_library)i;
    return RGM_LIBRARY_OTHER;
}
