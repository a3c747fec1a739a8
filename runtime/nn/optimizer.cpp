#include "runtime/nn/optimizer.hpp"

#include "runtime/base/assert.hpp"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace troupe::nn {
namespace {

void check_sizes(std::span<const float> parameters, std::span<const float> gradient,
                 std::size_t expected) {
  TROUPE_ASSERT(parameters.size() == expected && gradient.size() == expected, "optimizer step",
                parameters.size(), gradient.size(), expected);
}

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

/// buf = g at the first step, then momentum * buf + g; p -= lr * buf, or with Nesterov lr * (g +
/// momentum * buf).
class Sgd final : public Optimizer {
 public:
  Sgd(const OptimizerOptions& options, std::size_t size)
      : Optimizer(options.lr),
        decay_(static_cast<float>(options.weight_decay)),
        momentum_(static_cast<float>(options.momentum)),
        nesterov_(options.nesterov),
        size_(size),
        buffer_(options.momentum == 0 ? 0 : size) {}

  void step(std::span<float> parameters, std::span<const float> gradient) override {
    check_sizes(parameters, gradient, size_);
    float* __restrict p = parameters.data();
    const float* __restrict g = gradient.data();
    const auto rate = static_cast<float>(lr_);
    if (buffer_.empty()) {
      for (std::size_t i = 0; i < size_; ++i) {
        p[i] -= rate * (g[i] + decay_ * p[i]);
      }
    } else {
      float* __restrict buf = buffer_.data();
      const float momentum = steps_ == 0 ? 0.0F : momentum_;
      const float own_share = nesterov_ ? 1.0F : 0.0F;
      const float buffer_share = nesterov_ ? momentum_ : 1.0F;
      for (std::size_t i = 0; i < size_; ++i) {
        const float slope = g[i] + decay_ * p[i];
        buf[i] = momentum * buf[i] + slope;
        p[i] -= rate * (own_share * slope + buffer_share * buf[i]);
      }
    }
    ++steps_;
  }

  OptimizerState state() const override {
    OptimizerState state{.steps = steps_, .arrays = {}};
    if (!buffer_.empty()) {
      state.arrays.emplace_back("momentum_buffer", buffer_);
    }
    return state;
  }

  Status restore(const OptimizerState& state) override {
    const std::vector<std::string> names =
        buffer_.empty() ? std::vector<std::string>{} : std::vector<std::string>{"momentum_buffer"};
    TROUPE_RETURN_IF_ERROR(check_state(state, names, size_));
    steps_ = state.steps;
    if (!buffer_.empty()) {
      buffer_ = state.arrays[0].second;
    }
    return ok_status();
  }

 private:
  float decay_;
  float momentum_;
  bool nesterov_;
  std::size_t size_;
  std::uint64_t steps_ = 0;
  std::vector<float> buffer_;
};

/// Kingma and Ba: "Adam", 2015; with `decoupled` decay, Loshchilov and Hutter: "Decoupled weight
/// decay regularization", 2019.
class Adam final : public Optimizer {
 public:
  Adam(const OptimizerOptions& options, bool decoupled, std::size_t size)
      : Optimizer(options.lr),
        options_(options),
        decoupled_(decoupled),
        mean_(size),
        square_(size) {}

  void step(std::span<float> parameters, std::span<const float> gradient) override {
    check_sizes(parameters, gradient, mean_.size());
    ++steps_;
    const auto t = static_cast<double>(steps_);
    const auto rate = static_cast<float>(lr_ / (1 - std::pow(options_.beta1, t)));
    const auto root = static_cast<float>(std::sqrt(1 - std::pow(options_.beta2, t)));
    const auto shrink = static_cast<float>(decoupled_ ? 1 - lr_ * options_.weight_decay : 1.0);
    const auto decay = static_cast<float>(decoupled_ ? 0.0 : options_.weight_decay);
    const auto beta1 = static_cast<float>(options_.beta1);
    const auto beta2 = static_cast<float>(options_.beta2);
    const auto share1 = static_cast<float>(1 - options_.beta1);
    const auto share2 = static_cast<float>(1 - options_.beta2);
    const auto eps = static_cast<float>(options_.eps);
    float* __restrict p = parameters.data();
    const float* __restrict g = gradient.data();
    float* __restrict m = mean_.data();
    float* __restrict v = square_.data();
    for (std::size_t i = 0; i < mean_.size(); ++i) {
      const float value = p[i] * shrink;
      const float slope = g[i] + decay * value;
      m[i] = beta1 * m[i] + share1 * slope;
      v[i] = beta2 * v[i] + share2 * slope * slope;
      p[i] = value - rate * (m[i] / (std::sqrt(v[i]) / root + eps));
    }
  }

