// What a session offers of its rank's device.
#include "launcher/session_device.hpp"

#include "launcher/program_device.hpp"
#include "launcher/session_state.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe {
namespace {

/// Ranks of a rank's host, ascending.
std::vector<Rank> ranks_of_host(const Session::State& state) {
  const auto layout = make_layout(state.run->job);
  const auto host = layout.at(layout.process_of(state.place.options.rank)).host;
  std::vector<Rank> ranks;
  for (const ProcessPlan& process : layout.processes) {
    if (process.host == host) {
      ranks.insert(ranks.end(), process.ranks.begin(), process.ranks.end());
    }
  }
  std::ranges::sort(ranks);
  return ranks;
}

/// Vectors that the ranks' devices cannot exchange: down, over the links, and up again.
Status reduce_on_host(Session& session, gpu::ProgramStream& stream, const Contribute& request) {
  const auto there = request.vector;
  std::vector<float> values(there.size());
  TROUPE_RETURN_IF_ERROR(stream.download(there.data(), values.data(), there.size_bytes()));
  if (request.what == Collective::device_mean) {
    TROUPE_RETURN_IF_ERROR(session.all_reduce_mean(values, request.weight));
  } else {
    TROUPE_RETURN_IF_ERROR(session.all_reduce(values));
  }
  return stream.upload(values.data(), there.data(), there.size_bytes());
}

/// One rank: the vector stays where it is.
Status reduce_alone(gpu::ProgramStream& stream, const Contribute& request) {
  const auto divisor = request.what == Collective::device_mean ? request.weight : 1;
  return stream.mean_of_one(request.vector, static_cast<float>(divisor));
}

}  // namespace

std::string to_string(const RankDevice& device) {
  return fmt::format("{}:{}", device.kind == RankDevice::Kind::cuda ? "cuda" : "emulated",
                     device.number);
}

// ---- arrays of batches ----

const std::byte* DeviceArrays::find(std::span<const std::byte> host) const {
  return host.empty() ? nullptr : find_on_device(*batch_->on_device, host);
}

std::shared_ptr<const void> DeviceArrays::owner(void* stream) const {
  const auto end = [batch = batch_, program = stream_, stream](const Batch* /*batch*/) mutable {
    static_cast<void>(program->keep(std::move(batch), stream));  // which waits if it fails
  };
  return {batch_.get(), end};
}

ConstMatrix DeviceArrays::features(NodeTypeId type) const {
  const auto& of_types = batch_->on_device->features;
  return raw(type) < of_types.size() ? of_types[raw(type)] : ConstMatrix{};
}

ConstMatrix DeviceArrays::matrix(const Matrix& host) const {
  return {there(host.view().flat()).data(), host.rows(), host.cols()};
}

ConstMatrix DeviceArrays::edge_features(EdgeTypeId type) const {
  const auto& of_types = batch_->edge_features;
  return raw(type) < of_types.size() ? matrix(of_types[raw(type)]) : ConstMatrix{};
}

LayerBlock DeviceArrays::block(const LayerBlock& host) const {
  LayerBlock there = host;
  const auto first = host.first_edge();
  there.edges = {first, first + host.num_edges()};
  there.offsets = this->there(host.offsets);
  there.sources = this->there(host.sources);
  there.weights = this->there(host.weights);
  return there;
}

// ---- the session's own ----

std::uint32_t Session::local_rank() const {
  const auto ranks = ranks_of_host(*state_);
  return static_cast<std::uint32_t>(std::ranges::find(ranks, rank()) - ranks.begin());
}
std::uint32_t Session::local_world() const {
  return static_cast<std::uint32_t>(ranks_of_host(*state_).size());
}
std::vector<RankDevice> Session::devices() const {
  const auto& device = state_->place.device;
  return device ? std::vector<RankDevice>{device->info} : std::vector<RankDevice>{};
}
Result<SessionDevice> Session::device() {
  if (!state_->place.device) {
    return Error(Errc::failed_precondition,
                 fmt::format("rank {}: expected a device, found a CPU\ntry: cluster.device",
                             state_->rank()));
  }
  return SessionDevice(*state_);
}

// ---- the device ----

const RankDevice& SessionDevice::info() const {
  return state_->place.device->info;
}

Result<DeviceArrays> SessionDevice::batch() const {
  const auto& s = *state_;
  if (!s.in_turn) {
    return Error(Errc::failed_precondition,
                 fmt::format("rank {}: expected a turn of an epoch for a batch on {}", s.rank(),
                             to_string(info())));
  }
  std::shared_ptr<const Batch> batch(s.batch, &s.batch->batch);
  if (!batch->on_device) {
    return Error(Errc::failed_precondition,
                 fmt::format("rank {}: expected a batch on {}, it is in host memory: {}", s.rank(),
                             to_string(info()), s.place.device->why_host));
  }
  return DeviceArrays(std::move(batch), s.place.device->stream);
}

Status SessionDevice::release_after(void* stream) {
  TROUPE_RETURN_IF_ERROR(batch());
  return state_->place.device->stream->keep(state_->batch, stream);
}

Result<std::shared_ptr<void>> SessionDevice::memory(std::size_t size_bytes) {
  return state_->place.device->stream->memory(size_bytes);
}

Status SessionDevice::upload(std::span<const std::byte> host, void* to) {
  auto& stream = *state_->place.device->stream;
  TROUPE_RETURN_IF_ERROR(stream.check(to, host.size()));
  return stream.upload(host.data(), to, host.size());
}

Status SessionDevice::download(const void* from, std::span<std::byte> host) {
  auto& stream = *state_->place.device->stream;
  TROUPE_RETURN_IF_ERROR(stream.check(from, host.size()));
  return stream.download(from, host.data(), host.size());
}

Result<std::uint64_t> SessionDevice::reduce(const Contribute& request, void* stream) {
  auto& s = *state_;
  TROUPE_RETURN_IF_ERROR(s.status);
  auto& on = *s.place.device->stream;
  TROUPE_RETURN_IF_ERROR(s.keep(on.check(request.vector.data(), request.vector.size_bytes())));
  TROUPE_RETURN_IF_ERROR(s.keep(on.follow(stream)));
  if (request.weight == 0) {
    TROUPE_RETURN_IF_ERROR(s.keep(on.zero(request.vector)));  // it adds nothing
  }
  const auto agreed = s.together(request, s.deadline());
  if (!agreed) {
    return std::move(s.keep(agreed.error())).error();
  }
  const bool alone = s.place.options.world == 1 && request.weight > 0;
  s.exchanges = alone || (*agreed)->by_devices;
  if (alone) {
    TROUPE_RETURN_IF_ERROR(s.keep(reduce_alone(on, request)));
  } else if (!s.exchanges) {
    TROUPE_RETURN_IF_ERROR(s.keep(reduce_on_host(*s.session, on, request)));
  }
  return (*agreed)->weight;
}

Status SessionDevice::all_reduce(std::span<float> values, void* stream) {
  Contribute request;
  request.what = Collective::device_sum;
  request.vector = values;
  request.weight = 1;
  TROUPE_RETURN_IF_ERROR(reduce(request, stream));
  return ok_status();
}

Result<std::uint64_t> SessionDevice::all_reduce_mean(std::span<float> values, std::uint64_t weight,
                                                     void* stream) {
  Contribute request;
  request.what = Collective::device_mean;
  request.vector = values;
  request.weight = weight;
  return reduce(request, stream);
}

bool SessionDevice::exchanges() const {
  return state_->exchanges;
}

}  // namespace troupe
