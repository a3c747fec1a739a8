#pragma once
/// \file learned_replica.hpp
/// Learned rows of one replica of a part: an EmbeddingPart that, once its holder was restarted, gets from
/// another replica what was lost. Knows no actors; a holder drives it.
#include "runtime/base/result.hpp"
#include "runtime/feature/embedding/embedding_part.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace troupe {

/// A restarted replica asks another one for its state (FollowLearned), reads all copies in pieces
/// (ReadCopy), begins at the step of the state, and then takes what the other one takes, in the same order
/// (PullLearned). Meanwhile it refuses what it lacks with `overloaded`: requests for rows go to the
/// other replica, gradients come again, so that their ranks wait. When it has seen gradients of two steps
/// from every rank, all later ones come here by themselves, and what came before is noted at the
/// other: having taken that, it is whole.
/// If the other is lost before, nobody has what the part had: it answers `not_found`, as a holder
/// without replicas, and the run goes back.
/// Lifecycle:  requests in any order; each question that comes out is sent once `after` has passed,
///   and its answer given to heard()
/// Threads:    one at a time
/// Guarantees: one question at a time. Rows are never served at a step at which they differ from those of
///   an undisturbed run
class LearnedReplica {
 public:
  using Ticket = EmbeddingPart::Ticket;
  using Reply = EmbeddingPart::Reply;
  using Question = std::variant<FollowLearned, ReadCopy, PullLearned>;
  struct Actions : EmbeddingPart::Actions {
    std::optional<Question> ask = {};
    std::chrono::milliseconds after{0};
  };

  /// \param number  names this replica to others, and no other one, ever; 0: there are no others
  /// \param piece_bytes  of the rows that it asks for at once, about
  LearnedReplica(std::shared_ptr<const Part> part, std::shared_ptr<const EmbeddingPlan> plan,
                 CountEntities count, std::uint64_t number,
                 std::uint64_t piece_bytes = std::uint64_t{4} << 20);

  /// The holder took the place of a lost one. Without it the first request that finds no rows does it.
  Actions replace_lost();

  // As those of EmbeddingPart, but overloaded: it is copied from another replica
  Actions begin(const BeginLearned& request, Ticket ticket);
  Actions add(std::shared_ptr<const SparseGradients> share, Ticket ticket);
  Actions read(std::shared_ptr<const ReadLearned> request, Ticket ticket);
  Actions rank(std::shared_ptr<const RankEntities> request, Ticket ticket);
  Actions keep(const KeepLearned& request, Ticket ticket);
  Actions digest(const DigestLearned& request, Ticket ticket);
  Actions read_copy(const ReadCopy& request, Ticket ticket);
  Actions load(const CopyPiece& piece, Ticket ticket);
  Actions follow(const FollowLearned& request, Ticket ticket);
  Actions pull(const PullLearned& request, Ticket ticket);
  Actions finished(std::uint64_t task, Result<Reply> outcome);
  Actions heard(Result<Reply> answer);

  /// Rows are being copied, or some may be missing here still.
  bool copies() const { return stage_ >= Stage::asks; }

 private:
  enum class Stage : std::uint8_t {
    fresh,  ///< nothing has begun
    alone,  ///< as the part itself
    asks,
    reads,   ///< pieces of copies
    begins,  ///< from the copy of the state
    follows
  };
  /// Of the gradients that came here by themselves.
  struct Seen {
    std::uint32_t generation = 0;
    std::optional<std::uint64_t> step = {};
    bool of_two_steps = false;
  };

  template <class Request, class Serve>
  Actions served(const Request& request, Ticket ticket, Serve serve);
  Actions refused(Ticket ticket, Errc code, const char* why) const;
  /// Takes out the answers to what it has asked of its own part.
  Actions absorb(EmbeddingPart::Actions actions);
  Actions went_on(const Result<Reply>& answer);
  Actions ask_for_state();
  Actions lost();
  /// From the beginning, with whom there is now.
  Actions again();
  Actions take_state(const LearnedState& state);
  Actions take_piece(CopyPiece piece);
  Actions next_piece();
  Actions begin_at_state();
  Actions take_event(LearnedEvent event);
  Actions keep_as_other(const LearnedEvent& event);
  Actions pull_next(std::chrono::milliseconds after);
  std::uint64_t rows_of_a_piece() const;
  void see(const SparseGradients& share);
  bool all_come_here() const;

  EmbeddingPart part_;
  const std::uint64_t number_;
  const std::uint64_t piece_bytes_;
  Stage stage_ = Stage::fresh;
  LearnedState state_;
  std::vector<std::uint64_t> copies_left_;  ///< The last one is read first
  std::size_t table_ = 0;
  std::uint64_t row_ = 0;
  bool table_ended_ = false;
  std::uint64_t events_ = 0;
  bool asked_last_ = false;
  bool keep_failed_ = false;
  std::chrono::milliseconds pause_{0};
  std::vector<Seen> seen_;  ///< [world]
};

}  // namespace troupe
