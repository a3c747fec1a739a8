#include "runtime/job/model_rules.hpp"

#include "runtime/nn/catalog.hpp"

#include <fmt/format.h>
#include <string>

namespace troupe {
namespace {

/// A key of `model` that the kind does not read.
void refuse_unread(const nn::ModelOptions& model, const std::string& key,
                   const std::string& fallback, const std::string& found, ProblemList& problems) {
  problems.add({fmt::format("/model/{}", key),
                fmt::format("{} with kind \"{}\"", fallback, model.kind), found,
                fmt::format("it is for {}", readers_of(nn::model_kinds(), key, "\""))});
}

void check_heads(const nn::ModelOptions& model, ProblemList& problems) {
  if ((model.layers > 1 || model.kind == "hgt") && model.concat &&
      model.hidden % model.heads != 0) {
    problems.add({"/model/heads", fmt::format("a divisor of hidden, {}", model.hidden),
                  fmt::to_string(model.heads), ""});
  }
}

void check_edge_weights(const Job& job, ProblemList& problems) {
  if (!job.sample.edge_data.weights) {
    problems.add({"/model/edge_weights", "false without \"weights\" in sample.edge_data", "true",
                  "sample.edge_data [\"weights\"] brings the weights"});
  }
  if (job.model.aggregator == nn::Aggregator::max) {
    problems.add({"/model/edge_weights", "false with aggregator \"max\"",
                  "true, which is not built yet for it", "\"mean\" and \"sum\" work"});
  }
}

void check_edge_features(const Job& job, ProblemList& problems) {
  if (!job.sample.edge_data.entries) {
    problems.add({"/model/edge_features", "false without \"features\" in sample.edge_data", "true",
                  "sample.edge_data [\"features\"] brings the features"});
  }
  const auto* kind = nn::find_model_kind(job.model.kind);
  if (kind != nullptr && reads_option(*kind, "loops") && job.model.loops) {
    problems.add({"/model/edge_features", "false with loops true",
                  "true, which is not built yet for it", "loops false works"});
  }
}

}  // namespace

void check_model_keys(const Job& job, ProblemList& problems) {
  const nn::ModelOptions& model = job.model;
  const nn::ModelOptions unset;
  const auto good = [&](const std::string& pointer) { return !problems.has(pointer); };
  const auto* kind = good("/model/kind") ? nn::find_model_kind(model.kind) : nullptr;
  const auto unread = [&](const char* key) {
    return kind != nullptr && !reads_option(*kind, key) && good(fmt::format("/model/{}", key));
  };
  if (unread("aggregator") && model.aggregator != unset.aggregator) {
    const bool max = model.aggregator == nn::Aggregator::max;
    refuse_unread(model, "aggregator", "\"mean\"", max ? "\"max\"" : "\"sum\"", problems);
  }
  if (unread("heads") && model.heads != unset.heads) {
    refuse_unread(model, "heads", "1", fmt::to_string(model.heads), problems);
  } else if (kind != nullptr && good("/model/heads") && good("/model/hidden")) {
    check_heads(model, problems);
  }
  if (unread("out_heads") && model.out_heads != unset.out_heads) {
    refuse_unread(model, "out_heads", "0", fmt::to_string(model.out_heads), problems);
  }
  if (unread("bases") && model.bases != unset.bases) {
    refuse_unread(model, "bases", "0", fmt::to_string(model.bases), problems);
  }
  if (unread("attention_dropout") && model.attention_dropout != unset.attention_dropout) {
    refuse_unread(model, "attention_dropout", "0", fmt::format("{}", model.attention_dropout),
                  problems);
  }
  const auto refuse_switch = [&](const char* key, bool found, bool fallback) {
    if (unread(key) && found != fallback) {
      refuse_unread(model, key, fallback ? "true" : "false", found ? "true" : "false", problems);
    }
  };
  refuse_switch("concat", model.concat, unset.concat);
  refuse_switch("loops", model.loops, unset.loops);
  refuse_switch("share_weights", model.share_weights, unset.share_weights);
  refuse_switch("train_eps", model.train_eps, unset.train_eps);
  refuse_switch("edge_features", model.edge_features, unset.edge_features);
  refuse_switch("edge_weights", model.edge_weights, unset.edge_weights);
  refuse_switch("residual", model.residual, unset.residual);
  if (good("/model/edge_features") && model.edge_features) {
    check_edge_features(job, problems);
  }
  if (good("/model/edge_weights") && model.edge_weights) {
    check_edge_weights(job, problems);
  }
  if (good("/model/activation") && good("/model/slope") && model.slope != unset.slope &&
      model.activation != nn::Activation::leaky_relu) {
    problems.add({"/model/slope", "0.01 unless `activation` is \"leaky_relu\"",
                  fmt::format("{}", model.slope), ""});
  }
}

}  // namespace troupe
