#pragma once
/// \file data_path.hpp
/// The samplers and the collector that work for one trainer or evaluator, started anew when one of
/// them is lost. What comes out of them does not depend on them (design, section 4), so whatever
/// had not arrived is simply asked for again.
#include "runtime/base/result.hpp"

#include <caf/actor.hpp>
#include <caf/actor_addr.hpp>
#include <caf/fwd.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace troupe {

struct DataPath {
  std::vector<caf::actor> samplers;  ///< at least one
  caf::actor collector;              ///< null: each sampler stands for a process that has its own
  caf::actor own =
      {};  ///< samples here, with options that do not travel; null: any of `samplers` can
};
using SpawnDataPath = std::function<DataPath()>;

/// Lifecycle:  start() in the owner's behavior; the destructor ends the actors
/// Threads:    inside the owner's handlers
/// Guarantees: at most `max_restarts` in a row without a batch in between
class DataPathKeeper {
 public:
  static constexpr std::uint32_t max_restarts = 5;

  explicit DataPathKeeper(SpawnDataPath spawn) : spawn_(std::move(spawn)) {}
  ~DataPathKeeper();
  DataPathKeeper(const DataPathKeeper&) = delete;
  DataPathKeeper& operator=(const DataPathKeeper&) = delete;

  void start(caf::event_based_actor* self);
  bool owns(const caf::actor_addr& source) const;
  /// Ends what is left and starts all anew; the owner then asks again.
  /// \errors peer_lost: that was one restart too many, with what ended the actor last
  Status restart(caf::event_based_actor* self, const Error& why);

  const caf::actor& sampler(std::uint64_t number) const {
    return path_.samplers[number % path_.samplers.size()];
  }
  /// For requests with options of their own.
  const caf::actor& sampler_here(std::uint64_t number) const {
    return path_.own ? path_.own : sampler(number);
  }
  /// Counts starts, so that answers of an earlier path can be told.
  std::uint64_t incarnation() const { return incarnation_; }
  void batch_arrived() { restarts_ = 0; }

 private:
  void end_all();

  SpawnDataPath spawn_;
  DataPath path_;
  std::uint64_t incarnation_ = 0;
  std::uint32_t restarts_ = 0;
};

}  // namespace troupe
