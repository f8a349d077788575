#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace bitgate::kernels::cuda {

// The part of the CUDA driver API that bitgate uses ("CUDA Driver API", docs.nvidia.com/cuda):
// declared here, so that no CUDA header is needed to build, and resolved at run time, so that the
// program starts where there is no driver.

using Result = int;        ///< CUresult
using DeviceHandle = int;  ///< CUdevice
using DevicePointer = unsigned long long;
using Context = struct ContextHandle*;
using Module = struct ModuleHandle*;
using Function = struct FunctionHandle*;
using Stream = struct StreamHandle*;
using Event = struct EventHandle*;
using Graph = struct GraphHandle*;
using GraphExec = struct GraphExecHandle*;

constexpr Result kSuccess = 0;
constexpr Result kOutOfMemory = 2;
constexpr Result kNotReady = 600;

constexpr int kAttributeMultiprocessors = 16;
constexpr int kAttributeL2Bytes = 38;
constexpr int kAttributeCapabilityMajor = 75;
constexpr int kAttributeCapabilityMinor = 76;

constexpr int kFunctionMaxDynamicShared = 8;
constexpr int kJitErrorLog = 5;
constexpr int kJitErrorLogBytes = 6;
constexpr unsigned kStreamNonBlocking = 1;
constexpr int kCaptureThreadLocal = 1;

// Symbol, name here, parameters. The suffixes are those of the versions of these prototypes.
#define BITGATE_CUDA_FUNCTIONS(X)                                                                \
  X(cuInit, init, (unsigned))                                                                    \
  X(cuDriverGetVersion, driver_version, (int*))                                                  \
  X(cuGetErrorName, error_name, (Result, const char**))                                          \
  X(cuGetErrorString, error_string, (Result, const char**))                                      \
  X(cuDeviceGetCount, device_count, (int*))                                                      \
  X(cuDeviceGet, device_get, (DeviceHandle*, int))                                               \
  X(cuDeviceGetName, device_name, (char*, int, DeviceHandle))                                    \
  X(cuDeviceGetAttribute, device_attribute, (int*, int, DeviceHandle))                           \
  X(cuDeviceTotalMem_v2, device_memory, (std::size_t*, DeviceHandle))                            \
  X(cuCtxCreate_v2, context_create, (Context*, unsigned, DeviceHandle))                          \
  X(cuCtxDestroy_v2, context_destroy, (Context))                                                 \
  X(cuCtxSetCurrent, context_set_current, (Context))                                             \
  X(cuMemAlloc_v2, memory_allocate, (DevicePointer*, std::size_t))                               \
  X(cuMemFree_v2, memory_free, (DevicePointer))                                                  \
  X(cuMemcpyHtoDAsync_v2, copy_to_device, (DevicePointer, const void*, std::size_t, Stream))     \
  X(cuMemcpyDtoHAsync_v2, copy_to_host, (void*, DevicePointer, std::size_t, Stream))             \
  X(cuModuleLoadDataEx, module_load, (Module*, const void*, unsigned, int*, void**))             \
  X(cuModuleGetFunction, module_function, (Function*, Module, const char*))                      \
  X(cuFuncSetAttribute, function_set_attribute, (Function, int, int))                            \
  X(cuFuncGetParamInfo, function_parameter, (Function, std::size_t, std::size_t*, std::size_t*)) \
  X(cuLaunchKernel, launch,                                                                      \
    (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, Stream,     \
     void**, void**))                                                                            \
  X(cuStreamCreate, stream_create, (Stream*, unsigned))                                          \
  X(cuStreamSynchronize, stream_synchronize, (Stream))                                           \
  X(cuStreamBeginCapture_v2, capture_begin, (Stream, int))                                       \
  X(cuStreamEndCapture, capture_end, (Stream, Graph*))                                           \
  X(cuEventCreate, event_create, (Event*, unsigned))                                             \
  X(cuEventDestroy_v2, event_destroy, (Event))                                                   \
  X(cuEventRecord, event_record, (Event, Stream))                                                \
  X(cuEventQuery, event_query, (Event))                                                          \
  X(cuEventElapsedTime, event_elapsed_ms, (float*, Event, Event))                                \
  X(cuGraphInstantiateWithFlags, graph_instantiate, (GraphExec*, Graph, unsigned long long))     \
  X(cuGraphLaunch, graph_launch, (GraphExec, Stream))                                            \
  X(cuGraphDestroy, graph_destroy, (Graph))                                                      \
  X(cuGraphExecDestroy, graph_exec_destroy, (GraphExec))

struct Driver {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a declarator and its parameter list
#define BITGATE_CUDA_MEMBER(symbol, member, parameters) Result(*member) parameters = nullptr;
  BITGATE_CUDA_FUNCTIONS(BITGATE_CUDA_MEMBER)
#undef BITGATE_CUDA_MEMBER

  /// "CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)"
  std::string describe(Result result) const;
};

/// The driver, loaded once; null with `reason` filled when there is none or a function is missing.
const Driver* load_driver(std::string& reason);

/// A driver call that failed: the message names the call and the error.
class Error : public std::runtime_error {
 public:
  Error(Result result, const std::string& message) : std::runtime_error(message), result_(result) {}
  Result result() const { return result_; }

 private:
  Result result_;
};

/// Throws Error unless `result` is success.
void check(const Driver& driver, Result result, const char* call);

}  // namespace bitgate::kernels::cuda
