#include "runtime/job/collect_options.hpp"

#include "runtime/job/columns.hpp"
#include "runtime/job/sample_options.hpp"
#include "tests/support/expect.hpp"

#include <array>

namespace troupe {
namespace {

/// Authors have features and classes, tags nothing.
GraphInfo authors_and_tags() {
  NodeTypeInfo authors;
  authors.name = "author";
  authors.count = 9;
  authors.features = FeatureInfo{DType::f16, 6, 1.0F};
  authors.labels = LabelInfo{LabelInfo::Kind::classes, 3};
  NodeTypeInfo tags;
  tags.name = "tag";
  tags.count = 4;
  GraphInfo info;
  info.node_types = {authors, tags};
  return info;
}

/// Without dropout and digests.
Job job_without_readers() {
  Job job;
  job.model.layers = 2;
  job.digest = DigestMode::off;
  return job;
}

TEST(OptionsOfCollecting, NameRowsAndLabelsOfEveryType) {
  ASSERT_OK_AND_ASSIGN(
      const auto options,
      collect_options(job_without_readers(), authors_and_tags(), BatchReader::trainer));

  ASSERT_EQ(options.decoders.size(), 2U);
  EXPECT_EQ(options.decoders[0].cols(), 6U);
  EXPECT_EQ(options.decoders[0].row_bytes(), 12U);
  EXPECT_EQ(options.decoders[1].cols(), 0U);
  EXPECT_EQ(options.label_bytes, (std::vector<std::uint64_t>{8, 0}));
  EXPECT_TRUE(options.with_labels);
  EXPECT_EQ(options.digest, DigestMode::off);
  EXPECT_TRUE(options.digest_here);
}

TEST(OptionsOfCollecting, WithoutCollectingThereAreIdsAlone) {
  auto job = job_without_readers();
  job.features.collect = false;
  job.features.normalize = Normalize::column;  // of no rows
  ASSERT_OK_AND_ASSIGN(const auto options,
                       collect_options(job, authors_and_tags(), BatchReader::user));

  ASSERT_EQ(options.decoders.size(), 2U);
  EXPECT_EQ(options.decoders[0].cols(), 0U);
  EXPECT_FALSE(options.with_labels);
  EXPECT_TRUE(options.label_bytes.empty());
  EXPECT_TRUE(options.with_original_ids);
}

TEST(OptionsOfCollecting, NameRowsOfEdgesOnlyWhereTheJobWantsThem) {
  auto info = authors_and_tags();
  info.edge_types.resize(2);
  info.edge_types[1].features = FeatureInfo{DType::u8, 3, 0.5F};
  auto job = job_without_readers();
  job.features.normalize = Normalize::row;  // of nodes
  ASSERT_OK_AND_ASSIGN(const auto without, collect_options(job, info, BatchReader::user));
  EXPECT_TRUE(without.edge_decoders.empty());
  EXPECT_FALSE(without.wants_edge_features(1));

  job.sample.edge_data.entries = true;
  ASSERT_OK_AND_ASSIGN(const auto with, collect_options(job, info, BatchReader::user));
  EXPECT_FALSE(with.wants_edge_features(0));
  EXPECT_TRUE(with.wants_edge_features(1));
  std::array<float, 3> row{};
  constexpr std::array bytes{std::byte{2}, std::byte{0}, std::byte{5}};
  with.edge_decoders[1].decode(bytes, row);
  EXPECT_EQ(row, (std::array{1.0F, 0.0F, 2.5F})) << "scaled, not normalized";

  info.edge_types[1].features->dtype = DType::i64;
  EXPECT_ERROR(collect_options(job, info, BatchReader::user), Errc::unimplemented,
               "features of edge type \"\": expected dtype u8");
}

TEST(OptionsOfCollecting, NameColumnsInTheOrderOfTypes) {
  auto info = authors_and_tags();
  info.node_types[1].columns = {{"age", DType::i64, {}}, {"place", DType::f64, {2}}};
  info.edge_types.resize(2);
  info.edge_types[1].name = "wrote";
  info.edge_types[1].columns = {{"kind", DType::u8, {3}}};
  auto job = job_without_readers();
  job.sample.fanout = {2, 2};
  job.features.columns = {"edges-wrote/kind", "nodes-tag/place", "nodes-tag/place"};
  ASSERT_OK_AND_ASSIGN(const auto options, collect_options(job, info, BatchReader::user));

  ASSERT_EQ(options.columns.size(), 2U);
  EXPECT_EQ(options.columns[0].table, (TableName{TableName::Kind::node_column, 1, 1}));
  EXPECT_EQ(options.columns[0].info, info.node_types[1].columns[1]);
  EXPECT_EQ(options.columns[1].table, (TableName{TableName::Kind::edge_column, 1, 0}));
  EXPECT_EQ(sample_options(job, info).entries_of, (std::vector{EdgeTypeId{1}}));
  EXPECT_TRUE(reads_rows_of_edges(job));
  EXPECT_EQ(column_bytes(options.columns, TableName::Kind::node_column, 1), 16U);
  EXPECT_EQ(column_bytes(options.columns, TableName::Kind::edge_column, 1), 3U);
  EXPECT_EQ(column_bytes(options.columns, TableName::Kind::node_column, 0), 0U);

  job.features.columns = {"nodes-tag/age"};
  EXPECT_TRUE(sample_options(job, info).entries_of.empty());
  EXPECT_FALSE(reads_rows_of_edges(job));
}

TEST(OptionsOfCollecting, RowsNormalizedByColumnNeedStatistics) {
  auto job = job_without_readers();
  job.features.normalize = Normalize::column;
  EXPECT_ERROR(collect_options(job, authors_and_tags(), BatchReader::trainer),
               Errc::failed_precondition, "statistics");
}

TEST(OriginalIdsOfBatches, AreCollectedOnlyForWhatReadsThem) {
  const auto collected = [](BatchReader reader, auto change) {
    auto job = job_without_readers();
    change(job);
    const auto options = collect_options(job, authors_and_tags(), reader);
    EXPECT_OK(options);
    return options->with_original_ids;
  };
  const auto trained = [&](auto change) { return collected(BatchReader::trainer, change); };

  EXPECT_FALSE(trained([](Job&) {}));
  EXPECT_TRUE(trained([](Job& job) { job.digest = DigestMode::full; }));
  EXPECT_TRUE(trained([](Job& job) { job.digest = DigestMode::ids; }));
  EXPECT_TRUE(trained([](Job& job) { job.model.input_dropout = 0.1F; }));
  EXPECT_TRUE(trained([](Job& job) { job.model.dropout = 0.1F; }));
  EXPECT_FALSE(trained([](Job& job) {
    job.model.dropout = 0.1F;
    job.model.layers = 1;
  })) << "one layer has only an input";
  EXPECT_TRUE(collected(BatchReader::user, [](Job&) {})) << "programs and files show all";
}

}  // namespace
}  // namespace troupe
