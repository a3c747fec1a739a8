// A thread of its own makes a communicator's calls and waits for what they launch: some calls wait for other
// ranks, and all of them must be of one thread at a time.
#include "gpu/base/cuda_stream.cuh"
#include "gpu/base/on_stream.hpp"
#include "gpu/comm/communicator.hpp"
#include "gpu/comm/cuda_means.hpp"
#include "gpu/comm/nccl.cuh"
#include "gpu/run/program_stream.hpp"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace troupe::gpu {
namespace {

static_assert(Communicator<NcclCommunicator, CudaStream>);

using SteadyClock = std::chrono::steady_clock;

/// What a communicator's thread and its rank share.
struct RankState {
  NcclLibrary library;
  int device = 0;
  CommunicatorId id;
  std::size_t rank = 0;
  std::size_t world = 0;
  SumOrder order = SumOrder::by_rank;

  std::atomic<bool> stop = false;
  std::atomic<bool> joined = false;
  std::atomic<bool> over = false;  ///< The thread does nothing more
  std::mutex mutex;
  std::condition_variable wakes;
  std::optional<DeviceMean::Work> work;
  Status failed = ok_status();

  std::thread thread = {};
};

class RankThread {
 public:
  RankThread(std::shared_ptr<RankState> state, CudaStream on)
      : state_(std::move(state)), on_(std::move(on)), comm_(state_->library, state_->stop) {}
  RankThread(const RankThread&) = delete;
  RankThread& operator=(const RankThread&) = delete;
  ~RankThread() = default;

  void run() {
    Status status =
        on_.ready() ? comm_.join(state_->id, state_->rank, state_->world) : on_.status();
    state_->joined = status.ok();
    while (status) {
      auto work = next();
      if (!work) {
        static_cast<void>(status = Error(Errc::cancelled, "NCCL: aborted"));
        break;
      }
      static_cast<void>(status = *work ? compute(**work) : comm_.async_error());
    }
    end(status.error());
  }

 private:
  /// \returns nothing: the end; null after a while without work
  std::optional<std::optional<DeviceMean::Work>> next() {
    constexpr auto between_looks = std::chrono::milliseconds(100);
    std::unique_lock lock(state_->mutex);
    state_->wakes.wait_for(lock, between_looks,
                           [this] { return state_->stop || state_->work.has_value(); });
    if (state_->stop) {
      return std::nullopt;
    }
    return std::exchange(state_->work, std::nullopt);
  }

  Status compute(DeviceMean::Work& work) {
    const auto divisor = static_cast<float>(work.weight);
    CudaStream on = on_;
    if (state_->order == SumOrder::by_rank) {
      exact_mean(on, comm_, work.vector, divisor);
    } else {
      fast_mean(on, comm_, work.vector, divisor);
    }
    const CudaEvent computed = launched(on, work);
    Status status = on.failed() ? on.status() : wait(computed);
    if (!status) {
      comm_.abort();  // else the stream waits for ever
    }
    work.done(status);
    return status;
  }

  static CudaEvent launched(CudaStream& on, const DeviceMean::Work& work) {
    if (!on.failed()) {
      work.after();
    }
    return on.failed() ? CudaEvent() : on.record();
  }

  /// Ends with an error where NCCL notices a lost rank, or the run aborts the communicator.
  Status wait(const CudaEvent& event) {
    const auto began = SteadyClock::now();
    for (;;) {
      const cudaError_t error = cudaEventQuery(event.get());
      if (error == cudaSuccess) {
        return ok_status();
      }
      if (error != cudaErrorNotReady) {
        return cuda_error(error, "mean over ranks", 1, state_->device);
      }
      cudaGetLastError();  // "not ready", or the next launch would report it
      if (state_->stop) {
        return Error(Errc::cancelled, "NCCL: mean over ranks: aborted");
      }
      TROUPE_RETURN_IF_ERROR(comm_.async_error());
      if (SteadyClock::now() - began > std::chrono::microseconds(500)) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
      } else {
        std::this_thread::yield();
      }
    }
  }

  void end(const Error& why) {
    comm_.abort();
    std::optional<DeviceMean::Work> left;
    {
      const std::lock_guard lock(state_->mutex);
      static_cast<void>(state_->failed = why);
      left = std::exchange(state_->work, std::nullopt);
    }
    if (left) {
      left->done(why);
    }
    state_->over = true;
  }

  std::shared_ptr<RankState> state_;
  CudaStream on_;
  NcclCommunicator comm_;
};

class CudaMean final : public DeviceMean {
 public:
  explicit CudaMean(std::shared_ptr<RankState> state) : state_(std::move(state)) {}
  CudaMean(const CudaMean&) = delete;
  CudaMean& operator=(const CudaMean&) = delete;
  ~CudaMean() override { CudaMean::abort(); }

