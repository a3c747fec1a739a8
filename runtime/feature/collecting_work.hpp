#pragma once
/// \file collecting_work.hpp
/// Collecting of one batch's rows as a collector does it: rows of this host's parts are read in place,
/// requests for the others are handed out. Knows no actors.
#include "runtime/base/assembly_step.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/best_hits.hpp"
#include "runtime/feature/row_collection.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

struct CollectingInputs {
  std::shared_ptr<const PartitionBook> book;
  std::shared_ptr<const CollectOptions> options;
  std::shared_ptr<const SampledBatch> sampled;
  std::shared_ptr<const RowCache> cache;               ///< Null: none, or not filled yet
  FutureReads future = {};                             ///< Without one: none
  std::shared_ptr<BestHitsOfEpochs> measure;           ///< Null: not measured
  std::span<const std::shared_ptr<const Part>> halos;  ///< Parts here that keep rows around them
  /// The part if this host has it, else nullptr.
  std::function<std::shared_ptr<const Part>(PartId)> part_here;
  std::uint64_t flow = 0;                      ///< Batch in the trace; 0: none
  std::shared_ptr<const RowSlots> slots = {};  ///< Rows are staged for a device; null: placed
};

/// Where the rows of a batch came from.
struct CollectedRows {
  std::uint64_t rows = 0;
  std::uint64_t remote = 0;
  std::uint64_t cached = 0;
  std::uint64_t cached_at_best = 0;
};

/// Lifecycle: step() until done; take()
/// Threads:   one at a time, any
/// Borrows:   the parts of `halos`, which must outlive it
class CollectingWork {
 public:
  using Question = RowQuestion;
  template <class Request>
  using ReplyTo = RowReply;
  using Step = AssemblyStep<RowQuestion>;
  using Arrived = ArrivedReply<std::shared_ptr<const RowReply>>;

  /// Nothing is computed yet.
  explicit CollectingWork(CollectingInputs inputs);

  /// Takes replies and reads the rows of this host's parts. Requests to other hosts are handed out
  /// first. Tensors are requested of their holder on every host.
  /// \errors those of RowCollection
  Result<Step> step(const std::vector<Arrived>& arrived);

  const BatchKey& key() const { return inputs_.sampled->key; }
  const CollectedRows& counts() const { return counts_; }
  /// \requires the last step was done
  Batch take() &&;

 private:
  std::vector<bool> parts_here() const;
  void begin(Step& step);
  Status answer_here();

  CollectingInputs inputs_;
  std::optional<RowCollection> rows_;
  std::vector<std::pair<std::uint32_t, PartId>> local_;  ///< Questions to be answered in place
  CollectedRows counts_;
  std::optional<Batch> batch_;
};

}  // namespace troupe
