// The program against PyTorch Geometric (tests/goldens): outputs from PyG's weights, and weights
// after a training step of two ranks.
#include "tests/support/expect.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/npy_reader.hpp"
#include "tests/support/process.hpp"
#include "tests/support/scratch_folder.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using nlohmann::json;

/// README of the goldens: of logits, and of layers with their gradients. Seen: 3e-7.
constexpr double golden_tolerance = 1e-5;

struct GoldenTensor {
  std::vector<std::size_t> shape;
  std::vector<float> values;
};

/// Of one array after the step of two ranks. The gradient of GCN's last bias is a sum over classes
/// in equal numbers, which nearly cancels: PyG's own float32 is 9e-6 from its float64 there.
double step_tolerance(const std::string& kind, const std::string& name) {
  return kind == "gcn" && name == "conv2.bias" ? 10 * golden_tolerance : golden_tolerance;
}

/// A model file, by name; written and read here without the program's code.
using GoldenModel = std::map<std::string, GoldenTensor>;

std::string to_safetensors(const GoldenModel& model) {
  auto header = json::object();
  std::string data;
  for (const auto& [name, tensor] : model) {
    const auto begin = data.size();
    data.append(reinterpret_cast<const char*>(tensor.values.data()),
                tensor.values.size() * sizeof(float));
    header[name] = {
        {"dtype", "F32"}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = header.dump();
  std::string length(sizeof(std::uint64_t), '\0');
  for (std::size_t i = 0; i < length.size(); ++i) {
    length[i] = static_cast<char>(text.size() >> (8 * i) & 0xFFU);
  }
  return length + text + data;
}

GoldenModel from_safetensors(const std::string& bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  const auto data = bytes.substr(sizeof(length) + length);
  GoldenModel model;
  const auto header = json::parse(bytes.substr(sizeof(length), length));
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      continue;
    }
    const auto begin = entry["data_offsets"][0].get<std::size_t>();
    const auto end = entry["data_offsets"][1].get<std::size_t>();
    auto& tensor = model[name];
    tensor.shape = entry["shape"].get<std::vector<std::size_t>>();
    tensor.values.resize((end - begin) / sizeof(float));
    std::memcpy(tensor.values.data(), data.data() + begin, end - begin);
  }
  return model;
}

/// max|found - truth| / max|truth|
double relative_distance(const std::vector<double>& found, const std::vector<double>& truth) {
  EXPECT_EQ(found.size(), truth.size());
  double error = found.size() == truth.size() ? 0 : INFINITY;
  double largest = 0;
  for (std::size_t i = 0; i < std::min(found.size(), truth.size()); ++i) {
    const double here = std::abs(found[i] - truth[i]);
    error = here <= error ? error : here;  // also where it is not a number
    largest = std::max(largest, std::abs(truth[i]));
  }
  return error / largest;
}

/// The values with rows and columns exchanged, under the old shape.
GoldenTensor transposed(const GoldenTensor& tensor) {
  GoldenTensor result{tensor.shape, {}};
  for (std::size_t c = 0; c < tensor.shape[1]; ++c) {
    for (std::size_t r = 0; r < tensor.shape[0]; ++r) {
      result.values.push_back(tensor.values[r * tensor.shape[1] + c]);
    }
  }
  return result;
}

class ProgramGoldens : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    write("job.json", fmt::format(R"({{"dataset": {{"path": "{}/examples/data/cora"}},
                           "sample": {{"fanout": [5, 3], "batch_size": 80}},
                           "model": {{"kind": "{}", "hidden": 16}},
                           "train": {{"optimizer": {{"kind": "sgd", "lr": 512}}}},
                           "seed": 7}})",
                                  TROUPE_SOURCE_DIR, GetParam() == "sage" ? "graphsage" : "gcn"));
  }
  testing::ProcessResult troupe(const std::string& command,
                                const std::vector<std::string>& more) const {
    std::vector<std::string> arguments{TROUPE_PROGRAM, command, path("job.json"), "--set",
                                       "output=" + path("out")};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return testing::run_process(arguments, scratch_.path().string());
  }
  static testing::NpyArray golden(const std::string& name) {
    return testing::read_npy(std::string(TROUPE_SOURCE_DIR "/tests/goldens/") + name + ".npy");
  }
  /// The weights in a folder of the goldens.
  GoldenModel golden_model(const std::string& folder) const {
    const std::vector<std::string> of_layer =
        GetParam() == "sage"
            ? std::vector<std::string>{"lin_l.weight", "lin_l.bias", "lin_r.weight"}
            : std::vector<std::string>{"lin.weight", "bias"};
    GoldenModel model;
    for (const std::string layer : {"conv1.", "conv2."}) {
      for (const auto& name : of_layer) {
        std::string file = layer + name;
        std::ranges::replace(file, '.', '_');
        const auto array = golden(folder + "/" + file);
        model[layer + name] = {array.shape, array.as<float>()};
      }
    }
    return model;
  }
  /// Runs `troupe predict` with the model for all nodes.
  testing::ProcessResult predict(const GoldenModel& model, const std::string& parts = "2") const {
    write("model.safetensors", to_safetensors(model));
    return troupe("predict", {"--model", path("model.safetensors"), "--nodes", "all", "--out",
                              path("predicted"), "--set", "cluster.hosts=" + parts, "--set",
                              "partition.parts=" + parts});
  }
  /// Of what predict() wrote from PyG's logits of the same weights.
  double distance_from_golden_logits() const {
    const auto found = testing::read_npy(path("predicted/predictions.npy"));
    const auto truth = golden("cora/" + GetParam() + "_full/logits_f64");
    EXPECT_EQ(found.shape, truth.shape);
    return relative_distance(found.as<double>(), truth.as<double>());
  }
  std::string path(const std::string& name) const { return (scratch_.path() / name).string(); }
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
  }
  std::string read(const std::string& name) const { return testing::file_text(path(name)); }

 private:
  testing::ScratchFolder scratch_;
};

