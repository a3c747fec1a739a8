#pragma once
/// \file session_state.hpp
/// What a session keeps, and how its parts call each other; only for launcher/session*.cpp.
#include "actors/error.hpp"
#include "actors/holder_tensors.hpp"
#include "actors/session_rank.hpp"
#include "actors/wait_for_answer.hpp"
#include "launcher/cluster_hooks.hpp"
#include "launcher/program_device.hpp"
#include "launcher/session.hpp"
#include "runtime/job/job.hpp"
#include "runtime/job/layout.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/step_report.hpp"
#include "runtime/wire/messages.hpp"

#include <caf/all.hpp>

#include <atomic>
#include <future>
#include <map>
#include <optional>
#include <thread>

namespace troupe {

/// Flags of rank 0 in a step's number, in one whole number.
inline constexpr unsigned checkpoint_wanted = 1;
inline constexpr unsigned stop_wanted = 2;
inline constexpr unsigned still_writing = 4;  ///< The checkpoint before

/// What the sessions of one process have in common.
struct SessionRun {
  Job job;
  std::shared_ptr<const Checkpoint> resume;  ///< null: from the beginning
  /// Keeps a checkpoint; may block. Empty: none are kept.
  std::function<Status(const Checkpoint&)> write_checkpoint = {};
  std::function<Status()> load_tables = {};                    ///< As SessionSetup has it
  std::function<Status()> load_tensors = {};                   ///< Likewise
  std::function<void(const std::string&)> say = {};            ///< a line about what went wrong
  std::function<Status(const net::RankEpoch&)> on_epoch = {};  ///< As SessionSetup has it
  std::function<void(const StepReport&)> on_step = {};
  std::atomic<bool> stop{false};  ///< the run is asked to end
};

/// Where one session works.
struct SessionPlace {
  caf::actor_system* system = nullptr;
  caf::actor actor;
  TrainerOptions options;
  std::shared_ptr<const HostContext> host;
  std::shared_ptr<ProgramDevice> device;  ///< null: the CPU
};

/// An invalid_argument that names a tensor.
Error tensor_error(const std::string& name, const std::string& what);

struct DistTensor::State {
  Session::State* session = nullptr;
  std::uint32_t number = 0;
  TensorOptions options;
  ColumnInfo info;
  std::uint64_t rows = 0;  ///< of all parts
  bool column = false;     ///< Of the store
  bool gone = false;       ///< Was deleted
};

struct Session::State {
  State(std::shared_ptr<const SessionRun> shared, SessionPlace where)
      : run(std::move(shared)), place(std::move(where)), self(*place.system, true) {}

  std::shared_ptr<const SessionRun> run;
  SessionPlace place;
  caf::scoped_actor self;
  std::thread::id thread = std::this_thread::get_id();  ///< The rank's
  Status status = ok_status();

  net::TrainingState position;         ///< without arrays
  bool resumes = false;                ///< `position` is the checkpoint's: its epoch is under way
  std::optional<std::uint32_t> begun;  ///< Epoch that was begun last
  std::uint64_t passes = 0;            ///< Calls of epoch() so far
  bool restored = false;
  bool in_epoch = false;
  bool in_turn = false;
  std::uint64_t steps = 0;  ///< per epoch
  std::shared_ptr<const ReadyBatch> batch;
  bool batch_is_own = false;
  Session* session = nullptr;  ///< Whose state this is
  bool exchanges = false;      ///< As SessionDevice::exchanges()

  // For the record of the epoch.
  using TimePoint = std::chrono::steady_clock::time_point;
  TimePoint epoch_began{};
  TimePoint turn_began{};
  TimePoint last_step{};
  std::uint64_t reduced_before_ns = 0;  ///< Of `reduce_ns`, before the turn
  std::uint64_t reduce_ns = 0;
  std::uint64_t train_ns = 0;

  Save save;
  Restore restore;
  std::chrono::steady_clock::time_point last_checkpoint = std::chrono::steady_clock::now();
  std::future<Status> writing;
  std::uint64_t written_step = 0;  ///< Of the checkpoint that `writing` is about
  bool told_of_nothing = false;    ///< That checkpoints would hold nothing of the program

  /// What gradient() was given in this turn.
  struct LearnedShare {
    std::uint64_t weight = 0;
    std::vector<std::vector<NodeId>> nodes;  ///< by node type
    std::vector<std::vector<float>> rows;    ///< likewise
  };
  std::optional<LearnedShare> share;
  std::uint64_t learned_ns = 0;  ///< Without learned rows that a turn has asked for

  std::map<std::string, std::shared_ptr<DistTensor::State>> tensors;  ///< that were made
  std::uint32_t next_tensor = 0;      ///< number; none is used twice
  std::vector<std::uint64_t> writes;  ///< by part: number of the last operation

  std::uint32_t rank() const { return raw(place.options.rank); }
  std::chrono::milliseconds deadline() const;
  /// What an answer that failed, or did not come, says to the user.
  Error error_of(const caf::error& error, std::chrono::milliseconds within) const;
  /// Keeps the first error.
  Status keep(Status result);

