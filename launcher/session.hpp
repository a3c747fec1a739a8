#pragma once
/// \file session.hpp
/// Training with a model of your own: Troupe samples, collects and delivers the batches of each rank,
/// keeps the ranks in step and writes checkpoints; what is computed from a batch is up to you, in any
/// tensor library. docs/embedding.md shows a whole program. Not needed for the built-in models: those
/// are trained by `troupe run JOB` alone.
#include "launcher/dist_tensor.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/ids.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/batch.hpp"
#include "runtime/feature/embedding/options.hpp"
#include "runtime/graph/graph_info.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/sample/edge_lookup.hpp"
#include "runtime/sample/knowledge/chunk_candidates.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// Asks for a sampled neighbourhood outside the epochs' batches.
struct NeighborRequest {
  std::vector<NodeId> nodes;  ///< global ids; duplicates allowed
  /// Per hop, for every edge type: up to `largest_request_fanout`; -1: all neighbours.
  std::vector<std::int32_t> fanout;
  NodeTypeId node_type{};  ///< of `nodes`
  /// Name the draw: the same request with the same two numbers gives the same neighbours. Draws are
  /// those of evaluation, apart from all training batches.
  std::uint32_t epoch = 0;
  std::uint64_t number = 0;
  bool with_rows = false;  ///< features, original ids and labels as well
  /// [nodes] Only edges before a node's time are taken along types with times, as `sample.time` of the job
  /// says; each node has a tree of its own. Empty: `sample.time.at`, if the job has it.
  std::vector<std::int64_t> times{};
};

/// Largest fanout of a NeighborRequest, as in the job file.
inline constexpr std::int32_t largest_request_fanout = 1 << 20;

/// What the graph knows of some nodes, in the order asked for.
struct NodeRows {
  Matrix features;                       ///< [nodes, columns], normalised as the job says
  std::vector<OriginalId> original_ids;  ///< [nodes]
  std::vector<std::int64_t> labels;      ///< [nodes], -1: unlabelled; empty if the type has none
  Matrix targets;                        ///< [nodes, labels]; empty if the type has none
  std::vector<BatchColumn> columns{};    ///< Those of the type that the job names, [nodes] each
};

/// Edges with original ids first, first + 1, …, first + count - 1.
struct EdgeShare {
  EdgeId first{};
  std::uint64_t count = 0;
};

/// How nodes or edges are divided among the ranks: one stretch after the other, or those near a rank to it
/// where there are enough (decision 0030; runtime/sample/seed_split.hpp).
enum class SplitWay : std::uint8_t { even, local };

/// Ids that one pass over the parts finds at most (Session::find_edges).
inline constexpr std::size_t edge_lookup_piece = std::size_t{1} << 20;

/// A device that a rank computes on.
struct RankDevice {
  enum class Kind : std::uint8_t { cuda, emulated };
  Kind kind = Kind::cuda;
  int number = 0;         ///< As cudaSetDevice() takes it; of emulated devices from 0
  std::string name = {};  ///< e.g. "NVIDIA H200"
  friend bool operator==(const RankDevice&, const RankDevice&) = default;
};
/// "cuda:0", "emulated:1"
std::string to_string(const RankDevice& device);

class EpochRange;
class Embedding;
class SessionDevice;

/// What batches of triples are made of.
struct TripleFacts {
  std::uint64_t relations = 0;  ///< labels of the links are numbers below it
  ChunkOptions chunks;  ///< BatchLinks::candidates, in the place of the end of replaced_in(key)
};

/// One rank's view of a run, for a user's own trainer.
/// Lifecycle:  `run_ranks` makes one per rank and ends it after the rank's function has returned
/// Threads:    only the thread that `run_ranks` calls the function on; calls on another one that need an
///   answer of the run fail with `failed_precondition`
/// Guarantees: the batches are those of the built-in trainer: the same job gives the same batches and
///   the same digest on any number of hosts, ranks and threads, after faults and resumes. Every call
///   ends: with its answer, an error, or after `cluster.step_deadline`
/// Collective: `epoch` loops, `end_step`, `make_tensor`, `delete_tensor`, `all_reduce`, `all_reduce_mean` and `barrier` are calls that
///   all ranks make, the same ones in the same order; a rank that differs fails all of them with
///   `invalid_argument`, one that has ended with `failed_precondition`
class Session {
 public:
  struct State;
  explicit Session(std::unique_ptr<State> state);  ///< for run_ranks
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  // ---- who and where ----

