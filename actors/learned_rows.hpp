#pragma once
/// \file learned_rows.hpp
/// Learned rows as a rank uses them: reads those of its batches from the holders of their parts, and
/// sends gradients back.
#include "actors/replica_client.hpp"
#include "runtime/feature/embedding/learned_batch.hpp"
#include "runtime/run/entity_queries.hpp"
#include "runtime/run/reduction.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

namespace troupe {

/// Where the job's tables are.
struct LearnedRowsLinks {
  std::shared_ptr<const EmbeddingPlan> plan;  ///< null: the job has none
  std::shared_ptr<const PartitionBook> book = nullptr;
  std::vector<std::shared_ptr<const Replicas>> holders = {};  ///< [parts]
};

/// Lifecycle:  a member of its actor's state, whose behavior has `run_continuation` and whose down
///   handler calls on_down()
/// Threads:    inside its actor's handlers
/// Guarantees: shares of a step leave once those of the step before are kept by all holders, so that
///   holders keep shares of few steps
/// Bound:      one batch, those read ahead, and the shares of two steps
class LearnedRowsClient {
 public:
  template <class T>
  using Then = std::function<void(Result<T>)>;
  using Rows = std::shared_ptr<const LearnedInputs>;

  /// \param on_error  a share was refused, or nobody keeps it
  LearnedRowsClient(caf::event_based_actor* self, LearnedRowsLinks links, Rank rank,
                    std::function<void(const Error&)> on_error);

  /// Whether the job has tables.
  bool used() const { return links_.plan != nullptr; }
  void set_generation(std::uint32_t generation) { generation_ = generation; }

  /// Rows of a batch before the gradients of `step`.
  void read(const std::shared_ptr<const SampledBatch>& sampled, std::uint64_t step, bool best,
            Then<Rows> then);
  /// Asks for rows of a batch that will be taken later: at `at_least` or a later step. Once for a batch.
  void read_ahead(const std::shared_ptr<const SampledBatch>& sampled, std::uint64_t at_least);
  /// Rows that were asked for ahead, as read() gives them. Batches are taken in the order asked for.
  void take_ahead(const std::shared_ptr<const SampledBatch>& sampled, Then<Rows> then);
  /// Counts of all parts for queries, at a step.
  void rank(EntityQueries queries, std::uint64_t step, bool best, Then<Matrix> then);
  /// Sends the shares of a step: of the batch read last, or empty ones if `mine` has no learned gradients.
  /// \param then  called when they have left
  void send(std::uint64_t step, const Contribution& mine, std::function<void()> then);
  /// The same of other nodes than those read: `mine.learned` has a row for each of them.
  void send_of(const std::shared_ptr<const SampledBatch>& nodes, std::uint64_t step,
               const Contribution& mine, std::function<void()> then);
  /// Nothing of the pass under way is called back any longer.
  void drop();
  /// Rows are awaited, or holders.
  bool waits() const { return reading_ || ranking_ || then_sent_ || taking_; }

  // ---- of all parts; to be used by rank 0 ----

  void begin(std::uint64_t step, Then<net::Done> then);
  void keep(const KeepLearned& what, Then<net::Done> then);
  /// By table.
  void digest(std::uint64_t step, Then<std::vector<TableDigest>> then);

  void on_down(const caf::down_msg& down);

  /// What has moved since the last call.
  struct Counts {
    std::uint64_t rows = 0;      ///< read, duplicates counted
    std::uint64_t bytes = 0;     ///< of rows read and gradients sent, with their ids
    std::uint64_t messages = 0;  ///< requests and shares
  };
  Counts take_counts() { return std::exchange(counts_, {}); }

 private:
  struct Shares {
    std::uint64_t step = 0;
    std::vector<SparseGradients> of_parts;
  };
  /// Rows of a batch that is trained later.
  struct Ahead {
    std::shared_ptr<const SampledBatch> sampled;
    LearnedBatch batch;
    Status answered = ok_status();
  };
  void hand_over();
  void take_counts_of(std::size_t question, const Result<Ref<EntityCounts>>& reply);
  void take_rows(std::size_t question, const Result<Ref<LearnedRows>>& reply);
  void leave(Shares shares);
  template <class Message>
  void to_all(const Message& message, Then<net::Done> then);
  void count(std::uint64_t nodes, std::uint64_t bytes, std::uint64_t messages);

  LearnedRowsLinks links_;
  /// The same holders, for requests that wait: as long as the replica lives.
  std::vector<std::shared_ptr<const Replicas>> patient_;
  const Rank rank_;
  std::function<void(const Error&)> on_error_;
  ReplicaClient pass_;      ///< For what belongs to a pass
  ReplicaClient commands_;  ///< For the rest
  std::uint32_t generation_ = 0;
  std::optional<LearnedBatch> batch_;
  Then<Rows> reading_;
  std::optional<EntityQueries> queries_;
  Then<Matrix> ranking_;
  std::deque<std::shared_ptr<Ahead>> ahead_;  ///< the first is taken next
  Then<Rows> taking_;                         ///< rows of the first
  bool unkept_ = false;  ///< Some holder has not answered the shares of the step before
  std::optional<Shares> next_;
  std::function<void()> then_sent_;
  Counts counts_;
};

}  // namespace troupe
