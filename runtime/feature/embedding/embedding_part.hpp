#pragma once
/// \file embedding_part.hpp
/// Learned rows of one part over the steps of a run: what is applied, what waits, what is kept. Knows
/// no actors; a holder drives it.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/feature/embedding/embedding_table.hpp"
#include "runtime/feature/embedding/messages.hpp"
#include "runtime/feature/embedding/options.hpp"
#include "runtime/graph/part.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

/// Counts rows for a request whose sizes fit. Threads: any number at once
/// \errors invalid_argument: a score or places that cannot be
using CountEntities =
    std::function<Result<EntityCounts>(Executor&, const RankEntities&, ConstMatrix rows)>;

/// Applies step s when the shares of all ranks are there, in rank order, and answers a request for rows
/// at step s after all steps before it.
/// Lifecycle:  begin() first, then requests in any order; each task that comes out is run once, and its
///   outcome given to finished()
/// Threads:    one at a time; tasks on any thread, at once
/// Guarantees: a share is counted once, however often it is sent. The same shares give the same rows,
///   whatever the order of arrival. No task reads what another one changes
/// Bound:      shares of the two steps after those of which all are here, since a rank sends those of a
///   step once those of the step before are kept everywhere; of complete ones at most two have rows, because a
///   rank reads its rows first. `most_waiting` requests
class EmbeddingPart {
 public:
  /// Names a request for its answer.
  using Ticket = std::uint64_t;
  struct Done {};
  using Reply = std::variant<Done, LearnedRows, LearnedDigests, CopyPiece, EntityCounts,
                             LearnedState, LearnedEvent>;
  struct Answer {
    Ticket ticket = 0;
    Result<Reply> reply;
  };
  struct Task {
    std::uint64_t id = 0;
    const char* name = "";  ///< For the trace
    std::function<Result<Reply>(Executor&)> run;
  };
  struct Actions {
    std::vector<Answer> answers;
    std::vector<Task> tasks;
  };

  /// \param count  null: nothing is ranked
  EmbeddingPart(std::shared_ptr<const Part> part, std::shared_ptr<const EmbeddingPlan> plan,
                CountEntities count = nullptr);

  // Errors of all: fenced: of an older generation; not_found: the holder was restarted and has no rows;
  // failed_precondition: of a newer generation than begun, or of a step that cannot be;
  // invalid_argument: nodes, ranks, sections; overloaded; out_of_memory: the part's rows, a copy or an answer does
  // not fit, of which the first stays.
  Actions begin(const BeginLearned& request, Ticket ticket);
  Actions add(std::shared_ptr<const SparseGradients> share, Ticket ticket);
  Actions read(std::shared_ptr<const ReadLearned> request, Ticket ticket);
  Actions rank(std::shared_ptr<const RankEntities> request, Ticket ticket);
  Actions keep(const KeepLearned& request, Ticket ticket);
  Actions digest(const DigestLearned& request, Ticket ticket);
  /// For a replica that was lost: answered with LearnedState, and with LearnedEvent.
  /// \errors not_found: there are no rows; nothing is noted for that follower, or no longer;
  ///   overloaded: a generation begins
  Actions follow(const FollowLearned& request, Ticket ticket);
  Actions pull(const PullLearned& request, Ticket ticket);
  /// At any time. \errors not_found: no copy of that step; invalid_argument: no such table
  Actions read_copy(const ReadCopy& request, Ticket ticket);
  /// Rows of a copy that begin() is to find, in pieces. \errors overloaded: tasks run, to be sent again;
  ///   data_corruption: other columns, or with the last piece: rows that are missing
  Actions load(const CopyPiece& piece, Ticket ticket);
  Actions finished(std::uint64_t task, Result<Reply> outcome);
  /// As after a restart: what waits is answered with `overloaded`.
  Actions lose();
  void drop_copy(std::uint64_t step) { kept_.erase(step); }
  void drop_loading() { loading_.reset(); }

  /// Steps that are applied; none before begin().
  std::optional<std::uint64_t> applied() const { return applied_; }
  /// None: as after a restart.
  std::optional<std::uint32_t> generation() const { return generation_; }
  /// begin() at this step would find what it needs.
  bool may_begin(std::uint64_t step) const { return step == 0 || kept_.contains(step); }
  /// It is kept, or applied, or of a generation that is over.
  bool has(const SparseGradients& share) const;
  /// Steps of which all shares are here.
  std::uint64_t complete() const;
  std::size_t waiting() const { return waiting_.size(); }
  std::size_t most_waiting() const { return 4 * std::size_t{plan_->world} + 16; }
  const std::shared_ptr<const EmbeddingPlan>& plan() const { return plan_; }
  /// An error that names the part.
  Error refused(Errc code, const std::string& what) const;