  Rank rank() const;
  std::uint32_t world() const;  ///< number of ranks; hosts * trainers_per_host of the job
  /// Number of this rank among those of its host, in their order, from 0: LOCAL_RANK of torch.distributed. Of
  /// simulated hosts likewise.
  std::uint32_t local_rank() const;
  std::uint32_t local_world() const;  ///< Number of ranks on this rank's host
  std::string role() const;           ///< "trainer"
  /// What this rank computes on, as `cluster.device` says: device (rank mod number of them) of its process. None
  /// where that is a CPU.
  std::vector<RankDevice> devices() const;
  /// Batches and sums in the memory of this rank's device (session_device.hpp).
  /// \errors failed_precondition: the rank has no device
  Result<SessionDevice> device();

  // ---- the job and its graph ----

  const GraphInfo& graph() const;
  /// Of the features of the seeds' node type, of links that of their sources; 0: none.
  std::uint64_t columns() const;
  std::uint64_t classes() const;  ///< classes, or columns of targets, of the seeds' type; 0: none
  std::uint64_t seed() const;     ///< of the job; for initial weights and the like
  std::uint32_t epochs() const;   ///< train.epochs of the job
  /// Of a job of triples (`task.kind` "knowledge").
  std::optional<TripleFacts> triples() const;
  /// This rank's even share of the nodes of one role: in order of original ids, one range per rank.
  /// \param role  "train", "val" or "test"
  /// \errors not_found: the split has no such role; "train" is empty instead
  /// failed_precondition: seeds are links
  Result<SeedList> seeds(const std::string& role) const;
  /// This rank's even share of the links of one role, where the job's `task.kind` is "link".
  /// \errors as seeds(); failed_precondition: seeds are nodes
  Result<LinkList> links(const std::string& role) const;
  /// This rank's even share of the edges of one type: a range of original edge ids, of all ranks
  /// together from the first to the last that the type can have. Of edges that the import has left out these
  /// ids are there too.
  /// \errors invalid_argument: no such type
  Result<EdgeShare> edges(EdgeTypeId edge_type = {}) const;
  /// Global ids of nodes.
  /// \param nodes  original ids; duplicates allowed
  /// \returns in the order of `nodes`
  /// \errors invalid_argument: no such node type, or an id that is not below its count
  Result<std::vector<NodeId>> find_nodes(std::span<const OriginalId> nodes,
                                         NodeTypeId node_type = {});
  /// This rank's share of nodes or edges that every rank names alike, in their order.
  /// \param nodes  original ids; duplicates allowed
  /// \errors as find_nodes()
  Result<SeedList> split_nodes(std::span<const OriginalId> nodes, SplitWay way = SplitWay::even,
                               NodeTypeId node_type = {});
  /// \param mask  [nodes of the type] by original id: those that are not 0
  /// \errors invalid_argument: no such node type, or a mask of another length
  Result<SeedList> split_nodes(std::span<const std::uint8_t> mask, SplitWay way = SplitWay::even,
                               NodeTypeId node_type = {});
  /// Of the nodes of one role. \errors as seeds()
  Result<SeedList> split_seeds(const std::string& role, SplitWay way) const;
  /// Of the links of one role: near the lists that they are in. \errors as links()
  Result<LinkList> split_links(const std::string& role, SplitWay way) const;
  /// \param edges  original edge ids; duplicates allowed
  /// \cost with `local` that of find_edges() for all of them, on every rank
  /// \errors with `local` as find_edges()
  Result<std::vector<EdgeId>> split_edges(std::span<const EdgeId> edges,
                                          SplitWay way = SplitWay::even, EdgeTypeId edge_type = {});
  /// \param mask  by original edge id, from the first that the type can have: those that are not 0
  /// \errors invalid_argument: no such edge type, or a mask of another length
  Result<std::vector<EdgeId>> split_edges(std::span<const std::uint8_t> mask,
                                          SplitWay way = SplitWay::even, EdgeTypeId edge_type = {});

