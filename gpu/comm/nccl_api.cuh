#pragma once
/// \file nccl_api.cuh
/// What gpu/comm calls of NCCL, in its binary interface since 2.18: compiling needs no NCCL. nccl.cu compares it
/// with NCCL's own header where there is one.
#include <cuda_runtime.h>

#include <climits>
#include <cstddef>

struct ncclComm;

namespace troupe::gpu::nccl {

using Comm = ::ncclComm*;
using Status = int;  ///< ncclResult_t

inline constexpr Status success = 0;
inline constexpr Status in_progress = 7;
inline constexpr int float32 = 7;  ///< ncclFloat32
inline constexpr int sum = 0;      ///< ncclSum
inline constexpr int undefined = INT_MIN;
inline constexpr int least_version = 21800;
inline constexpr int next_major = 30000;

struct UniqueId {
  char internal[128];
};

/// ncclConfig_t as 2.18 has it; later ones take it by its size and version.
struct Config {
  std::size_t size = sizeof(Config);
  unsigned magic = 0xcafebeef;
  unsigned version = least_version;
  int blocking = 0;
  int cga_cluster_size = undefined;
  int min_ctas = undefined;
  int max_ctas = undefined;
  const char* net_name = nullptr;
  int split_share = undefined;
};

using GetVersion = Status (*)(int* version);
using GetUniqueId = Status (*)(UniqueId* id);
using CommInitRankConfig = Status (*)(Comm* comm, int ranks, UniqueId id, int rank, Config* config);
using CommAbort = Status (*)(Comm comm);
using CommGetAsyncError = Status (*)(Comm comm, Status* error);
using GetErrorString = const char* (*)(Status status);
using GetLastError = const char* (*)(Comm comm);
using GroupStart = Status (*)();
using GroupEnd = Status (*)();
using Send = Status (*)(const void* from, std::size_t count, int type, int peer, Comm comm,
                        cudaStream_t stream);
using Recv = Status (*)(void* to, std::size_t count, int type, int peer, Comm comm,
                        cudaStream_t stream);
using AllGather = Status (*)(const void* mine, void* all, std::size_t count, int type, Comm comm,
                             cudaStream_t stream);
using AllReduce = Status (*)(const void* from, void* to, std::size_t count, int type, int operation,
                             Comm comm, cudaStream_t stream);

}  // namespace troupe::gpu::nccl
