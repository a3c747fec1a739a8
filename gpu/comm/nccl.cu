#include "gpu/base/library_functions.hpp"
#include "gpu/comm/nccl.cuh"

#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <type_traits>
#if __has_include(<nccl.h>)
#include <nccl.h>
#endif

namespace troupe::gpu {

#if __has_include(<nccl.h>)
namespace {

static_assert(NCCL_MAJOR == 2 && std::is_same_v<ncclComm_t, nccl::Comm>);
static_assert(ncclSuccess == nccl::success && ncclInProgress == nccl::in_progress &&
              ncclFloat32 == nccl::float32 && ncclSum == nccl::sum &&
              NCCL_CONFIG_UNDEF_INT == nccl::undefined);
static_assert(sizeof(ncclResult_t) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int) &&
              sizeof(ncclRedOp_t) == sizeof(int));
static_assert(sizeof(ncclUniqueId) == sizeof(nccl::UniqueId) &&
              sizeof(ncclUniqueId) <= most_communicator_words * sizeof(std::uint64_t));
static_assert(offsetof(ncclConfig_t, magic) == offsetof(nccl::Config, magic) &&
              offsetof(ncclConfig_t, version) == offsetof(nccl::Config, version) &&
              offsetof(ncclConfig_t, blocking) == offsetof(nccl::Config, blocking) &&
              offsetof(ncclConfig_t, netName) == offsetof(nccl::Config, net_name) &&
              offsetof(ncclConfig_t, splitShare) == offsetof(nccl::Config, split_share));
static_assert(std::is_same_v<decltype(&ncclGetVersion), ncclResult_t (*)(int*)>);
static_assert(std::is_same_v<decltype(&ncclGetUniqueId), ncclResult_t (*)(ncclUniqueId*)>);
static_assert(std::is_same_v<decltype(&ncclCommInitRankConfig),
                             ncclResult_t (*)(ncclComm_t*, int, ncclUniqueId, int, ncclConfig_t*)>);
static_assert(std::is_same_v<decltype(&ncclCommAbort), ncclResult_t (*)(ncclComm_t)>);
static_assert(
    std::is_same_v<decltype(&ncclCommGetAsyncError), ncclResult_t (*)(ncclComm_t, ncclResult_t*)>);
static_assert(std::is_same_v<decltype(&ncclGetErrorString), const char* (*)(ncclResult_t)>);
static_assert(std::is_same_v<decltype(&ncclGetLastError), const char* (*)(ncclComm_t)>);
static_assert(std::is_same_v<decltype(&ncclGroupStart), ncclResult_t (*)()>);
static_assert(std::is_same_v<decltype(&ncclGroupEnd), ncclResult_t (*)()>);
static_assert(
    std::is_same_v<decltype(&ncclSend), ncclResult_t (*)(const void*, std::size_t, ncclDataType_t,
                                                         int, ncclComm_t, cudaStream_t)>);
static_assert(
    std::is_same_v<decltype(&ncclRecv), ncclResult_t (*)(void*, std::size_t, ncclDataType_t, int,
                                                         ncclComm_t, cudaStream_t)>);
static_assert(std::is_same_v<decltype(&ncclAllGather),
                             ncclResult_t (*)(const void*, void*, std::size_t, ncclDataType_t,
                                              ncclComm_t, cudaStream_t)>);
static_assert(std::is_same_v<decltype(&ncclAllReduce),
                             ncclResult_t (*)(const void*, void*, std::size_t, ncclDataType_t,
                                              ncclRedOp_t, ncclComm_t, cudaStream_t)>);

}  // namespace
#endif

std::string nccl_version_text(int version) {
  return std::to_string(version / 10000)
      .append(".")
      .append(std::to_string(version / 100 % 100))
      .append(".")
      .append(std::to_string(version % 100));
}