  // ---- batches ----

  /// The epoch that a resumed run goes on with; 0 otherwise. A checkpoint made by the last step of an
  /// epoch goes on in that epoch, without a turn left, so that what follows the loop is done.
  std::uint32_t first_epoch() const;
  std::uint64_t steps_per_epoch() const;  ///< of every rank
  /// The batches of this rank in one epoch, in batch order, `batches_in_flight` fetched ahead:
  /// `for (const Batch& batch : session.epoch(e))`. Every rank makes steps_per_epoch() turns: one
  /// without a batch in the last step gets a batch without seeds. In a resumed run, turns that were
  /// made before are left out. A batch is valid until the next turn. An error ends the loop and is in
  /// status(). The first call hands the saved state to the restore hook.
  /// Epochs do not go back: a resumed run leaves out those before first_epoch(). Some may be left out, or
  /// repeated; a program that repeats one keeps in its saved state how often it did. The next call ends
  /// the range of the call before.
  /// \errors failed_precondition, in status(): an epoch before the one begun last, or a turn of a range after
  ///   the next call; invalid_argument, likewise: the ranks' steps are of different epochs
  EpochRange epoch(std::uint32_t e);
  /// The batch of this turn, for who keeps it beyond the turn; null outside of one.
  std::shared_ptr<const Batch> shared_batch() const;
  /// Ends a turn, after the model was updated: adds the ranks' batches to the run's digest, and makes
  /// a checkpoint where the job's `checkpoint.every` says so. The next turn, or the next epoch(), makes this
  /// call for a turn without it. A turn that is still open when the function returns is dropped, with the
  /// gradients of learned rows that were handed in.
  /// \errors cancelled: the run was interrupted; what could be kept is in a checkpoint. Return
  Status end_step();
  std::uint64_t global_step() const;  ///< turns of the run that are over
  /// Running digest of all ranks' batches, in global batch order, up to the last end_step(); zero with
  /// `digest: "off"`.
  Digest digest() const;
  /// The first error of an epoch's loop, of a collective call or of a write that was under way; after
  /// one, such calls fail with it.
  const Status& status() const;

  // ---- the graph, at any time ----

  /// Samples the neighbourhood of nodes.
  /// \errors invalid_argument: a node that is not there, a fanout out of its range, no or over 255 hops,
  ///   times of other than all nodes; failed_precondition: times, and no edges with times
  Result<std::shared_ptr<const Batch>> sample_neighbors(const NeighborRequest& request);
  /// Reads features and labels of nodes, wherever they are kept.
  /// \param nodes  global ids; duplicates allowed
  /// \errors invalid_argument: a node that is not there
  Result<NodeRows> read_rows(std::span<const NodeId> nodes, NodeTypeId node_type = {});

  /// Reads a named column of nodes, also one that `features.columns` does not name.
  /// \errors invalid_argument: a node that is not there; not_found: no such column
  Result<BatchColumn> read_column(const std::string& name, std::span<const NodeId> nodes,
                                  NodeTypeId node_type = {});

  /// Degrees of nodes: how many edges of a type are in their lists of a direction, parallel edges each.
  /// \param nodes  global ids of the type's destinations (`in`) or sources (`out`); duplicates allowed
  /// \errors invalid_argument: an edge type or node that is not there; failed_precondition: the parts are
  ///   not complete for the direction (`complete_for` "both" is)
  Result<std::vector<std::uint64_t>> degrees(std::span<const NodeId> nodes,
                                             EdgeTypeId edge_type = {}, EdgeDir dir = EdgeDir::in);
  /// Finds the nodes that edges are between.
  /// \param edges  original edge ids, as `edges()` and batches have them; duplicates allowed
  /// \returns global ids, in the order of `edges`
  /// \cost one pass over the edge ids of all parts per `edge_lookup_piece` ids: ask for many at once
  /// \errors invalid_argument: an edge type that is not there, an id that no edge can have; not_found: an
  ///   edge that the import has left out; failed_precondition: the store has no edge ids
  Result<EdgeNodes> find_edges(std::span<const EdgeId> edges, EdgeTypeId edge_type = {});

