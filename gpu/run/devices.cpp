#include "gpu/run/devices.hpp"

#include "gpu/base/emulated_device.hpp"
#include "gpu/base/on_stream.hpp"
#include "gpu/nn/emulated_block_ops.hpp"
#include "gpu/nn/product_pieces.hpp"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>
#include <sstream>

namespace troupe::gpu {
namespace {

class EmulatedDevices final : public Devices {
 public:
  EmulatedDevices(const DeviceChoice& choice, std::shared_ptr<EmulatedNetwork> network)
      : network_(network ? std::move(network) : std::make_shared<EmulatedNetwork>()) {
    const auto memory = choice.memory_bytes > 0 ? choice.memory_bytes : emulated_memory_bytes;
    for (std::uint32_t i = 0; i < choice.count; ++i) {
      devices_.push_back(std::make_shared<EmulatedDevice>(
          EmulatedOptions{.memory_bytes = memory, .seed = i + std::uint64_t{1}}));
    }
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
      names.push_back(fmt::format("emulated device {}", i));
    }
    return names;
  }
  std::vector<int> numbers() const override {
    std::vector<int> numbers(devices_.size());
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
  }
  Result<std::unique_ptr<nn::BlockOps>> block_ops(Rank rank, nn::Precision precision) override {
    if (precision == nn::Precision::tf32) {
      return Error(Errc::unimplemented,
                   "products on an emulated device: expected float32 or bf16, as on CPUs, found "
                   "tf32");
    }
    return make_emulated_block_ops(of(rank), precision);
  }
  Result<std::unique_ptr<nn::BlockOps>> exact_ops(Rank rank) override {
    return make_emulated_block_ops(of(rank), nn::Precision::float32, exact_product_rows());
  }
  std::size_t exact_product_rows() const override { return emulated_product_rows; }
  Result<std::unique_ptr<DeviceMeans>> means(Rank /*rank*/, const nn::BlockOps& ops,
                                             const DeviceMeansOptions& options) override {
    return means_on(dynamic_cast<const OnStream<EmulatedStream>*>(&ops), options);
  }
  Result<std::unique_ptr<ProgramStream>> program_stream(Rank rank) override {
    return make_emulated_program_stream(of(rank));
  }
  Result<std::unique_ptr<DeviceMeans>> means(Rank /*rank*/, const ProgramStream& on,
                                             const DeviceMeansOptions& options) override {
    return means_on(dynamic_cast<const OnStream<EmulatedStream>*>(&on), options);
  }
  Result<MemoryOfDevice> memory(Rank rank) override {
    const auto& memory = of(rank)->memory();
    return MemoryOfDevice{memory.size_bytes() - memory.used_bytes(), memory.size_bytes()};
  }
  Result<std::shared_ptr<const DeviceGraph>> graph(Rank rank, const GraphArrays& arrays,
                                                   Topology topology,
                                                   const DeviceGraph* beside) override {
    return emulated_graph(of(rank), arrays, topology, beside);
  }
  Result<std::shared_ptr<const DeviceFeatures>> features(Rank rank, const FeatureArrays& arrays,
                                                         const RowTiers& near,
                                                         const DeviceFeatures* beside) override {
    return emulated_features(of(rank), arrays, near, beside);
  }
  Result<std::unique_ptr<DeviceSampler>> sampler(Rank rank,
                                                 std::shared_ptr<const DeviceGraph> graph,
                                                 SamplingPlan plan) override {
    return make_emulated_sampler(of(rank), std::move(graph), std::move(plan));
  }
  Result<std::unique_ptr<DeviceRowSource>> row_source(
      Rank rank, std::shared_ptr<const DeviceFeatures> features) override {
    return make_emulated_row_source(of(rank), std::move(features));
  }

 private:
  /// \param on  null: what was given has no such stream
  Result<std::unique_ptr<DeviceMeans>> means_on(const OnStream<EmulatedStream>* on,
                                                const DeviceMeansOptions& options) const {
    if (on == nullptr) {
      return Error(Errc::invalid_argument,
                   "communicator of emulated devices: expected operations of one");
    }
    return emulated_means(network_, on->stream(), options.order);
  }
  const std::shared_ptr<EmulatedDevice>& of(Rank rank) const {
    return devices_[raw(rank) % devices_.size()];
  }

  std::shared_ptr<EmulatedNetwork> network_;
  std::vector<std::shared_ptr<EmulatedDevice>> devices_;
};

}  // namespace

std::size_t device_of(const Devices& devices, Rank rank) {
  return raw(rank) % devices.names().size();
}

std::string text_of(const Devices& devices) {
  const auto names = devices.names();
  std::vector<std::string> groups;
  for (std::size_t first = 0; first < names.size();) {
    const auto begin = names.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = std::ranges::find_if_not(
        begin, names.end(), [&](const std::string& name) { return name == names[first]; });
    const auto count = static_cast<std::size_t>(end - begin);
    groups.push_back(count == 1 ? names[first] : fmt::format("{} x {}", count, names[first]));
    first += count;
  }
  const auto versions = devices.versions();
  return fmt::format("{}{}{}", fmt::join(groups, ", "), versions.empty() ? "" : "; ", versions);
}

std::string driver_number(std::string_view version_file) {
  constexpr std::string_view before = "Kernel Module";
  const auto at = version_file.find(before);
  if (at == std::string_view::npos) {
    return {};
  }
  std::istringstream words{std::string(version_file.substr(at + before.size()))};
  for (std::string word; words >> word;) {
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0 &&
        word.find('.') != std::string::npos) {
      return word;
    }
  }
  return {};
}

Status check_capability(const FoundCapability& device, int least) {
  if (device.capability >= least) {
    return ok_status();
  }
  return Error(
      Errc::failed_precondition,
      fmt::format("CUDA devices: expected compute capability {}.{} or later, found {}.{} ({}, "
                  "number {}); try: the device \"cpu\", \"cuda:LIST\" without it, or a build for "
                  "it (-DCMAKE_CUDA_ARCHITECTURES={})",
                  least / 10, least % 10, device.capability / 10, device.capability % 10,
                  device.name, device.number, device.capability));
}

FoundDevices found_devices(const Result<std::shared_ptr<Devices>>& devices,
                           const Status& libraries) {
  const auto reason = [](const Error& error) {
    const auto& text = error.what();
    return text.substr(0, text.find("; try: "));
  };
  if (!devices) {
    return {.kind = DeviceKind::cpu, .text = reason(devices.error())};
  }
  if (!libraries) {
    return {.kind = DeviceKind::cpu, .text = reason(libraries.error())};
  }
  return {.kind = DeviceKind::cuda, .text = text_of(**devices)};
}

FoundDevices find_devices() {
  return found_devices(open_cuda_devices({}), check_cuda_libraries());
}

Result<std::shared_ptr<Devices>> open_devices(const DeviceChoice& choice,
                                              std::shared_ptr<EmulatedNetwork> network) {
  switch (choice.kind) {
    case DeviceKind::cpu:
      break;
    case DeviceKind::cuda:
      return open_cuda_devices(choice.numbers);
    case DeviceKind::emulated:
      return std::shared_ptr<Devices>(
          std::make_shared<EmulatedDevices>(choice, std::move(network)));
    case DeviceKind::undecided:
      return Error(Errc::failed_precondition, "cluster.device \"auto\": expected a decision");
  }
  return std::shared_ptr<Devices>();
}

}  // namespace troupe::gpu
