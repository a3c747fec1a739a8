#include "runtime/run/outputs.hpp"

#include "runtime/job/job.hpp"
#include "runtime/nn/model_file.hpp"
#include "tests/runtime/run/documented_keys.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/npy_reader.hpp"
#include "tests/support/scratch_folder.hpp"

#include <fstream>

namespace troupe {
namespace {

namespace fs = std::filesystem;

const nn::ParameterLayout layout = {{"conv1.weight", 0, 2, 2}, {"conv1.bias", 4, 2, 1}};

class Outputs : public ::testing::Test {
 protected:
  /// Row of node n: n, n + 0.5.
  static Matrix rows_of(const std::vector<std::uint64_t>& ids) {
    Matrix rows(ids.size(), 2);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      rows.data()[2 * i] = static_cast<float>(ids[i]);
      rows.data()[2 * i + 1] = static_cast<float>(ids[i]) + 0.5F;
    }
    return rows;
  }
  static std::vector<OriginalId> originals(const std::vector<std::uint64_t>& ids) {
    std::vector<OriginalId> list;
    for (const auto id : ids) {
      list.push_back(static_cast<OriginalId>(id));
    }
    return list;
  }
  Status write(const std::vector<std::uint64_t>& ids) const {
    return write_predictions(dir_, originals(ids), rows_of(ids).view());
  }
  /// The ids of node_ids.npy; the rows must be theirs.
  std::vector<std::int64_t> written() const {
    const auto ids = testing::read_npy(dir_ / "node_ids.npy");
    const auto rows = testing::read_npy(dir_ / "predictions.npy");
    EXPECT_EQ(ids.descr, "<i8");
    EXPECT_EQ(rows.descr, "<f4");
    const auto list = ids.as<std::int64_t>();
    const auto values = rows.as<float>();
    EXPECT_EQ(ids.shape, std::vector<std::size_t>{list.size()});
    EXPECT_EQ(rows.shape, (std::vector<std::size_t>{list.size(), 2}));
    for (std::size_t i = 0; i < list.size(); ++i) {
      EXPECT_EQ(values[2 * i], static_cast<float>(list[i]));
      EXPECT_EQ(values[2 * i + 1], static_cast<float>(list[i]) + 0.5F);
    }
    return list;
  }

