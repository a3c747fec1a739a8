#include "launcher/progress.hpp"

#include "runtime/base/json_text.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <unistd.h>

namespace troupe {
namespace {

/// "1234" -> "1.23 k": three digits and a unit.
std::string short_number(double value) {
  for (const char* unit : {"", " k", " M"}) {
    if (value < 1000) {
      return fmt::format("{:.3g}{}", value, unit);
    }
    value /= 1000;
  }
  return fmt::format("{:.3g} G", value);
}

}  // namespace

std::string score_text(const std::optional<double>& score) {
  return score ? fmt::format("{:.4f}", *score) : "-";
}

std::string epoch_line(const EpochRecord& epoch, std::uint32_t epochs, const std::string& metric) {
  const auto width = fmt::formatted_size("{}", epochs);
  std::string line =
      fmt::format("epoch {:>{}}/{}  loss {:.4f}", epoch.epoch + 1, width, epochs, epoch.loss);
  if (epoch.valid) {
    line += fmt::format("  valid {} {}{}", metric, score_text(epoch.valid->by_name(metric)),
                        epoch.best ? " *" : "  ");
  }
  line +=
      fmt::format("  {} seeds/s  {} edges/s  wait {:.0f} %  remote {:.0f} %",
                  short_number(epoch.seeds_per_second()), short_number(epoch.edges_per_second()),
                  100 * epoch.wait_share(), 100 * epoch.remote_share());
  if (const auto hits = epoch.cache_hit_rate()) {
    line += fmt::format("  cache {:.0f} %", 100 * *hits);
  }
  if (const auto best = epoch.cache_hit_rate_at_best()) {
    line += fmt::format(" of {:.0f} %", 100 * *best);
  }
  return line;
}

std::string epoch_json_line(const EpochRecord& epoch, std::uint32_t epochs) {
  nlohmann::ordered_json json = {{"event", "epoch"},
                                 {"epoch", epoch.epoch + 1},
                                 {"epochs", epochs},
                                 {"loss", epoch.loss},
                                 {"seconds", epoch.seconds},
                                 {"seeds_per_second", epoch.seeds_per_second()},
                                 {"edges_per_second", epoch.edges_per_second()},
                                 {"wait_share", epoch.wait_share()},
                                 {"remote_share", epoch.remote_share()},
                                 {"remote_share_of_hops", epoch.remote_share_of_hops()}};
  if (epoch.valid) {
    nlohmann::ordered_json valid = nlohmann::ordered_json::object();
    for (const char* name : {"accuracy", "f1", "auc"}) {
      const auto score = epoch.valid->by_name(name);
      valid[name] = score ? nlohmann::ordered_json(*score) : nlohmann::ordered_json();
    }
    for (const auto& [name, score] : epoch.valid->more) {
      valid[name] = score;
    }
    json["valid"] = valid;
    json["best"] = epoch.best;
  }
  return text_of_json(json);
}

std::string step_line(const StepReport& step, std::uint32_t epochs, double seconds_per_step) {
  return fmt::format("epoch {:>{}}/{}  step {:>{}}/{}  loss {:.4f}  {:.4g} s/iteration",
                     step.epoch + 1, fmt::formatted_size("{}", epochs), epochs, step.step,
                     fmt::formatted_size("{}", step.steps), step.steps, step.loss,
                     seconds_per_step);
}

std::string inference_line(const InferenceProgress::State& state) {
  auto line = fmt::format("inferring layer {}/{}  {:>3.0f} %", state.layer + 1, state.layers,
                          std::floor(100 * state.share));
  if (state.left) {
    line += fmt::format("  {:.0f} s left", std::ceil(*state.left));
  }
  return line;
}

std::string inference_json_line(const InferenceProgress::State& state) {
  nlohmann::ordered_json json = {{"event", "inference"},
                                 {"layer", state.layer + 1},
                                 {"layers", state.layers},
                                 {"share", state.share},
                                 {"seconds", state.seconds}};
  if (state.left) {
    json["seconds_left"] = *state.left;
  }
  return text_of_json(json);
}

namespace {

constexpr double shown_after = 2;     // seconds of inference
constexpr double lines_between = 10;  // seconds, where there is no live line

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string step_json_line(const StepReport& step, double seconds_per_step) {
  const nlohmann::ordered_json json = {{"event", "step"},
                                       {"epoch", step.epoch + 1},
                                       {"step", step.step},
                                       {"steps", step.steps},
                                       {"global_step", step.global_step},
                                       {"loss", step.loss},
                                       {"lr", step.lr},
                                       {"seconds_per_step", seconds_per_step}};
  return text_of_json(json);
}

}  // namespace

Progress::Progress(Options options) : options_(std::move(options)) {
  if (options_.terminal && options_.format == LogFormat::text) {
    live_ = std::jthread([this](const std::stop_token& stop) { print_live(stop); });
  }
}

Progress::~Progress() {
  if (live_.joinable()) {
    live_.request_stop();
    live_.join();
    writer_.print(STDOUT_FILENO, clear_line);
  }
}

void Progress::step(const StepReport& report) {
  steps_.fetch_add(1, std::memory_order_relaxed);
  if (raw(report.rank) != 0 || options_.log_every == 0) {
    return;
  }
  const std::lock_guard guard(mutex_);
  seconds_ += report.seconds;
  ++counted_;
  if (report.step % options_.log_every != 0) {
    return;
  }
  const double mean = seconds_ / static_cast<double>(counted_);
  seconds_ = 0;
  counted_ = 0;
  print_line(options_.format == LogFormat::json ? step_json_line(report, mean)
                                                : step_line(report, options_.epochs, mean));
}

void Progress::print_line(const std::string& line) {
  outcome(line + "\n");
}

void Progress::note(const std::string& text) {
  error("troupe: " + text + "\n");
}

void Progress::outcome(const std::string& lines) {
  writer_.print(STDOUT_FILENO, (live_.joinable() ? clear_line : "") + lines);
}

void Progress::error(const std::string& lines) {
  writer_.print(STDERR_FILENO, (live_.joinable() ? clear_line : "") + lines);
}

void Progress::epoch(const EpochRecord& record) {
  const auto line = options_.format == LogFormat::json
                        ? epoch_json_line(record, options_.epochs)
                        : epoch_line(record, options_.epochs, options_.metric);
  const std::lock_guard guard(mutex_);
  epochs_done_ = record.epoch + 1;
  inference_.end();
  print_line(line);
}

void Progress::infer(const InferenceReport& report) {
  const auto now = seconds_now();
  const std::lock_guard guard(mutex_);
  inference_.report(report, now);
  const auto state = inference_.state(now);
  if (!state || state->seconds < shown_after) {
    inference_shown_ = 0;
  } else if (!live_.joinable() && now - inference_shown_ >= lines_between) {
    inference_shown_ = now;
    print_line(options_.format == LogFormat::json ? inference_json_line(*state)
                                                  : inference_line(*state));
  }
}

/// \requires mutex_
std::string Progress::live_text() {
  if (const auto state = inference_.state(seconds_now()); state && state->seconds >= shown_after) {
    return inference_line(*state);
  }
  if (epochs_done_ == options_.epochs || options_.steps_per_epoch == 0) {
    return "";
  }
  const auto before = epochs_done_ * options_.steps_per_epoch;
  const auto steps = steps_.load(std::memory_order_relaxed);
  const auto done = std::min(steps > before ? steps - before : 0, options_.steps_per_epoch);
  return fmt::format("epoch {}/{}  {:3} %", epochs_done_ + 1, options_.epochs,
                     100 * done / options_.steps_per_epoch);
}

void Progress::print_live(const std::stop_token& stop) {
  bool shown = false;
  while (!stop.stop_requested()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const std::lock_guard guard(mutex_);
    if (!writer_.flush_for(std::chrono::milliseconds(0))) {
      continue;  // it would be old when it is read
    }
    const auto text = live_text();
    if (shown || !text.empty()) {
      writer_.print(STDOUT_FILENO, clear_line + text);
    }
    shown = !text.empty();
  }
}

}  // namespace troupe
