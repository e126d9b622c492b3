# SPDX-License-Identifier: Apache-2.0
# Writes the kernels as a C file of byte arrays:
#   cmake -DKERNELS=a.cu,b.cu -DHEADER=kernel.cuh -DOUT=kernel_sources.c -P embed_kernels.cmake
# Script mode of CMake alone, so that a build from a source distribution needs no further tool.

function(append_bytes variable file)
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "(................................................................)" "\\1\n    " bytes "${bytes}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  set(${variable} "    ${bytes}0x00,\n" PARENT_SCOPE)
endfunction()

string(REPLACE "," ";" kernels "${KERNELS}")
set(arrays "")
set(rows "")
foreach(file IN LISTS kernels)
  cmake_path(GET file STEM name)
  append_bytes(bytes "${file}")
  string(APPEND arrays "static const char text_${name}[] = {\n${bytes}};\n")
  string(APPEND rows "    {\"${name}\", text_${name}},\n")
endforeach()
append_bytes(bytes "${HEADER}")

file(WRITE "${OUT}.new" "// Written by cmake/embed_kernels.cmake from csrc/workloads/kernels.
#include \"workloads/kernels.h\"

${arrays}
const char rgm_kernel_header[] = {
${bytes}};
const rgm_kernel_source rgm_kernel_sources[] = {
${rows}};
const size_t rgm_kernel_sources_count = sizeof rgm_kernel_sources / sizeof *rgm_kernel_sources;
")
file(RENAME "${OUT}.new" "${OUT}")
