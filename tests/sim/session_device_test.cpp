// Sessions whose batches and vectors are on emulated devices: the CPU's digests and bits, whoever makes batches and
// whichever way vectors go.
#include "launcher/session_device.hpp"

#include "gpu/run/program_stream.hpp"
#include "tests/sim/link_files.hpp"
#include "tests/sim/session_support.hpp"

#include <atomic>
#include <cmath>
#include <cstring>
#include <mutex>
#include <random>
#include <thread>

namespace troupe {
namespace {

using testing::one_host;
using testing::Overrides;
using testing::RankFunction;
using testing::take_all;
using testing::two_hosts;
using testing::with;

class SessionsOnDevices : public testing::SessionTest {
 protected:
  /// Of a program that takes batches on devices.
  SessionOutcome run_there(const Overrides& overrides, const RankFunction& fn) {
    return run(overrides, fn, {.options = {.device_batches = true}});
  }
};

template <class T>
bool same_bytes(std::span<const T> there, std::span<const T> host) {
  return there.size() == host.size() && there.data() != host.data() &&
         std::memcmp(there.data(), host.data(), host.size_bytes()) == 0;
}
template <class T, class A>
bool same_bytes(std::span<const T> there, const std::vector<T, A>& host) {
  return host.empty() ? there.empty() : same_bytes(there, std::span<const T>(host));
}

// ---- batches ----

void expect_arrays(const DeviceArrays& there, const Batch& batch) {
  const auto& sampled = *batch.sampled;
  EXPECT_TRUE(same_bytes(there.seed_index(), sampled.seed_index));
  EXPECT_TRUE(same_bytes(there.labels(), batch.labels));
  for (std::size_t t = 0; t < sampled.nodes.size(); ++t) {
    EXPECT_TRUE(same_bytes(there.there(sampled.nodes[t].ids), sampled.nodes[t].ids));
    EXPECT_TRUE(same_bytes(there.there(sampled.nodes[t].trees), sampled.nodes[t].trees));
    EXPECT_TRUE(same_bytes(there.there(batch.rows[t].original_ids), batch.rows[t].original_ids));
    EXPECT_EQ(batch.rows[t].features.view().size(), 0U) << "the device alone has them";
  }
  for (const auto& edges : sampled.edges) {
    EXPECT_TRUE(same_bytes(there.there(edges.offsets), edges.offsets.dense()));
    EXPECT_TRUE(same_bytes(there.there(edges.sources), edges.sources));
    EXPECT_TRUE(same_bytes(there.there(edges.edge_ids), edges.edge_ids));
    EXPECT_TRUE(same_bytes(there.there(edges.weights), edges.weights));
  }
  if (sampled.links) {
    EXPECT_TRUE(same_bytes(there.there(sampled.links->sources), sampled.links->sources));
    EXPECT_TRUE(same_bytes(there.there(sampled.links->negative_destinations),
                           sampled.links->negative_destinations));
  }
  const std::vector<float> elsewhere(3);
  EXPECT_TRUE(there.there(std::span<const float>(elsewhere)).empty());
  EXPECT_EQ(there.features(NodeTypeId{7}).size(), 0U) << "no such type";
}

Status expect_features(Session& session, const DeviceArrays& there, const Batch& batch) {
  const auto features = there.features();
  const auto& ids = batch.sampled->nodes[0].ids;
  EXPECT_EQ(features.rows, ids.size());
  if (!ids.empty()) {
    TROUPE_ASSIGN_OR_RETURN(const auto rows, session.read_rows(ids));
    const auto host = rows.features.view();
    EXPECT_TRUE(same_bytes(std::span<const float>(features.data, features.size()),
                           std::span<const float>(host.data, host.size())));
  }
  return ok_status();
}

void expect_block(const DeviceArrays& there, const LayerBlock& host) {
  const auto block = there.block(host);
  EXPECT_EQ(block.num_dst, host.num_dst);
  EXPECT_EQ(block.first_edge(), host.first_edge());
  EXPECT_EQ(block.num_edges(), host.num_edges());
  EXPECT_TRUE(host.num_dst == 0 || same_bytes(block.offsets, host.offsets));
  EXPECT_TRUE(host.sources.empty() || same_bytes(block.sources, host.sources));
}

Status take_quietly(Session& session) {
  for (std::uint32_t e = 0; e < session.epochs(); ++e) {
    for (const Batch& batch : session.epoch(e)) {
      static_cast<void>(batch);
    }
  }
  return session.status();
}

/// Takes all batches, and compares what is on the device with what the host has.
Status compare_all(Session& session) {
  TROUPE_ASSIGN_OR_RETURN(auto device, session.device());
  for (std::uint32_t e = 0; e < session.epochs(); ++e) {
    for (const Batch& batch : session.epoch(e)) {
      TROUPE_ASSIGN_OR_RETURN(const auto there, device.batch());
      expect_arrays(there, batch);
      TROUPE_RETURN_IF_ERROR(expect_features(session, there, batch));
      for (std::uint32_t layer = 0; layer < batch.sampled->hops; ++layer) {
        expect_block(there, layer_block(*batch.sampled, layer, batch.sampled->hops));
      }
      EXPECT_OK(device.release_after());
    }
  }
  EXPECT_ERROR(device.batch(), Errc::failed_precondition, "expected a turn of an epoch");
  return session.status();
}

const Overrides whole_graph = {"cluster.hosts=2", "partition.parts=1", "cluster.replicas=2"};

TEST_F(SessionsOnDevices, BatchesHaveTheDigestAndTheArraysOfTheHosts) {
  const Overrides edge_ids = {"sample.edge_data=[\"ids\"]"};
  const std::vector<Overrides> layouts = {
      whole_graph,  // sampled on the device
      with(whole_graph, {"features.cache.device_budget=10%", "sample.device_lists=pinned"}),
      with(whole_graph, edge_ids),
      with(whole_graph, {"sample.frontier=all"}),
      {"partition.parts=1", "cluster.trainers_per_host=3"},  // three ranks of two devices
      with(whole_graph, {"sample.disjoint=true"}),           // sampled by the host
      two_hosts,                                             // rows of several parts
      with(two_hosts, edge_ids),
      with(one_host, {"features.cache.device_budget=0", "digest=ids"}),
      with(two_hosts, testing::write_cora_links(folder_.path()))};
  for (const auto& layout : layouts) {
    SCOPED_TRACE(::testing::PrintToString(layout));
    const auto on_host = run(layout, take_quietly);
    const auto there = run_there(with(layout, {"cluster.device=emulated:2"}), compare_all);
    EXPECT_OK(on_host.status);
    EXPECT_OK(there.status);
    EXPECT_EQ(to_string(there.batches), to_string(on_host.batches));
    EXPECT_EQ(there.steps, on_host.steps);
  }
}

TEST_F(SessionsOnDevices, BatchesAreOnTheHostForProgramsThatDoNotAskForThem) {
  const auto look = [](const std::string& why) {
    return [why](Session& session) -> Status {
      TROUPE_ASSIGN_OR_RETURN(auto device, session.device());
      for (const Batch& batch : session.epoch(0)) {
        EXPECT_EQ(batch.rows[0].features.rows(), batch.sampled->nodes[0].ids.size());
        EXPECT_ERROR(device.batch(), Errc::failed_precondition, why);
        EXPECT_ERROR(device.release_after(), Errc::failed_precondition, "in host memory");
      }
      return session.status();
    };
  };
  const auto device = with(two_hosts, {"cluster.device=emulated:1"});
  EXPECT_OK(run(device, look("RanksOptions::device_batches")).status);
  EXPECT_OK(run_there(with(device, {"sample.on=host"}), look("sample.on is \"host\"")).status);
  EXPECT_OK(run_there(with(device, {"cluster.placement=worker"}),
                      look("expected a rank that makes its own batches"))
                .status);
}

TEST_F(SessionsOnDevices, WhatCannotBeMadeThereIsRefusedAtTheStart) {
  const auto settings = with(two_hosts, {"cluster.device=emulated:1", "sample.on=device"});
  EXPECT_ERROR(run_there(settings, take_all).status, Errc::invalid_argument,
               "a graph of 2 parts is not built yet");
  EXPECT_ERROR(run_there({testing::whole_cora, "cluster.device=emulated:1,2MB",
                          "features.cache.device_budget=10MB"},
                         take_all)
                   .status,
               Errc::out_of_memory, "memory of a device");
}

/// Nothing is set aside for the built-in model, which does not train.
TEST_F(SessionsOnDevices, RowsHaveTheRoomThatTheBuiltInModelWouldTake) {
  std::uint64_t device = 0;
  std::uint64_t pinned = 0;
  SessionSetup setup{.options = {.device_batches = true}};
  setup.on_epoch = [&](const net::RankEpoch& epoch) {
    device += epoch.result.counters.rows_device;
    pinned += epoch.result.counters.rows_pinned;
    return ok_status();
  };
  const Overrides settings = {testing::whole_cora, "partition.parts=1", "model.hidden=4096",
                              "cluster.device=emulated:1,64MiB"};
  EXPECT_OK(run(settings, take_all, std::move(setup)).status);
  EXPECT_GT(device, 0U);
  EXPECT_EQ(pinned, 0U);
}

TEST_F(SessionsOnDevices, ArraysOutliveTheirTurn) {
  const auto ran =
      run_there(with(two_hosts, {"cluster.device=emulated:1"}), [](Session& session) -> Status {
        TROUPE_ASSIGN_OR_RETURN(auto device, session.device());
        std::vector<std::pair<DeviceArrays, std::vector<float>>> kept;
        for (const Batch& batch : session.epoch(0)) {
          static_cast<void>(batch);
          TROUPE_ASSIGN_OR_RETURN(auto there, device.batch());
          const auto rows = there.features();
          kept.emplace_back(std::move(there),
                            std::vector<float>(rows.data, rows.data + rows.size()));
        }
        EXPECT_EQ(kept.size(), session.steps_per_epoch());
        for (const auto& [there, rows] : kept) {
          EXPECT_TRUE(std::ranges::equal(std::span(there.features().data, rows.size()), rows));
        }
        return session.status();
      });
  EXPECT_OK(ran.status);
}

/// A stream that notes what is kept, and for which stream.
class NotingStream final : public gpu::ProgramStream {
 public:
  Result<std::shared_ptr<void>> memory(std::size_t /*size_bytes*/) override {
    return Error(Errc::unimplemented, "memory");
  }
  Status check(const void* /*at*/, std::size_t /*size_bytes*/) override { return ok_status(); }
  Status upload(const void* /*host*/, void* /*to*/, std::size_t /*size_bytes*/) override {
    return ok_status();
  }
  Status download(const void* /*from*/, void* /*host*/, std::size_t /*size_bytes*/) override {
    return ok_status();
  }
  Status follow(void* /*theirs*/) override { return ok_status(); }
  Status zero(std::span<float> /*values*/) override { return ok_status(); }
  Status mean_of_one(std::span<float> /*values*/, float /*divisor*/) override {
    return ok_status();
  }
  Status keep(std::shared_ptr<const void> what, void* theirs) override {
    kept.emplace_back(std::move(what), theirs);
    return ok_status();
  }