TEST_P(ProgramGoldens, PredictGivesPyGsLogitsFromPyGsWeights) {
  const auto model = golden_model("cora/" + GetParam() + "_full");

  for (const std::string parts : {"1", "2", "3"}) {
    const auto done = predict(model, parts);

    ASSERT_EQ(done.exit_code, 0) << parts << " parts: " << done.err;
    const auto ids = testing::read_npy(path("predicted/node_ids.npy")).as<std::size_t>();
    ASSERT_EQ(ids.size(), 2708U);
    EXPECT_TRUE(std::ranges::is_sorted(ids)) << "rows are those of the nodes 0, 1, ...";
    EXPECT_LE(distance_from_golden_logits(), golden_tolerance) << parts << " parts";
  }
}

TEST_P(ProgramGoldens, PredictGivesOtherLogitsFromWeightsInAnotherOrder) {
  const auto model = golden_model("cora/" + GetParam() + "_full");
  const std::string first = GetParam() == "sage" ? "conv1.lin_l.weight" : "conv1.lin.weight";
  std::map<std::string, GoldenModel> wrong = {{"transposed", model}, {"rows reversed", model}};
  wrong["transposed"][first] = transposed(model.at(first));
  auto& second = wrong["rows reversed"]
                      [first == "conv1.lin.weight" ? "conv2.lin.weight" : "conv2.lin_l.weight"];
  std::ranges::reverse(second.values);
  if (GetParam() == "sage") {
    auto& swapped = wrong["neighbors' and own weight exchanged"] = model;
    std::swap(swapped["conv1.lin_l.weight"], swapped["conv1.lin_r.weight"]);
  }

  for (const auto& [what, of_model] : wrong) {
    const auto done = predict(of_model);

    ASSERT_EQ(done.exit_code, 0) << done.err;
    EXPECT_GT(distance_from_golden_logits(), 1000 * golden_tolerance) << what;
  }

  auto turned = model;
  std::swap(turned[first].shape[0], turned[first].shape[1]);
  const auto refused = predict(turned);
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_NE(refused.err.find(first), std::string::npos) << refused.err;
}

/// The gradient is PyG's: the rate of 512 makes the step larger than the initial weights, which
/// also are compared. The ranks have 80 and 60 seeds.
TEST_P(ProgramGoldens, AStepOfTwoRanksGivesPyGsWeights) {
  const auto expected = golden_model("two_ranks/" + GetParam());
  const auto loss = golden("two_ranks/" + GetParam() + "/loss").as<double>().at(0);

  for (const std::string launch : {"simulate", "local"}) {
    const auto done = troupe(
        "run", {"--overwrite", "--set", "cluster.launch=" + launch, "--set", "cluster.hosts=2",
                "--set", "partition.parts=2", "--set", "features.normalize=row"});

    ASSERT_EQ(done.exit_code, 0) << launch << ": " << done.err;
    const auto report = json::parse(read("out/report.json"));
    EXPECT_EQ(report["epochs"][0]["batches"], 2) << "one of each rank";
    EXPECT_NEAR(report["epochs"][0]["loss"].get<double>(), loss, golden_tolerance * loss);
    const auto found = from_safetensors(read("out/model.safetensors"));
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [name, truth] : expected) {
      ASSERT_TRUE(found.contains(name)) << name;
      const auto& tensor = found.at(name);
      EXPECT_EQ(tensor.shape, truth.shape) << name;
      EXPECT_LE(relative_distance({tensor.values.begin(), tensor.values.end()},
                                  {truth.values.begin(), truth.values.end()}),
                step_tolerance(GetParam(), name))
          << launch << ": " << name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, ProgramGoldens, ::testing::Values("sage", "gcn"),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace troupe