  OptimizerState state() const override {
    return {.steps = steps_, .arrays = {{"exp_avg", mean_}, {"exp_avg_sq", square_}}};
  }

  Status restore(const OptimizerState& state) override {
    TROUPE_RETURN_IF_ERROR(check_state(state, {"exp_avg", "exp_avg_sq"}, mean_.size()));
    steps_ = state.steps;
    mean_ = state.arrays[0].second;
    square_ = state.arrays[1].second;
    return ok_status();
  }

 private:
  OptimizerOptions options_;
  bool decoupled_;
  std::uint64_t steps_ = 0;
  std::vector<float> mean_;
  std::vector<float> square_;
};

/// Duchi, Hazan and Singer: "Adaptive subgradient methods for online learning and stochastic
/// optimization", 2011: sum += g * g; p -= rate * g / (sqrt(sum) + eps).
class Adagrad final : public Optimizer {
 public:
  Adagrad(const OptimizerOptions& options, std::size_t size)
      : Optimizer(options.lr),
        options_(options),
        sum_(size, static_cast<float>(options.initial_accumulator)) {}

  void step(std::span<float> parameters, std::span<const float> gradient) override {
    check_sizes(parameters, gradient, sum_.size());
    const auto before = static_cast<double>(steps_++);
    const auto rate = static_cast<float>(lr_ / (1 + before * options_.lr_decay));
    const auto decay = static_cast<float>(options_.weight_decay);
    const auto eps = static_cast<float>(options_.eps);
    float* __restrict p = parameters.data();
    const float* __restrict g = gradient.data();
    float* __restrict sum = sum_.data();
    for (std::size_t i = 0; i < sum_.size(); ++i) {
      const float slope = g[i] + decay * p[i];
      sum[i] += slope * slope;
      p[i] -= rate * (slope / (std::sqrt(sum[i]) + eps));
    }
  }

  OptimizerState state() const override { return {.steps = steps_, .arrays = {{"sum", sum_}}}; }

  Status restore(const OptimizerState& state) override {
    TROUPE_RETURN_IF_ERROR(check_state(state, {"sum"}, sum_.size()));
    steps_ = state.steps;
    sum_ = state.arrays[0].second;
    return ok_status();
  }

 private:
  OptimizerOptions options_;
  std::uint64_t steps_ = 0;
  std::vector<float> sum_;
};

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

double default_eps(const std::string& kind) {
  return kind == "adagrad" ? 1e-10 : 1e-8;
}

Result<std::unique_ptr<Optimizer>> make_optimizer(const OptimizerOptions& options,
                                                  std::size_t num_parameters) {
  TROUPE_RETURN_IF_ERROR(check_options(options));
  if (options.kind == "sgd") {
    return std::unique_ptr<Optimizer>(std::make_unique<Sgd>(options, num_parameters));
  }
  if (options.kind == "adam" || options.kind == "adamw") {
    return std::unique_ptr<Optimizer>(
        std::make_unique<Adam>(options, options.kind == "adamw", num_parameters));
  }
  if (options.kind == "adagrad") {
    return std::unique_ptr<Optimizer>(std::make_unique<Adagrad>(options, num_parameters));
  }
  return Error(Errc::unimplemented,
               fmt::format("optimizer kind: expected sgd, adam, adamw or adagrad, got \"{}\"",
                           options.kind));
}

}  // namespace troupe::nn