  std::vector<std::pair<std::shared_ptr<const void>, void*>> kept;
};

TEST(OwnersOfDeviceArrays, KeepTheBatchForTheirStreamWhenTheLastCopyEnds) {
  const auto stream = std::make_shared<NotingStream>();
  auto batch = std::make_shared<const Batch>();
  const std::weak_ptr<const Batch> watched = batch;
  int theirs = 0;
  auto owner = DeviceArrays(std::move(batch), stream).owner(&theirs);
  auto copy = owner;
  EXPECT_FALSE(watched.expired()) << "the arrays have gone, an owner has not";

  owner.reset();
  EXPECT_TRUE(stream->kept.empty());
  std::thread([&] { copy.reset(); }).join();
  ASSERT_EQ(stream->kept.size(), 1U);
  EXPECT_EQ(stream->kept[0].second, &theirs);
  EXPECT_EQ(stream->kept[0].first, watched.lock());
  stream->kept.clear();
  EXPECT_TRUE(watched.expired()) << "nothing else holds the batch";
}

TEST_F(SessionsOnDevices, OwnersOutliveTheirRun) {
  std::shared_ptr<const void> owner;
  std::vector<float> copy;
  ConstMatrix rows;
  const auto ran =
      run_there(with(one_host, {"cluster.device=emulated:1"}), [&](Session& session) -> Status {
        TROUPE_ASSIGN_OR_RETURN(auto device, session.device());
        for (const Batch& batch : session.epoch(0)) {
          TROUPE_ASSIGN_OR_RETURN(const auto there, device.batch());
          if (!owner && !batch.labels.empty()) {
            owner = there.owner();
            rows = there.features();
            copy.assign(rows.data, rows.data + rows.size());
          }
        }
        return session.status();
      });
  EXPECT_OK(ran.status);
  ASSERT_TRUE(owner);
  EXPECT_TRUE(std::ranges::equal(std::span(rows.data, rows.size()), copy));
  owner.reset();
}

// ---- who and where ----

TEST_F(SessionsOnDevices, SayWhichDeviceAndWhichOfTheirHostsRanksTheyAre) {
  struct Place {
    std::string device;
    std::uint32_t local_rank = 0;
    std::uint32_t local_world = 0;
  };
  const auto places_of = [&](const Overrides& overrides) {
    std::mutex mutex;
    std::map<std::uint32_t, Place> places;
    const auto ran = run(overrides, [&](Session& session) {
      const auto devices = session.devices();
      const std::lock_guard guard(mutex);
      places[raw(session.rank())] = {devices.empty() ? "none" : to_string(devices.at(0)),
                                     session.local_rank(), session.local_world()};
      return ok_status();
    });
    EXPECT_OK(ran.status);
    return places;
  };
  const Overrides four = {"cluster.hosts=2", "cluster.trainers_per_host=2"};
  for (const char* const placement : {"collocated", "worker", "server_client"}) {
    SCOPED_TRACE(placement);
    const auto places = places_of(with(
        four, {"cluster.device=emulated:2", std::string("cluster.placement=").append(placement)}));
    ASSERT_EQ(places.size(), 4U);
    for (const auto& [rank, place] : places) {
      EXPECT_EQ(place.local_rank, rank % 2) << rank;
      EXPECT_EQ(place.local_world, 2U);
      EXPECT_EQ(place.device, rank % 2 == 0 ? "emulated:0" : "emulated:1");
    }
  }
  EXPECT_EQ(places_of(four).at(3).device, "none");
  EXPECT_EQ(places_of({"cluster.hosts=3"}).at(2).local_rank, 0U);
}

TEST_F(SessionsOnDevices, ARankOnACpuHasNone) {
  const auto ran = run_there(two_hosts, [](Session& session) {
    EXPECT_TRUE(session.devices().empty());
    EXPECT_ERROR(session.device(), Errc::failed_precondition, "expected a device, found a CPU");
    return take_all(session);
  });
  EXPECT_OK(ran.status);
}

// ---- vectors ----

/// Numbers of very different sizes, so that sums depend on their order.
std::vector<float> numbers(std::uint32_t rank, std::size_t size) {
  std::mt19937 random(rank * 1000 + static_cast<std::uint32_t>(size));
  std::normal_distribution<float> normal;
  std::vector<float> values(size);
  for (auto& value : values) {
    value = normal(random) * std::exp(6 * normal(random));
  }
  return values;
}

/// A vector in the memory of a session's device.
struct VectorThere {
  std::shared_ptr<void> memory;
  std::size_t size = 0;
  std::span<float> span() const { return {static_cast<float*>(memory.get()), size}; }