  // ---- learned rows: `embedding` of the job (docs/tensors.md) ----

  /// The table of a node type.
  /// \errors not_found: the job has none of that name
  Result<Embedding> embedding(const std::string& node_type);

  // ---- tensors by name, kept by the holders of parts (dist_tensor.hpp, docs/tensors.md) ----

  /// Makes a tensor. Collective; calling it again gives the same one. Tensors are part of checkpoints, whole; a
  /// resumed run fills them at the first epoch(), so they must be made before.
  /// \errors invalid_argument: a tensor that cannot be, another one of that name, ranks that differ
  Result<DistTensor> make_tensor(const std::string& name, const TensorOptions& options = {});
  /// A tensor that was made.
  /// \errors not_found
  Result<DistTensor> tensor(const std::string& name);
  /// Deletes a tensor. Collective.
  /// \errors not_found
  Status delete_tensor(const std::string& name);
  /// A named column of nodes as a tensor, which is read only.
  /// \errors not_found: no such column; invalid_argument: no such node type
  Result<DistTensor> column(const std::string& name, NodeTypeId node_type = {});
  /// A named column of edges, whose rows are read by original edge id.
  /// \cost   reading takes a pass over the edge ids of all parts, as find_edges(): ask for many at once
  /// \errors not_found: no such column; invalid_argument: no such edge type
  Result<DistTensor> column(const std::string& name, EdgeTypeId edge_type);

  // ---- all ranks together ----

  /// Replaces `values` by their sum over the ranks, added in rank order: the same bits on every rank,
  /// and in every run with as many ranks.
  /// \param values  of the same length on all ranks
  Status all_reduce(std::span<float> values);
  /// As all_reduce, then divided by the sum of the weights: for gradients, the mean over all seeds. A
  /// rank with weight 0 adds nothing. With weight 0 everywhere `values` are zero.
  /// \returns the sum of the weights
  Result<std::uint64_t> all_reduce_mean(std::span<float> values, std::uint64_t weight);
  /// Waits for all ranks. After its deadline it may be called again, to go on waiting.
  /// \errors deadline_exceeded, with the ranks that are missing (not kept in status())
  Status barrier(std::chrono::milliseconds deadline);

  // ---- checkpoints ----

  /// Gives this rank's state between two steps, as bytes: parameters, optimizer, position of its own.
  using Save = std::function<std::vector<std::byte>()>;
  void on_save(Save hook);
  /// Takes what the save hook of the same rank gave. Called once, by the first epoch(), in a resumed
  /// run.
  using Restore = std::function<Status(std::span<const std::byte>)>;
  void on_restore(Restore hook);

 private:
  friend class EpochRange;
  friend class SessionDevice;
  /// A call of epoch(); number 0: of an epoch that a resumed run leaves out.
  struct Pass {
    std::uint64_t number = 0;
    std::uint32_t epoch = 0;
  };
  const Batch* next_batch(const Pass& pass);

  std::unique_ptr<State> state_;
};

/// Learned rows of one node type: kept by the holders of the nodes' parts, which also train them.
/// Lifecycle:  as long as its session
/// Threads:    that of its session
/// Guarantees: a step is applied when the shares of all ranks are there, also empty ones: gradients of equal
///   nodes are added in rank order, within a rank in the order given, and divided by the terms of all ranks
///   together. So rows depend on the number of ranks alone, not on the layout. Checkpoints keep rows and
///   optimizer; a resumed run has them back before the rank's function is called
class Embedding {
 public:
  const std::string& node_type() const { return table_.name; }
  NodeTypeId type() const { return table_.node_type; }
  std::uint32_t dim() const { return table_.dim; }

