#pragma once
/// \file conductor.hpp
/// The director's mind: what the whole troupe does next, and what came of it. One command at a time
/// goes to all members of a group; when all have answered, the answers go in and the next command
/// comes out. Knows no actors.
#include "runtime/base/digest.hpp"
#include "runtime/base/matrix.hpp"
#include "runtime/base/result.hpp"
#include "runtime/graph/store.hpp"
#include "runtime/run/checkpoint.hpp"
#include "runtime/run/run_record.hpp"
#include "runtime/run/scoring.hpp"
#include "runtime/wire/messages.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace troupe {

/// Rows of outputs by role, in the order of its seeds.
using OutputsOfRoles = std::map<std::string, std::shared_ptr<const Matrix>>;

struct ConductorOptions {
  std::uint32_t epochs = 1;
  std::uint32_t world = 1;
  std::uint32_t stages = 1;  ///< of exact inference
  std::uint32_t patience =
      0;  ///< evaluations in a row without a better score that end training; 0: none do
  std::uint32_t eval_every = 1;  ///< 0: only after the last epoch
  bool eval_exact = true;        ///< false: scores of sampled batches while training
  bool eval_partial = false;     ///< sampled evaluation may leave seeds out
  std::string metric = "accuracy";
  bool digest = true;
  bool train_only = false;  ///< epochs and nothing else: no evaluation, no parameters
  /// False: an epoch whose seeds all weigh nothing is an error, as none has a label then.
  bool weightless_epochs = false;
  bool final_exact = true;  ///< false: at the end, too, scores of sampled batches
  /// Roles scored at the end, all seeds with the best parameters, in this order.
  std::vector<std::string> final_roles = {"val", "test"};
  std::vector<std::string> tables;  ///< Names of the tables of learned rows, in order of node types
  std::vector<std::string> keep_outputs;  ///< the final roles whose outputs are kept
  /// Seeds per role; a role that is missing or empty is not scored.
  std::map<std::string, std::shared_ptr<const SeedList>> seeds;
  std::map<std::string, LinkScoring> links = {};  ///< In their place where seeds are links
};

/// A command and the group it goes to.
using TrainerCommand =
    std::variant<net::EpochRequest, net::ScoreRequest, net::KeepBest, net::Finish>;
using EvaluatorCommand = std::variant<net::InferRequest, net::ScoreRequest>;
struct ToTrainers {
  TrainerCommand command;
};
struct ToEvaluators {
  EvaluatorCommand command;
};
struct RunOver {};
using Command = std::variant<ToTrainers, ToEvaluators, RunOver>;

/// Lifecycle: next(), then the matching take_…() with all answers in any order, again until
///   RunOver. An error from take_…() ends the run.
/// Threads:   one at a time
class Conductor {
 public:
  using Progress = std::function<void(const EpochRecord&)>;
  /// \param progress called once per epoch, after its evaluation
  Conductor(ConductorOptions options, Progress progress);

  Command next();
  /// Goes back to where `training` stands, with the epochs that `record` holds (of a checkpoint).
  /// \errors failed_precondition: they do not fit this run
  Status restore(const TrainingState& training, const RunRecord& record);
  /// Raised at every roll-back; part of the commands.
  void set_generation(std::uint32_t generation) { generation_ = generation; }
  std::uint32_t generation() const { return generation_; }
  bool training() const { return phase_ == Phase::train; }
  std::uint32_t epoch() const { return epoch_; }
  Status take_epochs(std::vector<net::EpochResult> results);
  Status take_inferred(const std::vector<net::InferResult>& results);
  Status take_scores(const std::vector<net::ScoreResult>& results);
  Status take_kept();
  Status take_finished(const std::vector<net::FinishResult>& results);

  const RunRecord& record() const { return record_; }
  /// The outputs at the end of the roles of `keep_outputs`.
  const OutputsOfRoles& outputs() const { return kept_; }

 private:
  enum class Phase : std::uint8_t {
    train,
    infer,
    score,
    keep_best,
    final_infer,
    final_score,
    finish,
    over
  };

  /// Whether the epoch is evaluated, if there are seeds to do so.
  bool evaluation_is_due() const;
  /// Whether the trainers score sampled batches after the epoch.
  bool trainers_score_next() const;
  /// Whether another epoch follows this one whatever its evaluation gives.
  bool another_epoch_follows() const {
    return epoch_ + 1 < options_.epochs && !(evaluation_is_due() && patience_ends_at(1));
  }
  /// Whether training is over with so many more evaluations without a better score.
  bool patience_ends_at(std::uint32_t more) const;
  void after_epoch();
  void after_evaluation();
  void next_epoch();
  void begin_final();
  void next_final_score();
  bool has_role(const std::string& role) const;
  std::uint64_t seeds_of(const std::string& role) const;
  Status expect_agreement(const std::vector<net::EpochResult>& results) const;
  /// All seeds' outputs and labels in the order of the role's seed list.
  struct Outputs {
    Matrix logits;
    std::vector<std::int64_t>
        labels;  ///< per seed, or per seed and label (multi-label); -1: unknown
    std::vector<float> numbers = {};  ///< per seed and output, where numbers are to be predicted
  };
  Scores score(const Outputs& outputs) const;
  Status take_final(Outputs outputs);
  Result<Outputs> gather(const std::vector<net::ScoreResult>& results,
                         const std::string& role) const;

  ConductorOptions options_;
  Progress progress_;
  RunRecord record_;
  DigestBuilder outputs_;
  Phase phase_ = Phase::train;
  std::uint32_t generation_ = 0;
  std::uint32_t epoch_ = 0;
  std::uint32_t round_ = 0;
  std::uint32_t layer_ = 0;
  std::string role_;
  std::size_t final_role_ = 0;  ///< of `final_roles`
  OutputsOfRoles kept_;
  std::optional<double> best_;
  std::uint64_t began_ns_ = 0;
};

}  // namespace troupe
