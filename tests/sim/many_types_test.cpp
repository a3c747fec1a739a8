// Whole runs along many edge types, of which a node has edges of few: parts with indexes of their lists,
// halos and kept lists without, replies and batches that name only nodes with edges. No layout shows.
#include "tests/sim/heterogeneous_support.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"

#include <string>
#include <vector>

namespace troupe {
namespace {

using Settings = std::vector<std::string>;

/// 24 edge types from things to things, where a thing has in-edges of three, and 20 from tags to things,
/// most of which end at one thing alone.
Status write_many_types_store(const std::filesystem::path& out) {
  constexpr std::uint64_t things = 300;
  constexpr std::uint64_t tags = 40;
  InlineExecutor executor;
  TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(out, {}, executor));
  const LabelInfo classes{LabelInfo::Kind::classes, 3};
  const FeatureInfo narrow{DType::f32, 6, 1.0F};
  TROUPE_ASSIGN_OR_RETURN(const auto thing,
                          writer.add_node_type({"thing", things, narrow, classes}));
  TROUPE_ASSIGN_OR_RETURN(
      const auto tag, writer.add_node_type({"tag", tags, FeatureInfo{DType::f32, 4, 1.0F}, {}}));
  constexpr std::uint64_t edge_types = 44;
  constexpr std::uint64_t of_things = 24;
  std::vector<EdgeTypeId> types;
  for (std::uint64_t e = 0; e < edge_types; ++e) {
    TROUPE_ASSIGN_OR_RETURN(
        const auto type,
        writer.add_edge_type({fmt::format("e{}", e), e < of_things ? thing : tag, thing}));
    types.push_back(type);
  }
  DrawStream draw(stream_key(21, {.domain = Domain::generators}), 0);
  for (std::uint64_t e = 0; e < edge_types; ++e) {
    const bool of_tags = e >= of_things;
    std::vector<std::uint64_t> sources;
    std::vector<std::uint64_t> destinations;
    for (std::uint64_t i = 0; i < things; ++i) {
      const bool has = of_tags ? (i == e || (e == 30 && i % 2 == 0)) : (i + e) % 8 == 0;
      for (std::uint32_t k = 0; has && k <= draw.below(3); ++k) {
        sources.push_back(of_tags ? draw.below(tags) : 3 * draw.below(things / 3) + i % 3);
        destinations.push_back(i);
      }
    }
    TROUPE_RETURN_IF_ERROR(
        writer.add_edges(types[e], {.sources = sources, .destinations = destinations}));
  }
  std::vector<std::int64_t> labels;
  std::vector<std::vector<std::uint64_t>> roles(3);
  for (std::uint64_t i = 0; i < things; ++i) {
    labels.push_back(static_cast<std::int64_t>(i % 3));
    roles[i % 2 == 0 ? 0 : i % 4 == 1 ? 1 : 2].push_back(i);
  }
  TROUPE_RETURN_IF_ERROR(writer.add_labels(thing, labels));
  for (const auto& [type, numbers] : {std::pair(thing, 6 * things), std::pair(tag, 4 * tags)}) {
    std::vector<float> features(numbers);
    for (float& x : features) {
      x = unit_float(draw.next()) - 0.5F;
    }
    TROUPE_RETURN_IF_ERROR(writer.add_features(type, std::as_bytes(std::span(features))));
  }
  TROUPE_RETURN_IF_ERROR(writer.set_seeds("", "train", thing, roles[0]));
  TROUPE_RETURN_IF_ERROR(writer.set_seeds("", "val", thing, roles[1]));
  TROUPE_RETURN_IF_ERROR(writer.set_seeds("", "test", thing, roles[2]));
  return writer.finish() ? ok_status() : Status(Error(Errc::internal, "the store is not complete"));
}

class ManyTypesRun : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_OK(write_many_types_store(scratch_.path() / "graph")); }
  Result<RunRecord> run(const Settings& settings) const {
    Settings all = {"sample.fanout=[3,2]", "cluster.hosts=2", "partition.parts=3"};
    all.insert(all.end(), settings.begin(), settings.end());
    TROUPE_ASSIGN_OR_RETURN(auto job, testing::heterogeneous_job(scratch_.path() / "graph",
                                                                 scratch_.path() / "out", all));
    return testing::run_job(std::move(job));
  }
  static void expect_same(const RunRecord& a, const RunRecord& b, const std::string& what) {
    EXPECT_EQ(a.batches, b.batches) << what;
    EXPECT_EQ(a.parameters, b.parameters) << what;
    EXPECT_EQ(a.outputs, b.outputs) << what;
  }
  testing::ScratchFolder scratch_;
};

TEST_F(ManyTypesRun, LayoutsChangeNothing) {
  for (const Settings& model :
       std::vector<Settings>{{"model.kind=rgcn"},
                             {"model.kind=rgcn", "model.bases=2", "model.input=linear",
                              "sample.disjoint=true", "eval.mode=exact"},
                             {"model.kind=graphsage", "sample.frontier=all"}}) {
    ASSERT_OK_AND_ASSIGN(const auto plain, run(model));
    for (const Settings& layout :
         std::vector<Settings>{{"partition.parts=1"},
                               {"partition.halo=1", "partition.halo_features=true"},
                               {"partition.topology=replicated", "cluster.threads=1"},
                               {"sample.cache.budget=20KB", "cluster.window=65536"},
                               {"cluster.placement=worker", "cluster.samplers_per_trainer=2"},
                               {"cluster.device=emulated:2"}}) {
      auto both = model;
      both.insert(both.end(), layout.begin(), layout.end());
      ASSERT_OK_AND_ASSIGN(const auto record, run(both));
      expect_same(record, plain, fmt::format("{} {}", model.back(), layout.front()));
    }
  }
}

}  // namespace
}  // namespace troupe