  /// Rows after all steps that are over, whenever it is called: in a turn those before its step. Not
  /// collective; waits for the shares of ranks that are behind.
  /// \param nodes  global ids; duplicates allowed
  /// \returns [nodes, dim]
  /// \errors invalid_argument: a node that is not there; peer_lost: a holder has lost the rows
  Result<Matrix> rows(std::span<const NodeId> nodes);
  /// Hands in gradients of the step of this turn; end_step() sends them. Called again, for this table or
  /// another one, it adds to them.
  /// \param rows   [nodes, dim] gradients of the sum of the rank's losses; duplicates are added
  /// \param terms  terms of that sum, the same in all calls of a turn; the labelled seeds, as a rule
  /// \errors invalid_argument: nodes, sizes, terms; failed_precondition: outside a turn
  Status gradient(std::span<const NodeId> nodes, ConstMatrix rows, std::uint64_t terms);

 private:
  friend class Session;
  Embedding(Session::State& state, EmbeddingOptions table)
      : state_(&state), table_(std::move(table)) {}
  Session::State* state_;
  EmbeddingOptions table_;
};

/// What `for` goes through: see Session::epoch. One pass only.
class EpochRange {
 public:
  class Iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using iterator_category = std::input_iterator_tag;
    Iterator() = default;
    Iterator(Session* session, const Session::Pass& pass)
        : session_(session), pass_(pass), batch_(session->next_batch(pass)) {}
    const Batch& operator*() const { return *batch_; }
    const Batch* operator->() const { return batch_; }
    Iterator& operator++() {
      batch_ = session_->next_batch(pass_);
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t /*end*/) const { return batch_ == nullptr; }

   private:
    Session* session_ = nullptr;
    Session::Pass pass_;
    const Batch* batch_ = nullptr;  ///< kept by the session
  };
  Iterator begin() const { return Iterator(session_, pass_); }
  std::default_sentinel_t end() const { return {}; }

 private:
  friend class Session;
  EpochRange(Session* session, const Session::Pass& pass) : session_(session), pass_(pass) {}
  Session* session_;
  Session::Pass pass_;
};

struct RanksOptions {
  /// The program takes batches in the memory of the ranks' devices (session_device.hpp), where `cluster.device` has
  /// some and `sample.on` does not say otherwise: rows of features of nodes are there alone, `Batch` on the host has
  /// none. Otherwise all of a batch is in host memory, whatever the device.
  bool device_batches = false;
};

/// Calls `fn` once per rank that runs in this process, each on a thread of its own, and returns the
/// exit code for main(). The job comes from the environment that `troupe run JOB -- PROGRAM` sets
/// (docs/embedding.md); without it, says how to start the program and returns 2. To be called once,
/// first thing in main(): SIGINT, SIGTERM and SIGHUP are then the run's, and ask it to end with a checkpoint; they
/// are blocked in the ranks' threads, and in processes that these start. After it they are as before.
/// exit() while ranks run fails the run, with exit code 1 in place of 0.
/// A rank whose `fn` returns an error, leaves one in status() or throws ends the whole run: the rank
/// and the error are printed, calls of the others return `cancelled`; ranks that do not return within
/// ten seconds are ended with the process, after a signal within `cluster.step_deadline` and ten seconds.
/// Where ranks are in processes of their own, a lost process, or
/// a rank that fails with peer_lost, starts all processes again from the newest checkpoint instead:
/// `fn` is called again, and the restore hooks get what was saved (docs/embedding.md).
/// \returns the codes of `troupe --help`: 0 all ranks returned ok, 1 an exception, 2 usage, 3 data,
///   4 a peer failed, 130 interrupted. Where ranks are in processes of their own, 0 says only that the
///   process ended as the run asked it to: the outcome of the run is the exit code of `troupe run`
int run_ranks(int argc, char** argv, const std::function<Status(Session&)>& fn,
              const RanksOptions& options = {});

}  // namespace troupe