Result<NcclLibrary> NcclLibrary::load(const char* file) {
  LibraryFunctions functions(file);
  if (!functions.opened()) {
    return Error(Errc::not_found, std::string("gradients between GPUs: expected ")
                                      .append(file)
                                      .append(", found none (")
                                      .append(functions.why())
                                      .append("); try: install NCCL for CUDA 13, or set "
                                              "LD_LIBRARY_PATH to the folder that has it"));
  }
  NcclLibrary library;
  nccl::GetVersion get_version = nullptr;
  functions.find(get_version, "ncclGetVersion");
  functions.find(library.get_unique_id, "ncclGetUniqueId");
  functions.find(library.comm_init, "ncclCommInitRankConfig");
  functions.find(library.comm_abort, "ncclCommAbort");
  functions.find(library.async_error, "ncclCommGetAsyncError");
  functions.find(library.error_string, "ncclGetErrorString");
  functions.find(library.last_error, "ncclGetLastError");
  functions.find(library.group_start, "ncclGroupStart");
  functions.find(library.group_end, "ncclGroupEnd");
  functions.find(library.send, "ncclSend");
  functions.find(library.recv, "ncclRecv");
  functions.find(library.all_gather, "ncclAllGather");
  functions.find(library.all_reduce, "ncclAllReduce");
  if (functions.missing() != nullptr) {
    return Error(Errc::not_found, std::string("gradients between GPUs: ")
                                      .append(file)
                                      .append(": expected a function ")
                                      .append(functions.missing()));
  }
  if (const auto status = get_version(&library.version); status != nccl::success ||
                                                         library.version < nccl::least_version ||
                                                         library.version >= nccl::next_major) {
    return Error(Errc::failed_precondition, std::string("gradients between GPUs: ")
                                                .append(file)
                                                .append(": expected NCCL ")
                                                .append(nccl_version_text(nccl::least_version))
                                                .append(" or later, before 3, found ")
                                                .append(nccl_version_text(library.version)));
  }
  return library;
}

Error NcclLibrary::error(const char* what, nccl::Status status, nccl::Comm comm) const {
  std::string text = "NCCL: ";
  text.append(what).append(": ").append(error_string(status));
  if (const char* const last = comm == nullptr ? nullptr : last_error(comm);
      last != nullptr && *last != 0) {
    text.append(" (").append(last).append(")");
  }
  return {Errc::peer_lost, std::move(text)};
}

Status NcclCommunicator::settle(const char* what, nccl::Status status) {
  while (status == nccl::in_progress) {
    if (stop_) {
      return Error(Errc::cancelled, std::string("NCCL: ").append(what).append(": aborted"));
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (const auto asked = library_.async_error(comm_, &status); asked != nccl::success) {
      status = asked;
    }
  }
  return status == nccl::success ? ok_status() : Status(library_.error(what, status, comm_));
}

Status NcclCommunicator::join(const CommunicatorId& id, std::size_t rank, std::size_t world) {
  nccl::UniqueId unique{};
  if (id.size() * sizeof(std::uint64_t) != sizeof unique) {
    return Error(Errc::invalid_argument, "NCCL: expected an id of 128 bytes");
  }
  std::memcpy(&unique, id.data(), sizeof unique);
  rank_ = rank;
  world_ = world;
  nccl::Config config;
  const auto status =
      library_.comm_init(&comm_, static_cast<int>(world), unique, static_cast<int>(rank), &config);
  return settle("communicator", status);
}

Status NcclCommunicator::async_error() const {
  nccl::Status status = nccl::success;
  if (const auto asked = library_.async_error(comm_, &status); asked != nccl::success) {
    status = asked;
  }
  return status == nccl::success || status == nccl::in_progress
             ? ok_status()
             : Status(library_.error("communicator", status, comm_));
}

void NcclCommunicator::abort() {
  if (comm_ != nullptr) {
    library_.comm_abort(comm_);
    comm_ = nullptr;
  }
}

void NcclCommunicator::launched(CudaStream& on, const char* what, nccl::Status status) {
  if (const auto settled = settle(what, status); !settled) {
    on.fail(settled.error());
  }
}

void NcclCommunicator::exchange(CudaStream& on, std::span<float> vector, float* received) {
  const Share own = even_share(vector.size(), world_, rank_);
  on.copy(vector.data() + own.first, received + rank_ * own.size, own.size * sizeof(float));
  if (!on.ready()) {
    return;
  }
  auto status = library_.group_start();
  const auto also = [&status](nccl::Status next) {
    status = status == nccl::success || status == nccl::in_progress ? next : status;
  };
  for (std::size_t peer = 0; peer < world_; ++peer) {
    if (peer == rank_) {
      continue;
    }
    const Share slice = even_share(vector.size(), world_, peer);
    const auto number = static_cast<int>(peer);
    if (slice.size > 0) {
      also(library_.send(vector.data() + slice.first, slice.size, nccl::float32, number, comm_,
                         on.get()));
    }
    if (own.size > 0) {
      also(library_.recv(received + peer * own.size, own.size, nccl::float32, number, comm_,
                         on.get()));
    }
  }
  also(library_.group_end());
  launched(on, "exchange of slices", status);
}

void NcclCommunicator::gather(CudaStream& on, const float* mine, std::size_t count, float* all) {
  if (on.ready()) {
    launched(on, "gather of slices",
             library_.all_gather(mine, all, count, nccl::float32, comm_, on.get()));
  }
}

void NcclCommunicator::add(CudaStream& on, std::span<float> vector) {
  if (on.ready()) {
    launched(on, "sum",
             library_.all_reduce(vector.data(), vector.data(), vector.size(), nccl::float32,
                                 nccl::sum, comm_, on.get()));
  }
}

}  // namespace troupe::gpu