  static Result<VectorThere> of(SessionDevice& device, std::span<const float> values) {
    VectorThere vector;
    vector.size = values.size();
    TROUPE_ASSIGN_OR_RETURN(vector.memory, device.memory(values.size_bytes()));
    TROUPE_RETURN_IF_ERROR(device.upload(std::as_bytes(values), vector.memory.get()));
    return vector;
  }
  Result<std::vector<float>> read(SessionDevice& device) const {
    std::vector<float> values(size);
    TROUPE_RETURN_IF_ERROR(
        device.download(memory.get(), std::as_writable_bytes(std::span(values))));
    return values;
  }
};

/// Sums and means on devices beside those of vectors in host memory, of all sizes.
/// \param exchanges  whether they go between devices, once the ranks are connected
RankFunction compare_sums(bool exchanges) {
  return [exchanges](Session& session) -> Status {
    TROUPE_ASSIGN_OR_RETURN(auto device, session.device());
    const auto rank = raw(session.rank());
    for (const std::size_t size : {1000U, 1U, 33U, 0U, 4096U, 3U, 300'001U}) {
      const auto mine = numbers(rank, size);
      for (const std::uint64_t weight : {rank + 1U, rank % 2 == 0 ? 7U : 0U, 0U}) {
        auto mean = mine;
        TROUPE_ASSIGN_OR_RETURN(const auto total, session.all_reduce_mean(mean, weight));
        TROUPE_ASSIGN_OR_RETURN(const auto vector, VectorThere::of(device, mine));
        TROUPE_ASSIGN_OR_RETURN(const auto there, device.all_reduce_mean(vector.span(), weight));
        EXPECT_EQ(there, total);
        TROUPE_ASSIGN_OR_RETURN(const auto got, vector.read(device));
        EXPECT_EQ(got, mean) << size << " numbers, weight " << weight;
      }
      auto sum = mine;
      TROUPE_RETURN_IF_ERROR(session.all_reduce(sum));
      TROUPE_ASSIGN_OR_RETURN(const auto vector, VectorThere::of(device, mine));
      TROUPE_RETURN_IF_ERROR(device.all_reduce(vector.span()));
      TROUPE_ASSIGN_OR_RETURN(const auto got, vector.read(device));
      EXPECT_EQ(got, sum) << size;
      EXPECT_EQ(device.exchanges(), exchanges);
    }
    return session.status();
  };
}

TEST_F(SessionsOnDevices, SumsHaveTheBitsOfTheLinksWhicheverWayTheyGo) {
  const std::vector<std::pair<Overrides, bool>> layouts = {
      {{"cluster.hosts=2", "cluster.device=emulated:1"}, true},
      {{"cluster.trainers_per_host=3", "cluster.device=emulated:3"}, true},
      {{"cluster.hosts=2", "cluster.trainers_per_host=2", "cluster.device=emulated:2"}, true},
      {{"cluster.trainers_per_host=2", "cluster.device=emulated:1"}, false},  // share it
      {{"cluster.device=emulated:1"}, true}};                                 // alone
  for (const auto& [layout, exchanges] : layouts) {
    SCOPED_TRACE(::testing::PrintToString(layout));
    EXPECT_OK(run(layout, compare_sums(exchanges)).status);
  }
}

TEST_F(SessionsOnDevices, SumsAndStepsTakeTurns) {
  const auto settings = with(two_hosts, {"cluster.device=emulated:1"});
  const auto plain = run(two_hosts, take_all);
  const auto ran = run_there(settings, [](Session& session) -> Status {
    TROUPE_ASSIGN_OR_RETURN(auto device, session.device());
    const std::vector<float> ones(100, 1.0F);
    for (std::uint32_t e = 0; e < session.epochs(); ++e) {
      for (const Batch& batch : session.epoch(e)) {
        static_cast<void>(batch);
        TROUPE_ASSIGN_OR_RETURN(const auto vector, VectorThere::of(device, ones));
        TROUPE_RETURN_IF_ERROR(device.all_reduce(vector.span()));
        TROUPE_ASSIGN_OR_RETURN(const auto got, vector.read(device));
        EXPECT_EQ(got, std::vector<float>(100, 2.0F));
        TROUPE_RETURN_IF_ERROR(session.barrier(std::chrono::seconds(60)));
        TROUPE_RETURN_IF_ERROR(session.end_step());
      }
    }
    EXPECT_TRUE(device.exchanges());
    return session.status();
  });
  EXPECT_OK(ran.status);
  EXPECT_EQ(ran.batches, plain.batches);
}

/// Connects the ranks' devices; then rank 1 does something else than the others.
RankFunction connected_then(const std::function<Status(Session&, SessionDevice&)>& fn) {
  return [fn](Session& session) -> Status {
    TROUPE_ASSIGN_OR_RETURN(auto device, session.device());
    TROUPE_ASSIGN_OR_RETURN(const auto vector,
                            VectorThere::of(device, std::vector<float>(10, 1.0F)));
    for (int i = 0; i < 3; ++i) {
      TROUPE_RETURN_IF_ERROR(device.all_reduce(vector.span()));
    }
    EXPECT_TRUE(device.exchanges());
    return fn(session, device);
  };
}

TEST_F(SessionsOnDevices, RanksThatDifferAreToldInsteadOfWaitingForEachOther) {
  const Overrides settings = {"cluster.hosts=2", "cluster.device=emulated:1"};
  const auto lengths = run(settings, connected_then([](Session& session, SessionDevice& device) {
                             const std::vector<float> mine(10 + raw(session.rank()), 1.0F);
                             const auto vector = VectorThere::of(device, mine);
                             return device.all_reduce(vector->span());
                           }));
  EXPECT_ERROR(lengths.status, Errc::invalid_argument,
               "expected vectors of one length, rank 0 has 10 numbers, rank 1 has 11");
  const auto calls =
      run(settings, connected_then([](Session& session, SessionDevice& device) -> Status {
            std::vector<float> mine(10, 1.0F);
            if (raw(session.rank()) == 1) {
              return session.all_reduce(mine);
            }
            TROUPE_ASSIGN_OR_RETURN(const auto vector, VectorThere::of(device, mine));
            return device.all_reduce(vector.span());
          }));
  EXPECT_ERROR(calls.status, Errc::invalid_argument, "all_reduce on a device");
  const auto early =
      run(settings, connected_then([](Session& session, SessionDevice& device) -> Status {
            if (raw(session.rank()) == 1) {
              return ok_status();
            }
            TROUPE_ASSIGN_OR_RETURN(const auto vector,
                                    VectorThere::of(device, std::vector<float>(10, 1.0F)));
            return device.all_reduce(vector.span());
          }));
  EXPECT_ERROR(early.status, Errc::failed_precondition, "rank 1 has ended");
}

TEST_F(SessionsOnDevices, ARankWhoseVectorIsNotThereEndsTheRun) {
  const auto ran = run({"cluster.hosts=2", "cluster.device=emulated:1"},
                       connected_then([](Session& session, SessionDevice& device) -> Status {
                         std::vector<float> mine(10, 1.0F);
                         if (raw(session.rank()) == 1) {
                           return device.all_reduce(mine);
                         }
                         TROUPE_ASSIGN_OR_RETURN(const auto vector, VectorThere::of(device, mine));
                         return device.all_reduce(vector.span());
                       }));
  EXPECT_ERROR(ran.status, Errc::invalid_argument, "expected 40 bytes of a device's memory, found");
}

TEST_F(SessionsOnDevices, MemoryThatIsNotThereIsAnErrorOfItsCallAlone) {
  const auto ran = run({"cluster.device=emulated:1,64MB"}, [](Session& session) -> Status {
    TROUPE_ASSIGN_OR_RETURN(auto device, session.device());
    EXPECT_ERROR(device.memory(std::size_t{1} << 30), Errc::out_of_memory, "expected room for");
    std::vector<float> host(16, 2.0F);
    const auto bytes = std::as_writable_bytes(std::span(host));
    EXPECT_ERROR(device.upload(bytes, host.data()), Errc::invalid_argument, "the host's");
    EXPECT_ERROR(device.download(host.data(), bytes), Errc::invalid_argument, "the host's");
    TROUPE_ASSIGN_OR_RETURN(const auto vector, VectorThere::of(device, host));
    EXPECT_ERROR(device.download(vector.memory.get(), {bytes.data(), std::size_t{1} << 20}),
                 Errc::invalid_argument, "where fewer follow");
    TROUPE_ASSIGN_OR_RETURN(const auto got, vector.read(device));
    EXPECT_EQ(got, host);
    int stream = 0;
    EXPECT_ERROR(device.all_reduce(vector.span(), &stream), Errc::invalid_argument,
                 "expected no stream");
    return ok_status();
  });
  EXPECT_ERROR(ran.status, Errc::invalid_argument, "expected no stream");
}

}  // namespace
}  // namespace troupe