  /// Asks and waits.
  template <class Reply, class Request>
  Result<Ref<Reply>> ask(const caf::actor& whom, Request request,
                         std::chrono::milliseconds within) {
    TROUPE_RETURN_IF_ERROR(check_thread());
    const auto sent = self->request(whom, caf::infinite, Ref<Request>(std::move(request)));
    const auto answer = wait_for_answer(self, sent.id(), within);
    if (answer.template match_elements<Ref<Reply>>()) {
      return answer.template get_as<Ref<Reply>>(0);
    }
    return answer.template match_elements<caf::error>()
               ? error_of(answer.template get_as<caf::error>(0), within)
               : Error(Errc::internal, "an answer of another type than the call expects");
  }
  template <class Reply, class Request>
  Result<Ref<Reply>> ask(Request request) {
    return ask<Reply>(place.actor, std::move(request), deadline());
  }

  // session.cpp
  /// \errors failed_precondition: the caller is not the rank's thread
  Status check_thread() const;
  /// \errors failed_precondition: epoch `e` is before the one begun last
  Status check_order(std::uint32_t e) const;
  Result<Ref<Together>> together(Contribute request, std::chrono::milliseconds within);
  /// After a step: tells of it, and of the epoch if it was the last one.
  Status record_step();

  // session_rows.cpp
  Status check_nodes(std::span<const NodeId> nodes, NodeTypeId type) const;
  Result<CollectOptions> all_rows() const;
  Result<NodeRows> read(std::span<const NodeId> nodes, NodeTypeId type, CollectOptions collect);
  Result<BatchColumn> read_column(const std::string& name, std::span<const NodeId> nodes,
                                  NodeTypeId type);
  /// \param edges  original ids
  Result<BatchColumn> read_edge_column(const std::string& name, std::span<const EdgeId> edges,
                                       EdgeTypeId type);
  Result<std::vector<std::uint64_t>> original_ids(std::span<const std::uint64_t> rows,
                                                  NodeTypeId type);

  // session_tensors.cpp
  using EachRows = std::function<Status(const std::vector<std::uint64_t>& rows,
                                        const std::vector<std::uint64_t>& places)>;
  std::string describe(const DistTensor::State& tensor) const;
  Result<std::uint64_t> tensor_rows(const std::string& name, const TensorOptions& options) const;
  Result<std::shared_ptr<DistTensor::State>> new_tensor(const std::string& name,
                                                        const TensorOptions& options);
  /// Does an operation of this rank on each part. \param what  made for a part, but writer and number
  template <class Message>
  Status tell_parts(const std::function<Message(PartId)>& what);
  /// Has holders keep a copy of all tensors. \returns where it is; null: none were made
  Result<std::shared_ptr<const HolderTensors>> keep_tensors();
  Status agree(const std::string& what);
  /// \errors those of the holders
  Result<Segment> read_tensor(const DistTensor::State& tensor, std::span<const std::uint64_t> rows);
  Status write_tensor(const DistTensor::State& tensor, std::span<const std::uint64_t> rows,
                      std::span<const std::byte> values, bool add);
  /// What an error of the two above says to the user.
  static Error lost_or(const DistTensor::State& tensor, const Error& why);
  static Error lost_or(const Error& why);
  /// Calls `each(rows, places)` for all rows, some at once: of nodes the place is the original id.
  Status each_rows(const DistTensor::State& tensor, const EachRows& each);

  // session_learned.cpp
  const EmbeddingPlan* tables() const { return place.options.learned.plan.get(); }
  /// Holders have the rows that the run begins with; all ranks together.
  Status begin_learned();
  Result<Matrix> read_learned(const EmbeddingOptions& table, std::span<const NodeId> nodes);
  Status add_gradient(const EmbeddingOptions& table, std::span<const NodeId> nodes,
                      ConstMatrix rows, std::uint64_t terms);
  /// Sends this rank's share of the step, also an empty one.
  Status send_learned();
  /// Has holders keep a copy of this step. \returns where it is; null: the job has no tables
  Result<std::shared_ptr<const TableSource>> keep_learned();
  /// Of all tables; of ranks other than 0 none.
  Result<std::vector<TableDigest>> digest_learned();

  // session_checkpoint.cpp
  /// \param wanted  flags() of rank 0
  bool due(unsigned wanted) const;
  /// What rank 0 adds to the number of a step.
  unsigned flags() const;
  /// Waits, all ranks together, while rank 0 writes the checkpoint before.
  Status wait_until_written();
  /// Saves this rank's state; on rank 0 the whole checkpoint.
  Status save_all();
  /// Puts back what a checkpoint holds, once.
  Status restore_all();
  /// Puts the rows of tensors back; all ranks together.
  Status restore_tensors();
  /// Waits for a checkpoint that is being written.
  void finish_writing();
};

}  // namespace troupe