  testing::ScratchFolder folder_;
  fs::path dir_ = folder_.path() / "out";
};

TEST_F(Outputs, PredictionsKeepTheOrderOfTheRequest) {
  ASSERT_OK(write({3, 10, 11}));
  EXPECT_EQ(written(), (std::vector<std::int64_t>{3, 10, 11}));
  ASSERT_OK(write({9, 2, 7}));
  EXPECT_EQ(written(), (std::vector<std::int64_t>{9, 2, 7}));
  ASSERT_OK(write({}));
  EXPECT_EQ(written(), std::vector<std::int64_t>{});
  EXPECT_EQ(std::distance(fs::directory_iterator(dir_), {}), 2);
}

TEST_F(Outputs, ANodeThatIsAskedForTwiceIsWrittenOnce) {
  ASSERT_OK(write({5, 5, 1, 2, 5, 3, 1, 4, 4}));
  EXPECT_EQ(written(), (std::vector<std::int64_t>{5, 1, 2, 3, 4}));
}

TEST_F(Outputs, PredictionsThatMakeNoTableAreRefused) {
  const auto rows = rows_of({1, 2});
  EXPECT_ERROR(write_predictions(dir_, originals({1}), rows.view()), Errc::invalid_argument,
               "each of 1 nodes, got 2");
  EXPECT_ERROR(write({1, std::uint64_t{1} << 63}), Errc::invalid_argument, "9223372036854775808");
  EXPECT_FALSE(fs::exists(dir_));
}

TEST_F(Outputs, PredictionsAreNeverSeenBesideOtherIds) {
  ASSERT_OK(write({1, 2}));
  fs::remove(dir_ / "node_ids.npy");
  fs::create_directories(dir_ / "node_ids.npy");  // cannot be replaced by a file
  EXPECT_ERROR(write({3}), Errc::failed_precondition, "node_ids.npy");
  EXPECT_FALSE(fs::exists(dir_ / "predictions.npy"));
}

TEST_F(Outputs, PredictionsAreRemovedWithTheirIds) {
  ASSERT_OK(write({3, 1}));

  EXPECT_OK(remove_predictions(dir_));
  EXPECT_TRUE(fs::is_empty(dir_));
  EXPECT_OK(remove_predictions(dir_)) << "nothing is there";
}

TEST_F(Outputs, AModelComesBackWithWhatItIs) {
  const nn::ModelOptions options{.layers = 2, .in_dim = 3, .hidden = 4, .out_dim = 5};
  const auto metadata = model_metadata(options);
  const auto file = folder_.path() / "model.safetensors";
  const std::vector<float> parameters = {1, 2, 3, 4, 5, 6};
  ASSERT_OK(write_model(file, layout, parameters, metadata));

  ASSERT_OK_AND_ASSIGN(const auto model, read_model(file, layout, metadata));
  EXPECT_EQ(model.parameters, parameters);
  EXPECT_EQ(model.metadata, metadata);
  EXPECT_EQ(metadata.at("kind"), "graphsage");
  EXPECT_EQ(metadata.at("aggregator"), "mean");
  EXPECT_EQ(metadata.at("hidden"), "4");
  EXPECT_ERROR(write_model(file, layout, std::span(parameters).first(5), {}),
               Errc::invalid_argument, "expected 6 parameters, got 5");
}

TEST_F(Outputs, TheMetadataHaveTheDocumentedKeys) {
  std::set<std::string> keys;
  nn::ModelOptions options{.layers = 2, .in_dim = 3, .hidden = 4};
  options.types.nodes = {{"node", 3}};
  options.types.edges = {{"edge", NodeTypeId{0}, NodeTypeId{0}},
                         {"back", NodeTypeId{0}, NodeTypeId{0}}};
  options.activation = nn::Activation::leaky_relu;
  for (const std::string kind : {"graphsage", "gat"}) {
    options.kind = kind;
    for (const auto& [key, value] : model_metadata(options)) {
      keys.insert(key);
    }
  }
  options.out_heads = 2;
  Job triples;
  triples.model = options;
  triples.model.decoder = {.kind = "distmult", .relations = {EdgeTypeId{1}, EdgeTypeId{0}}};
  triples.task.kind = "knowledge";
  triples.task.completes.score = {.kind = nn::ScoreKind::transe};
  for (const auto& [key, value] : metadata_of_model(triples)) {
    keys.insert(key);
  }
  keys.insert(learned_rows_key);  // of a run
  keys.insert(learned_nodes_key);
  EXPECT_EQ(keys, testing::documented_keys("model.safetensors"));
}

TEST_F(Outputs, AModelOfOtherOptionsIsRefusedByTheFirstThatDiffers) {
  nn::ModelOptions options{.layers = 2, .in_dim = 3, .hidden = 4, .out_dim = 5};
  const auto file = folder_.path() / "model.safetensors";
  ASSERT_OK(write_model(file, layout, std::vector<float>(6), model_metadata(options)));

  options.dropout = 0.5F;  // changes nothing of what the model computes
  EXPECT_OK(read_model(file, layout, model_metadata(options)));
  options.aggregator = nn::Aggregator::max;  // the same shapes
  EXPECT_ERROR(read_model(file, layout, model_metadata(options)), Errc::invalid_argument,
               "expected a model of aggregator max, found mean");
  auto other = layout;
  other[0].rows = 1;
  other[0].cols = 4;
  EXPECT_ERROR(read_model(file, other), Errc::invalid_argument, "\"conv1.weight\"");

  // A file without metadata, as other programs write it.
  ASSERT_OK(write_model(file, layout, std::vector<float>(6), {}));
  EXPECT_OK(read_model(file, layout, model_metadata(options)));
}

TEST_F(Outputs, WhatTheTaskDecidesIsComparedWhereTheFileSaysIt) {
  Job job;
  job.model = {.layers = 0, .in_dim = 3, .out_dim = 3};
  job.task.kind = "knowledge";
  job.task.completes.score.kind = nn::ScoreKind::complex;
  const auto file = folder_.path() / "model.safetensors";
  ASSERT_OK(write_model(file, layout, std::vector<float>(6), metadata_of_model(job)));
  EXPECT_OK(read_model(file, layout, metadata_of_model(job)));
  job.task.completes.score.kind = nn::ScoreKind::distmult;
  EXPECT_ERROR(read_model(file, layout, metadata_of_model(job)), Errc::invalid_argument,
               "expected a model of score distmult, found complex");
  EXPECT_FALSE(metadata_of_model(job).contains("kind")) << "no layers read it";

  job.task.kind = "unsupervised";
  job.model.types.nodes = {{"node", 3}};
  job.model.types.edges = {{"to", NodeTypeId{0}, NodeTypeId{0}},
                           {"back", NodeTypeId{0}, NodeTypeId{0}}};
  job.model.decoder = {.kind = "distmult", .relations = {EdgeTypeId{1}, EdgeTypeId{0}}};
  ASSERT_OK(write_model(file, layout, std::vector<float>(6), metadata_of_model(job)));
  job.model.decoder.relations = {EdgeTypeId{0}, EdgeTypeId{1}};
  EXPECT_ERROR(read_model(file, layout, metadata_of_model(job)), Errc::invalid_argument,
               "expected a model of decoder_edges to, back, found back, to");
  // A file of an older program says neither.
  ASSERT_OK(write_model(file, layout, std::vector<float>(6), model_metadata(job.model)));
  EXPECT_OK(read_model(file, layout, metadata_of_model(job)));
}

TEST_F(Outputs, AFileThatIsNoModelIsNamed) {
  const auto file = folder_.path() / "model.safetensors";
  EXPECT_ERROR(read_model(file, layout), Errc::not_found, "model.safetensors");
  std::ofstream(file) << "no tensors here";
  EXPECT_ERROR(read_model(file, layout), Errc::data_corruption, "model.safetensors: expected");
}

}  // namespace
}  // namespace troupe
