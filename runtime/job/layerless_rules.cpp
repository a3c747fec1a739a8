#include "runtime/job/layerless_rules.hpp"

#include <nlohmann/json.hpp>

#include <fmt/format.h>
#include <vector>

namespace troupe {
namespace {

using Pointer = nlohmann::json::json_pointer;

bool samples_nothing(const nlohmann::json& root) {
  const auto at = [&root](const char* pointer) {
    const Pointer place(pointer);
    return root.contains(place) ? root.at(place) : nlohmann::json();
  };
  return at("/task/kind") == "knowledge" || at("/model/layers") == 0;
}

}  // namespace

void fill_fanout_without_hops(nlohmann::json& root) {
  const bool section = root.is_object() && (!root.contains("sample") || root["sample"].is_object());
  if (!section || !samples_nothing(root) || root.contains(Pointer("/sample/fanout"))) {
    return;
  }
  root["sample"]["fanout"] = {0};
}

void refuse_layer_keys(const Job& job, const std::string& with, ProblemList& problems) {
  const auto refuse = [&](const char* key, bool changed, const char* expected) {
    if (changed && !problems.has(key)) {
      problems.add({key, fmt::format("{} with {}", expected, with), "another", ""});
    }
  };
  const nn::ModelOptions unset;
  const auto& model = job.model;
  const auto& sample = job.sample;
  refuse("/sample/fanout", !sample.fanout_of.empty() || sample.fanout != std::vector{0},
         "none: nothing is sampled");
  refuse("/model/kind", model.kind != unset.kind, "none");
  refuse("/model/norm", model.layer_norm || model.batch_norm, "\"none\"");
  refuse("/model/dropout", model.dropout != 0, "0");
  refuse("/model/input_dropout", model.input_dropout != 0, "0");
  refuse("/model/input", model.linear_input, "\"features\"");
  refuse("/model/residual", model.residual, "false");
  refuse("/model/out_dim", job.out_dim > 0, "none");
  refuse("/sample/subgraph", sample.subgraph != Subgraph::directional, "\"directional\"");
  refuse("/sample/disjoint", sample.disjoint, "false");
  refuse(sample.time.key(), sample.time.given(), "none");
  refuse("/train/precision", job.train.precision != nn::Precision::float32, "\"float32\"");
  refuse("/sample/on", sample.on == SampleOn::device, "\"host\"");
}

void check_layerless_keys(const Job& job, ProblemList& problems) {
  if (job.model.layers > 0) {
    return;
  }
  if (!job.task.predicts_links()) {
    problems.add({"/model/layers", fmt::format("1 or more with task.kind \"{}\"", job.task.kind),
                  "0", "\"link\" and \"unsupervised\" compare rows without layers"});
    return;
  }
  refuse_layer_keys(job, "model.layers 0", problems);
  if (job.eval.mode != "exact" && !problems.has("/eval/mode")) {
    problems.add(
        {"/eval/mode", "\"exact\" with model.layers 0", "another", "rows are read as they are"});
  }
}

}  // namespace troupe
