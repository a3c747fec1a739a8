#include "runtime/nn/optimizer.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <utility>

namespace troupe::nn {
namespace {

/// The named arrays of `state`, if they are exactly `names`, each of `size` elements.
Status check_state(const OptimizerState& state, const std::vector<std::string>& names,
                   std::size_t size) {
  if (state.arrays.size() != names.size()) {
    return Error(Errc::invalid_argument, fmt::format("optimizer state: expected {} arrays, got {}",
                                                     names.size(), state.arrays.size()));
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& [name, values] = state.arrays[i];
    if (name != names[i] || values.size() != size) {
      return Error(
          Errc::invalid_argument,
          fmt::format("optimizer state: expected array {} with {} elements, got {} with {}",
                      names[i], size, name, values.size()));
    }
  }
  return ok_status();
}

/// Names of the arrays that a kind keeps, in their order.
std::vector<std::string> array_names(const OptimizerOptions& options) {
  if (options.kind == "sgd") {
    return options.momentum == 0 ? std::vector<std::string>{}
                                 : std::vector<std::string>{"momentum_buffer"};
  }
  return options.kind == "adagrad" ? std::vector<std::string>{"sum"}
                                   : std::vector<std::string>{"exp_avg", "exp_avg_sq"};
}

/// \param before  steps that were made
OptimizerStep sgd_numbers(const OptimizerOptions& options, double lr, std::uint64_t before) {
  const auto momentum = static_cast<float>(options.momentum);
  return {.rule = options.momentum == 0 ? StepRule::sgd : StepRule::momentum,
          .rate = static_cast<float>(lr),
          .decay = static_cast<float>(options.weight_decay),
          .momentum = before == 0 ? 0.0F : momentum,
          .own_share = options.nesterov ? 1.0F : 0.0F,
          .buffer_share = options.nesterov ? momentum : 1.0F};
}

OptimizerStep adam_numbers(const OptimizerOptions& options, double lr, std::uint64_t before) {
  const auto t = static_cast<double>(before + 1);
  const bool decoupled = options.kind == "adamw";
  return {.rule = StepRule::adam,
          .rate = static_cast<float>(lr / (1 - std::pow(options.beta1, t))),
          .decay = static_cast<float>(decoupled ? 0.0 : options.weight_decay),
          .shrink = static_cast<float>(decoupled ? 1 - lr * options.weight_decay : 1.0),
          .beta1 = static_cast<float>(options.beta1),
          .beta2 = static_cast<float>(options.beta2),
          .share1 = static_cast<float>(1 - options.beta1),
          .share2 = static_cast<float>(1 - options.beta2),
          .root = static_cast<float>(std::sqrt(1 - std::pow(options.beta2, t))),
          .eps = static_cast<float>(options.eps)};
}

OptimizerStep adagrad_numbers(const OptimizerOptions& options, double lr, std::uint64_t before) {
  return {.rule = StepRule::adagrad,
          .rate = static_cast<float>(lr / (1 + static_cast<double>(before) * options.lr_decay)),
          .decay = static_cast<float>(options.weight_decay),
          .eps = static_cast<float>(options.eps)};
}

/// \errors invalid_argument: not in [0, end)
Status check_range(const char* name, double value, double end) {
  if (!(value >= 0 && value < end)) {
    return Error(
        Errc::invalid_argument,
        fmt::format("optimizer {}: expected a number in [0, {}), got {}", name, end, value));
  }
  return ok_status();
}

Status check_options(const OptimizerOptions& options) {
  constexpr double unbounded = HUGE_VAL;
  TROUPE_RETURN_IF_ERROR(check_range("lr", options.lr, unbounded));
  TROUPE_RETURN_IF_ERROR(check_range("weight_decay", options.weight_decay, unbounded));
  TROUPE_RETURN_IF_ERROR(check_range("momentum", options.momentum, unbounded));
  TROUPE_RETURN_IF_ERROR(check_range("beta1", options.beta1, 1));
  TROUPE_RETURN_IF_ERROR(check_range("beta2", options.beta2, 1));
  TROUPE_RETURN_IF_ERROR(check_range("eps", options.eps, unbounded));
  TROUPE_RETURN_IF_ERROR(check_range("lr_decay", options.lr_decay, unbounded));
  TROUPE_RETURN_IF_ERROR(
      check_range("initial_accumulator", options.initial_accumulator, unbounded));
  if (options.nesterov && options.momentum == 0) {
    return Error(Errc::invalid_argument, "optimizer nesterov: expected a momentum above 0, got 0");
  }
  return ok_status();
}

}  // namespace

Optimizer::Optimizer(OptimizerOptions options, std::size_t num_parameters, BlockOps* ops)
    : options_(std::move(options)), size_(num_parameters), ops_(ops), lr_(options_.lr) {
  for (const auto& name : array_names(options_)) {
    arrays_.emplace_back(name, OpsArray(ops, size_));
  }
  if (options_.kind == "adagrad" && options_.initial_accumulator != 0) {
    const auto start = static_cast<float>(options_.initial_accumulator);
    arrays_.front().second.put(std::vector<float>(size_, start));
  }
}

OptimizerStep Optimizer::next_step() {
  const std::uint64_t before = steps_++;
  if (options_.kind == "sgd") {
    return sgd_numbers(options_, lr_, before);
  }
  return options_.kind == "adagrad" ? adagrad_numbers(options_, lr_, before)
                                    : adam_numbers(options_, lr_, before);
}

void Optimizer::step(std::span<float> parameters, std::span<const float> gradient,
                     const float* factor) {
  TROUPE_ASSERT(parameters.size() == size_ && gradient.size() == size_, "optimizer step",
                parameters.size(), gradient.size(), size_);
  const auto array = [this](std::size_t i) {
    return i < arrays_.size() ? arrays_[i].second.values() : std::span<float>();
  };
  const StepArrays arrays{.parameters = parameters,
                          .gradient = gradient,
                          .factor = factor,
                          .first = array(0),
                          .second = array(1)};
  if (ops_ == nullptr) {
    optimizer_step(next_step(), arrays);
  } else {
    ops_->optimizer_step(next_step(), arrays);
  }
}

OptimizerState Optimizer::state() const {
  OptimizerState state{.steps = steps_, .arrays = {}};
  for (const auto& [name, array] : arrays_) {
    state.arrays.emplace_back(name, array.read());
  }
  return state;
}

Status Optimizer::restore(const OptimizerState& state) {
  TROUPE_RETURN_IF_ERROR(check_state(state, array_names(options_), size_));
  steps_ = state.steps;
  for (std::size_t i = 0; i < arrays_.size(); ++i) {
    arrays_[i].second.put(state.arrays[i].second);
  }
  return ok_status();
}

double default_eps(const std::string& kind) {
  return kind == "adagrad" ? 1e-10 : 1e-8;
}

Result<std::unique_ptr<Optimizer>> make_optimizer(const OptimizerOptions& options,
                                                  std::size_t num_parameters, BlockOps* ops) {
  TROUPE_RETURN_IF_ERROR(check_options(options));
  if (options.kind != "sgd" && options.kind != "adam" && options.kind != "adamw" &&
      options.kind != "adagrad") {
    return Error(Errc::unimplemented,
                 fmt::format("optimizer kind: expected sgd, adam, adamw or adagrad, got \"{}\"",
                             options.kind));
  }
  return std::make_unique<Optimizer>(options, num_parameters, ops);
}

}  // namespace troupe::nn
