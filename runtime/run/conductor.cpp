#include "runtime/run/conductor.hpp"

#include "runtime/run/epoch_counters.hpp"
#include "runtime/run/scoring.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <utility>

namespace troupe {
namespace {

std::uint64_t now_ns() {
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

}  // namespace

Conductor::Conductor(ConductorOptions options, Progress progress)
    : options_(std::move(options)), progress_(std::move(progress)) {
  if (options_.epochs == 0) {
    begin_final();
  }
  began_ns_ = now_ns();
}

bool Conductor::has_role(const std::string& role) const {
  return seeds_of(role) > 0;
}

std::uint64_t Conductor::seeds_of(const std::string& role) const {
  if (const auto links = options_.links.find(role); links != options_.links.end()) {
    return links->second.rows;
  }
  const auto found = options_.seeds.find(role);
  return found == options_.seeds.end() ? 0 : found->second->original.size();
}

Scores Conductor::score(const Outputs& outputs) const {
  const auto logits = outputs.logits.view();
  if (!outputs.numbers.empty()) {
    return score_numbers(logits, outputs.numbers);
  }
  const auto links = options_.links.find(role_);
  return links == options_.links.end() ? score_seeds(logits, outputs.labels)
                                       : score_links(links->second, logits, outputs.labels);
}

Command Conductor::next() {
  switch (phase_) {
    case Phase::train:
      began_ns_ = now_ns();
      return ToTrainers{
          net::EpochRequest{.generation = generation_,
                            .epoch = epoch_,
                            .next_follows = another_epoch_follows() && !trainers_score_next()}};
    case Phase::infer:
      return ToEvaluators{net::InferRequest{.round = round_, .layer = layer_, .best = false}};
    case Phase::final_infer:
      return ToEvaluators{net::InferRequest{.round = round_, .layer = layer_, .best = true}};
    case Phase::score:
      if (!options_.eval_exact) {
        return ToTrainers{net::ScoreRequest{
            .epoch = epoch_, .role = role_, .next_follows = another_epoch_follows()}};
      }
      return ToEvaluators{net::ScoreRequest{.epoch = epoch_, .role = role_}};
    case Phase::final_score:
      if (!options_.final_exact) {
        return ToTrainers{net::ScoreRequest{.epoch = epoch_, .role = role_, .best = true}};
      }
      return ToEvaluators{net::ScoreRequest{.epoch = epoch_, .role = role_}};
    case Phase::keep_best:
      return ToTrainers{net::KeepBest{.epoch = epoch_}};
    case Phase::finish:
      return ToTrainers{net::Finish{}};
    case Phase::over:
      break;
  }
  return RunOver{};
}

Status Conductor::take_epochs(std::vector<net::EpochResult> results) {
  std::ranges::sort(results, {}, &net::EpochResult::rank);
  EpochRecord record;
  record.epoch = epoch_;
  record.world = options_.world;
  record.seconds = static_cast<double>(now_ns() - began_ns_) * 1e-9;
  TROUPE_RETURN_IF_ERROR(expect_agreement(results));
  for (const auto& result : results) {
    add_counters(record.counters, result.counters);
  }
  const auto& totals = results.front();
  if (totals.loss_weight == 0 && !options_.train_only && !options_.weightless_epochs) {
    return Error(
        Errc::failed_precondition,
        fmt::format("training: expected seeds with labels, or pairs to learn from, in epoch "
                    "{}, found none; try: other training seeds",
                    epoch_ + 1));
  }
  record.loss =
      totals.loss_weight > 0 ? totals.loss_sum / static_cast<double>(totals.loss_weight) : 0;
  if (!std::isfinite(record.loss)) {
    return Error(
        Errc::failed_precondition,
        fmt::format("training: the loss of epoch {} is {}; try: a lower train.optimizer.lr, or "
                    "train.clip",
                    epoch_ + 1, std::isnan(record.loss) ? "not a number" : "infinite"));
  }
  record_.epochs.push_back(record);
  if (options_.digest) {
    record_.batches = totals.batches;
  }
  after_epoch();
  return ok_status();
}

Status Conductor::expect_agreement(const std::vector<net::EpochResult>& results) const {
  for (const auto& result : results) {
    if (result.epoch != epoch_) {
      return Error(Errc::internal, fmt::format("rank {}: expected the result of epoch {}, found {}",
                                               raw(result.rank), epoch_ + 1, result.epoch + 1));
    }
    if (!options_.train_only && result.batches != results.front().batches) {
      return Error(Errc::internal,
                   fmt::format("epoch {}: rank {} saw other batches than rank {}: {} and {}",
                               epoch_ + 1, raw(result.rank), raw(results.front().rank),
                               to_string(result.batches), to_string(results.front().batches)));
    }
  }
  return ok_status();
}

Status Conductor::restore(const TrainingState& training, const RunRecord& record) {
  const bool beyond =
      training.epoch > options_.epochs || (training.epoch == options_.epochs && training.step > 0);
  if (beyond || record.epochs.size() != training.epoch) {
    return Error(Errc::failed_precondition,
                 fmt::format("checkpoint: expected at most {} epochs, as train.epochs says, and a "
                             "record of each, found {} epochs, {} steps and {} records",
                             options_.epochs, training.epoch, training.step, record.epochs.size()));
  }
  record_ = RunRecord();
  record_.epochs = record.epochs;
  if (!record_.epochs.empty() && !record_.epochs.back().over) {
    // The state may be from before the evaluation, also where the record has its scores.
    record_.epochs.back().valid.reset();
    record_.epochs.back().best = false;
  }
  record_.batches = options_.digest ? std::optional(training.batches) : std::nullopt;
  best_.reset();
  record_.best_epoch.reset();
  for (const auto& epoch : record_.epochs) {
    if (epoch.best && epoch.valid) {
      best_ = epoch.valid->by_name(options_.metric);
      record_.best_epoch = epoch.epoch;
    }
  }
  if (!has_role("val") && !record_.epochs.empty()) {
    record_.best_epoch = record_.epochs.back().epoch;
  }
  outputs_ = DigestBuilder();
  layer_ = 0;
  ++round_;  // outputs of an earlier round may be gone
  epoch_ = training.epoch;
  phase_ = Phase::train;
  if (training.epoch > 0 && training.step == 0 && !record_.epochs.back().over) {
    epoch_ = training.epoch - 1;
    after_epoch();
  } else if (epoch_ == options_.epochs || (training.step == 0 && patience_ends_at(0))) {
    epoch_ -= epoch_ > 0 ? 1 : 0;
    begin_final();
  }
  return ok_status();
}

bool Conductor::evaluation_is_due() const {
  return epoch_ + 1 == options_.epochs ||
         (options_.eval_every > 0 && epoch_ % options_.eval_every == 0);
}

bool Conductor::patience_ends_at(std::uint32_t more) const {
  if (options_.patience == 0 || !has_role("val")) {
    return false;
  }
  std::uint32_t worse = more;
  for (auto epoch = record_.epochs.rbegin(); epoch != record_.epochs.rend() && !epoch->best;
       ++epoch) {
    worse += epoch->valid ? 1U : 0U;
  }
  return worse >= options_.patience;
}

bool Conductor::trainers_score_next() const {
  return !options_.train_only && !options_.eval_exact && evaluation_is_due() && has_role("val");
}

void Conductor::after_epoch() {
  const bool due = evaluation_is_due();
  if (options_.train_only) {
    phase_ = Phase::train;
    return after_evaluation();
  }
  const bool validated = has_role("val");
  if (!validated) {
    record_.best_epoch = epoch_;  // the newest; among validated ones scores decide
  }
  if (!due || !validated) {
    phase_ = due ? Phase::keep_best : Phase::train;
    after_evaluation();
    return;
  }
  began_ns_ = now_ns();
  role_ = "val";
  layer_ = 0;
  phase_ = options_.eval_exact ? Phase::infer : Phase::score;
}

/// Reports the epoch; the phase says whether its parameters are kept first.
void Conductor::after_evaluation() {
  if (progress_) {
    progress_(record_.epochs.back());
  }
  if (phase_ == Phase::train) {
    next_epoch();
  }
}

void Conductor::next_epoch() {
  record_.epochs.back().over = true;
  ++epoch_;
  phase_ = Phase::train;
  if (epoch_ == options_.epochs || patience_ends_at(0)) {
    --epoch_;
    begin_final();
  }
}

/// After the last epoch.
void Conductor::begin_final() {
  layer_ = 0;
  final_role_ = 0;
  began_ns_ = now_ns();
  const auto has_seeds = [this](const std::string& role) { return has_role(role); };
  if (options_.train_only) {
    phase_ = Phase::over;
  } else if (options_.final_exact && std::ranges::any_of(options_.final_roles, has_seeds)) {
    phase_ = Phase::final_infer;
  } else {
    next_final_score();
  }
}

Status Conductor::take_inferred(const std::vector<net::InferResult>& /*results*/) {
  if (++layer_ < options_.stages) {
    return ok_status();
  }
  layer_ = 0;
  ++round_;
  if (phase_ == Phase::infer) {
    phase_ = Phase::score;
    return ok_status();
  }
  next_final_score();
  return ok_status();
}

void Conductor::next_final_score() {
  const auto& roles = options_.final_roles;
  while (final_role_ < roles.size() && !has_role(roles[final_role_])) {
    ++final_role_;
  }
  if (final_role_ == roles.size()) {
    phase_ = Phase::finish;
    return;
  }
  role_ = roles[final_role_++];
  phase_ = Phase::final_score;
}

Result<Conductor::Outputs> Conductor::gather(const std::vector<net::ScoreResult>& results,
                                             const std::string& role) const {
  const std::size_t seeds = seeds_of(role);
  const std::size_t cols = results.empty() ? 0 : results.front().cols;
  // Multi-label targets: one label per output.
  const bool per_output = std::ranges::any_of(results, [&](const auto& r) {
    return cols > 1 && !r.labels.empty() && r.labels.size() == r.positions.size() * cols;
  });
  const std::size_t width = per_output ? cols : 1;
  const bool numbers =
      std::ranges::any_of(results, [](const auto& r) { return !r.numbers.empty(); });
  Outputs out{
      Matrix(seeds, cols), std::vector<std::int64_t>(seeds * width, -1),
      std::vector<float>(numbers ? seeds * cols : 0, std::numeric_limits<float>::quiet_NaN())};
  std::ranges::fill(out.logits.view().flat(), 0.0F);
  std::vector<bool> seen(seeds, false);
  std::size_t found = 0;
  for (const auto& result : results) {
    const auto outputs = result.outputs.as<float>();
    if (result.cols != cols || outputs.size() != result.positions.size() * cols ||
        result.labels.size() != result.positions.size() * width ||
        result.numbers.size() != (numbers ? outputs.size() : 0)) {
      return Error(
          Errc::data_corruption,
          fmt::format("scores of {}: expected {} columns for {} seeds, found {} numbers "
                      "and {} labels",
                      role, cols, result.positions.size(), outputs.size(), result.labels.size()));
    }
    for (std::size_t i = 0; i < result.positions.size(); ++i) {
      const auto position = result.positions[i];
      if (position >= seeds || seen[position]) {
        return Error(Errc::data_corruption,
                     fmt::format("scores of {}: position {} of {} seeds is out of range or given "
                                 "twice",
                                 role, position, seeds));
      }
      seen[position] = true;
      ++found;
      std::ranges::copy(outputs.subspan(i * cols, cols), out.logits.view().row(position).begin());
      if (numbers) {
        std::ranges::copy(std::span(result.numbers).subspan(i * cols, cols),
                          out.numbers.begin() + static_cast<std::ptrdiff_t>(position * cols));
      }
      std::ranges::copy(std::span(result.labels).subspan(i * width, width),
                        out.labels.begin() + static_cast<std::ptrdiff_t>(position * width));
    }
  }
  const bool may_be_partial = options_.eval_partial && phase_ == Phase::score;
  if (found != seeds && !may_be_partial) {
    return Error(Errc::data_corruption,
                 fmt::format("scores of {}: expected {} seeds, found {}", role, seeds, found));
  }
  return out;
}

Status Conductor::take_scores(const std::vector<net::ScoreResult>& results) {
  TROUPE_ASSIGN_OR_RETURN(auto outputs, gather(results, role_));
  if (phase_ == Phase::final_score) {
    return take_final(std::move(outputs));
  }
  const auto scores = score(outputs);
  auto& record = record_.epochs.back();
  record.valid = scores;
  record.eval_seconds = static_cast<double>(now_ns() - began_ns_) * 1e-9;
  const auto value = scores.by_name(options_.metric);
  if (!value) {
    return Error(Errc::failed_precondition,
                 fmt::format("/eval/metric: expected a score that is defined on the validation "
                             "seeds, of which {} have labels, found \"{}\"\ntry: another "
                             "eval.metric, or other validation seeds",
                             scores.labelled, options_.metric));
  }
  record.best = !best_ || (lower_is_better(options_.metric) ? *value < *best_ : *value > *best_);
  if (record.best) {
    best_ = *value;
    record_.best_epoch = epoch_;
  }
  phase_ = record.best ? Phase::keep_best : Phase::train;
  after_evaluation();
  return ok_status();
}

Status Conductor::take_final(Outputs outputs) {
  const auto logits = std::as_const(outputs.logits).view();
  outputs_.add_array(std::span<const float>(logits.flat()));
  record_.outputs = outputs_.digest();
  const bool is_val = role_ == "val";
  if (is_val || role_ == "test") {
    (is_val ? record_.valid : record_.test) = score(outputs);
    const auto ended_ns = now_ns();
    (is_val ? record_.valid_seconds : record_.test_seconds) =
        static_cast<double>(ended_ns - began_ns_) * 1e-9;
    began_ns_ = ended_ns;
  }
  if (std::ranges::find(options_.keep_outputs, role_) != options_.keep_outputs.end()) {
    kept_[role_] = std::make_shared<const Matrix>(std::move(outputs.logits));
  }
  next_final_score();
  return ok_status();
}

Status Conductor::take_kept() {
  next_epoch();
  return ok_status();
}

Status Conductor::take_finished(const std::vector<net::FinishResult>& results) {
  for (const auto& result : results) {
    if (result.parameters != results.front().parameters ||
        result.best_parameters != results.front().best_parameters) {
      return Error(
          Errc::internal,
          fmt::format("parameters of rank {} differ from those of rank {}: {} and {}",
                      raw(result.rank), raw(results.front().rank), to_string(result.parameters),
                      to_string(results.front().parameters)));
    }
  }
  record_.parameters = results.front().parameters;
  record_.best_parameters = results.front().best_parameters;
  const auto first = std::ranges::find(results, Rank{0}, &net::FinishResult::rank);
  const auto tables = first == results.end() ? std::vector<TableDigest>() : first->tables;
  if (tables.size() != options_.tables.size()) {
    return Error(Errc::data_corruption,
                 fmt::format("digests of learned rows: expected {} tables, found {}",
                             options_.tables.size(), tables.size()));
  }
  for (std::size_t i = 0; i < tables.size(); ++i) {
    record_.tensors.push_back({options_.tables[i], tables[i].rows, tables[i].best});
  }
  phase_ = Phase::over;
  return ok_status();
}

}  // namespace troupe