 private:
  using Work = std::function<Result<Reply>(Executor&)>;
  using Shares = std::vector<std::shared_ptr<const SparseGradients>>;
  /// All that a roll-back needs. Immutable once it is kept.
  struct Copy {
    std::vector<EmbeddingRows> rows;  ///< by table
    std::uint64_t steps = 0;
    std::shared_ptr<const std::vector<Matrix>> best;
  };
  /// A copy that comes in pieces.
  struct Loading {
    std::shared_ptr<Copy> copy;
    std::vector<std::vector<std::pair<std::uint64_t, std::uint64_t>>>
        places;                             ///< by table: (original id, local index), ascending
    std::vector<std::vector<bool>> filled;  ///< by table
    std::shared_ptr<std::vector<Matrix>> best;
  };
  /// What tasks work on; they outlive this object if they must.
  struct Tables {
    std::shared_ptr<const Part> part;
    std::shared_ptr<const EmbeddingPlan> plan;
    std::vector<EmbeddingTable> tables;
    CountEntities counts;
    std::uint64_t steps = 0;                          ///< With a weight
    std::shared_ptr<const std::vector<Matrix>> best;  ///< by table; null: none kept

    std::size_t place_of(NodeTypeId type) const;
    /// \param copy  null: as tables start
    Result<Reply> start(Executor& executor, const Copy* copy);
    Result<Reply> apply(Executor& executor, const Shares& shares);
    /// Those of the best epoch where asked for, and some are kept.
    const Matrix& rows_of(NodeTypeId type, bool of_best) const;
    Result<Reply> gather(Executor& executor, const ReadLearned& request);
    Result<Reply> count(Executor& executor, const RankEntities& request);
    std::shared_ptr<const Copy> copy() const;
    Result<Reply> keep_best();
    Result<Reply> digests(Executor& executor);
  };
  enum class Access : std::uint8_t { reads, writes };
  struct Request {
    std::optional<Ticket> ticket = {};  ///< None: a step is applied
    std::uint64_t step = 0;
    Access access = Access::reads;
    const char* name = "";
    std::function<Result<Reply>(Executor&)> run;
    /// In finished(), if nothing has begun since; may change the answer.
    std::function<void(EmbeddingPart&, Reply&)> done = {};
    bool or_later = false;  ///< Runs at any step from its own on
    std::optional<KeepLearned> keeps = {};
  };
  struct Running {
    std::optional<Ticket> ticket;
    std::optional<std::uint64_t> then;  ///< Steps applied when it is done; none: as before
    std::uint64_t beginnings = 0;
    std::function<void(EmbeddingPart&, Reply&)> done = {};
    std::optional<KeepLearned> keeps = {};
  };
  using Event = std::variant<std::shared_ptr<const SparseGradients>, KeepLearned, BeginLearned>;
  /// A replica that was lost and gets what this one has.
  struct Follower {
    std::map<std::uint64_t, std::shared_ptr<const Copy>> copies;  ///< by step; until its first pull
    std::uint64_t first = 0;                                      ///< number of the first event
    std::deque<Event> events;
    bool ended = false;
  };

  Work within_memory(const char* name, Work work) const;
  Status check_generation(std::uint32_t generation) const;
  Status check_nodes(const std::vector<LearnedSection>& sections,
                     const PooledVector<NodeId>& nodes) const;
  Status check_share(const SparseGradients& share) const;
  /// Waits until its step has come.
  Actions enqueue(Request request);
  static Actions answer(Ticket ticket, Result<Reply> reply);
  Loading& loading(std::uint64_t step);
  Status check_piece(const CopyPiece& piece) const;
  Status take_piece(const CopyPiece& piece);
  Actions load_piece(const CopyPiece& piece, Ticket ticket);
  void schedule(Actions& actions);
  void start_waiting(Actions& actions);
  void run(Request request, std::optional<std::uint64_t> then, Actions& actions);
  bool apply_next(Actions& actions);
  /// For all followers.
  void note(const Event& event);
  LearnedState begin_following(std::uint64_t follower, std::shared_ptr<const Copy> copy);
  std::size_t most_events() const { return most_waiting(); }
  std::shared_ptr<const Copy> find_copy(const ReadCopy& request) const;

  std::shared_ptr<const EmbeddingPlan> plan_;
  std::shared_ptr<Tables> tables_;
  std::optional<Error> no_room_;  ///< The rows do not fit, or one of their steps did not
  std::optional<std::uint32_t> generation_;
  std::optional<std::uint64_t> applied_;                       ///< None: beginning, or not begun
  std::map<std::uint64_t, std::shared_ptr<const Copy>> kept_;  ///< by step
  std::optional<std::pair<std::uint64_t, Loading>> loading_;   ///< with its step
  std::map<std::uint64_t, Ticket> apart_;                      ///< tasks that read copies
  std::map<std::uint64_t, Follower> followers_;
  std::deque<Shares> shares_;  ///< [world] of step `applied` and those after it
  std::deque<Request> waiting_;
  std::map<std::uint64_t, Running> running_;
  bool writing_ = false;
  std::uint64_t next_task_ = 0;
  std::uint64_t beginnings_ = 0;  ///< Counts begin() and lose(): what ran before belongs to nothing
};

}  // namespace troupe