  Result<bool> ready() override {
    const std::lock_guard lock(state_->mutex);
    TROUPE_RETURN_IF_ERROR(state_->failed);
    return state_->joined.load();
  }
  void launch(Work work) override {
    Status failed = ok_status();
    {
      const std::lock_guard lock(state_->mutex);
      if (!state_->failed) {
        static_cast<void>(failed = state_->failed);
      } else if (state_->stop) {
        static_cast<void>(failed = Error(Errc::cancelled, "NCCL: aborted"));
      } else {
        state_->work = std::move(work);
      }
    }
    if (failed) {
      state_->wakes.notify_one();
    } else {
      work.done(failed);
    }
  }
  void abort() override {
    {
      const std::lock_guard lock(state_->mutex);
      state_->stop = true;
    }
    state_->wakes.notify_one();
  }

 private:
  std::shared_ptr<RankState> state_;
};

std::string hex_of(const char* bytes, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    constexpr const char* digits = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(bytes[i]);
    text.push_back(digits[byte / 16]);
    text.push_back(digits[byte % 16]);
  }
  return text;
}

std::string this_host() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

class CudaMeans final : public DeviceMeans {
 public:
  CudaMeans(NcclLibrary library, int device, CudaStream on, DeviceMeansOptions options)
      : library_(library), device_(device), on_(std::move(on)), options_(options) {
    place_.network = "GPUs with NCCL ";
    place_.network.append(nccl_version_text(library.version));
    if (!options.trusted_network) {
      place_.network.append(" of host ").append(this_host());
    }
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
      place_.device = hex_of(properties.uuid.bytes, sizeof properties.uuid.bytes);
    } else {
      cudaGetLastError();
    }
  }
  CudaMeans(const CudaMeans&) = delete;
  CudaMeans& operator=(const CudaMeans&) = delete;
  ~CudaMeans() override {
    for (const auto& state : states_) {
      CudaMean(state).abort();
    }
    for (const auto& state : states_) {
      state->thread.join();
    }
  }

  DevicePlace place() const override { return place_; }

  Result<CommunicatorId> make_id() override {
    nccl::UniqueId unique{};
    if (const auto status = library_.get_unique_id(&unique); status != nccl::success) {
      return library_.error("id of a communicator", status, nullptr);
    }
    CommunicatorId id(sizeof unique / sizeof(std::uint64_t));
    std::memcpy(id.data(), &unique, sizeof unique);
    return id;
  }

  Result<std::shared_ptr<DeviceMean>> join(const CommunicatorId& id, Rank rank,
                                           std::uint32_t world) override {
    std::erase_if(states_, [](const std::shared_ptr<RankState>& state) {
      if (state->over) {
        state->thread.join();
        return true;
      }
      return false;
    });
    auto state = std::make_shared<RankState>();
    state->library = library_;
    state->device = device_;
    state->id = id;
    state->rank = raw(rank);
    state->world = world;
    state->order = options_.order;
    states_.push_back(state);
    state->thread = std::thread([state, on = on_] { RankThread(state, on).run(); });
    return std::shared_ptr<DeviceMean>(std::make_shared<CudaMean>(std::move(state)));
  }

 private:
  NcclLibrary library_;
  int device_;
  CudaStream on_;
  DeviceMeansOptions options_;
  DevicePlace place_;
  std::vector<std::shared_ptr<RankState>> states_;
};

/// Before NCCL reads it, where the user has not set it.
void set_environment(bool trusted_network) {
  // Vectors come from memory pools, which devices of the same process cannot read by themselves.
  setenv("NCCL_P2P_DIRECT_DISABLE", "1", 0);
  if (!trusted_network) {  // what goes between processes of one host stays in it
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  }
}

/// \param on  null: what was given has no such stream
Result<std::unique_ptr<DeviceMeans>> means_on(int device, const OnStream<CudaStream>* on,
                                              const DeviceMeansOptions& options) {
  if (on == nullptr) {
    return Error(Errc::invalid_argument, "gradients between GPUs: expected operations of a GPU");
  }
  set_environment(options.trusted_network);
  TROUPE_ASSIGN_OR_RETURN(const auto library, NcclLibrary::load());
  return std::unique_ptr<DeviceMeans>(
      std::make_unique<CudaMeans>(library, device, on->stream(), options));
}

}  // namespace

Result<std::unique_ptr<DeviceMeans>> cuda_means(int device, const nn::BlockOps& ops,
                                                const DeviceMeansOptions& options) {
  return means_on(device, dynamic_cast<const OnStream<CudaStream>*>(&ops), options);
}

Result<std::unique_ptr<DeviceMeans>> cuda_means(int device, const ProgramStream& on,
                                                const DeviceMeansOptions& options) {
  return means_on(device, dynamic_cast<const OnStream<CudaStream>*>(&on), options);
}

Result<std::string> nccl_version(const char* file) {
  TROUPE_ASSIGN_OR_RETURN(const auto library, NcclLibrary::load(file));
  return nccl_version_text(library.version);
}

}  // namespace troupe::gpu
