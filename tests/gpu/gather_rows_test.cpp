#include "gpu/feature/gather_rows.hpp"

#include "gpu/feature/device_rows.hpp"
#include "gpu/sample/device_sampler.hpp"
#include "tests/gpu/sample_support.hpp"
#include "tests/runtime/feature/collect.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <sys/mman.h>

namespace troupe {
namespace {

using testing::CutGraph;

NodeTypeInfo type_with(DType dtype, std::uint64_t cols) {
  NodeTypeInfo type;
  type.name = "paper";
  type.features = FeatureInfo{.dtype = dtype, .cols = cols, .scale = 0.37F};
  type.column_stats.emplace();
  for (std::uint64_t c = 0; c < cols; ++c) {
    type.column_stats->mean.push_back(0.1 * static_cast<double>(c) - 1);
    type.column_stats->sd.push_back(c % 3 == 0 ? 0 : 0.7 + static_cast<double>(c));
  }
  return type;
}

/// Stored values of any kind: small ones, and words of any bits.
std::vector<std::byte> stored_values(DType dtype, std::size_t count, std::mt19937_64& random) {
  std::vector<std::byte> bytes;
  const auto put = [&bytes](auto value) {
    const auto of_value = std::as_bytes(std::span(&value, 1));
    bytes.insert(bytes.end(), of_value.begin(), of_value.end());
  };
  for (std::size_t i = 0; i < count; ++i) {
    const auto word = random();
    const double small = static_cast<double>(word % 2000) / 700.0 - 1;
    if (dtype == DType::f32) {
      put(i % 5 == 0 ? std::bit_cast<float>(static_cast<std::uint32_t>(word))
                     : static_cast<float>(small));
    } else if (dtype == DType::f64) {
      put(i % 5 == 0 ? std::bit_cast<double>(word) : small);
    } else if (dtype == DType::u8) {
      put(static_cast<std::uint8_t>(word));
    } else {
      put(static_cast<std::uint16_t>(word));
    }
  }
  return bytes;
}

std::vector<std::uint32_t> bits_of(std::span<const float> values) {
  std::vector<std::uint32_t> bits(values.size());
  std::ranges::transform(values, bits.begin(), std::bit_cast<std::uint32_t, float>);
  return bits;
}

/// The same with one NaN for all: a GPU's arithmetic has only that one.
std::vector<std::uint32_t> bits_but_nans(std::span<const float> values) {
  auto bits = bits_of(values);
  for (std::size_t i = 0; i < bits.size(); ++i) {
    bits[i] = std::isnan(values[i]) ? 0x7FFFFFFFU : bits[i];
  }
  return bits;
}

/// A table of one node type on a device, and rows of it beside those of RowDecoder.
class GatheredRows {
 public:
  /// \param splits  how many rows are in the device's memory, each in turn
  GatheredRows(const testing::TestDevice& device, std::uint64_t order, NodeTypeInfo type,
               Normalize normalize, std::vector<std::byte> bytes,
               const std::vector<std::uint64_t>& splits = {~std::uint64_t{0}})
      : any_nan_(device.cuda || normalize == Normalize::row),
        bytes_(std::move(bytes)),
        decoder_(*RowDecoder::create(type, normalize)),
        cut_(cut_of(std::move(type), bytes_)) {
    const testing::OnTestDevice on(device, order);
    auto sampler = on.sampler(cut_, testing::fanouts({}));
    EXPECT_OK(sampler);
    sampler_ = *std::move(sampler);
    for (const auto split : splits) {
      const auto count = cut_.info.node_types[0].count;
      auto rows = on.rows(cut_, {.normalize = normalize},
                          {.nodes = {{std::min(split, count)}}, .edges = {0}});
      EXPECT_OK(rows);
      rows_.push_back(*std::move(rows));
    }
  }

  /// \param seeds  nodes without duplicates
  void expect_same(const std::vector<NodeId>& seeds, const std::string& what) {
    ASSERT_OK_AND_ASSIGN(const auto batch,
                         sampler_->sample({}, {.groups = {{NodeTypeId{0}, seeds}}}));
    ASSERT_OK_AND_ASSIGN(auto downloaded, sampler_->download(batch));
    const auto sampled = std::make_shared<const SampledBatch>(std::move(downloaded));
    for (const auto& rows : rows_) {
      expect_same_of(*rows, batch, sampled, seeds,
                     fmt::format("{}, {} rows on the device", what,
                                 rows->features().nodes[0].features.near_rows));
    }
  }

 private:
  void expect_same_of(gpu::DeviceRowSource& rows, const gpu::DeviceBatch& batch,
                      const std::shared_ptr<const SampledBatch>& sampled,
                      const std::vector<NodeId>& seeds, const std::string& what) {
    ASSERT_OK_AND_ASSIGN(const auto gathered, rows.gather(batch));
    ASSERT_OK_AND_ASSIGN(const auto got, rows.download(sampled, gathered));
    const auto values = got.rows[0].features.view().flat();
    const auto cols = decoder_.cols();
    std::vector<float> expected(seeds.size() * cols);
    for (std::size_t i = 0; i < seeds.size(); ++i) {
      decoder_.decode(cut_.parts[0]->nodes[0].features->row(raw(seeds[i])),
                      std::span(expected).subspan(i * cols, cols));
    }
    if (any_nan_) {
      EXPECT_EQ(bits_but_nans(values), bits_but_nans(expected)) << what;
    } else {
      EXPECT_EQ(bits_of(values), bits_of(expected)) << what;
    }
  }

  static CutGraph cut_of(NodeTypeInfo type, std::span<const std::byte> bytes) {
    type.count = bytes.size() / type.features->row_bytes();
    auto cut = testing::cut_graph(testing::plain_graph(type.count, {}), 1);
    type.name = cut.info.node_types[0].name;
    auto part = std::make_shared<Part>(*cut.parts[0]);
    part->nodes[0].features = FeatureTable{*type.features, type.count, {nullptr, bytes}};
    cut.parts[0] = std::move(part);
    cut.info.node_types[0] = std::move(type);
    return cut;
  }

  /// A sum of NaNs is the first of them as a compiler orders its operands; a GPU has one NaN.
  bool any_nan_;
  std::vector<std::byte> bytes_;
  RowDecoder decoder_;
  CutGraph cut_;
  std::unique_ptr<gpu::DeviceSampler> sampler_;
  std::vector<std::unique_ptr<gpu::DeviceRowSource>> rows_;
};

constexpr std::array all_normalizations{Normalize::none, Normalize::row, Normalize::column};
constexpr std::array all_dtypes{DType::u8, DType::f16, DType::bf16, DType::f32, DType::f64};

class GatherRows : public testing::OnEachDevice {};

INSTANTIATE_TEST_SUITE_P(Devices, GatherRows, ::testing::ValuesIn(testing::tested_devices),
                         testing::name_of_device);

TEST_P(GatherRows, HaveTheHostsBitsForEachTypeAndShape) {
  std::mt19937_64 random(3);
  for (const auto dtype : all_dtypes) {
    for (const auto normalize : all_normalizations) {
      for (const std::uint64_t cols : {1U, 4U, 31U, 32U, 33U, 1023U}) {
        std::vector<NodeId> nodes(cols < 1000 ? 1100 : 40);
        for (std::size_t i = 0; i < nodes.size(); ++i) {
          nodes[i] = static_cast<NodeId>(i);
        }
        const std::uint64_t most = nodes.size();
        const auto splits = cols == 4 || cols == 33
                                ? std::vector<std::uint64_t>{0, 1, 31, 32, 33, most - 1, most}
                                : std::vector<std::uint64_t>{0, most / 10, most};
        GatheredRows rows(GetParam(), cols, type_with(dtype, cols), normalize,
                          stored_values(dtype, nodes.size() * cols, random), splits);
        for (const std::size_t count : {0U, 1U, 31U, 32U, 33U, 1023U}) {
          std::ranges::shuffle(nodes, random);
          const auto end =
              nodes.begin() + static_cast<std::ptrdiff_t>(std::min(count, nodes.size()));
          rows.expect_same({nodes.begin(), end},
                           fmt::format("{}, normalize {}, {} columns, {} rows", to_string(dtype),
                                       static_cast<int>(normalize), cols, count));
        }
      }
    }
  }
}

TEST_P(GatherRows, DecodeEveryHalf) {
  std::vector<std::uint16_t> all(65536);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  const auto bytes = std::as_bytes(std::span(all));
  for (const auto dtype : {DType::f16, DType::bf16}) {
    GatheredRows rows(GetParam(), 1, type_with(dtype, 65536), Normalize::none,
                      {bytes.begin(), bytes.end()});
    rows.expect_same({NodeId{0}}, std::string(to_string(dtype)));
  }
}

/// \requires row i of the three has the values 1 + column + i
template <class Decode>
void expect_far_rows_of(gpu::EmulatedStream& on,
                        const gpu::TableRows<typename Decode::Stored>& rows, const Decode& decode) {
  using Stored = typename Decode::Stored;
  const auto cols = rows.cols;
  std::vector<float> divisors(3);
  std::vector<float> single(3 * cols);
  std::vector<float> packed(3 * cols);
  on.for_each(3, gpu::FindRowDivisor<Decode>{rows, decode, divisors.data()});
  on.for_rows(3, cols, gpu::GatherPack<Decode, gpu::AsStored, 1>{rows, decode, {}, single.data()});
  on.for_rows(3, cols / 4,
              gpu::GatherPack<Decode, gpu::AsStored, 4>{rows, decode, {}, packed.data()});
  ASSERT_TRUE(on.finish());
  for (std::size_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (std::uint64_t c = 0; c < cols; ++c) {
      const float expected = decode(static_cast<Stored>(1 + c + i));
      EXPECT_EQ(single[i * cols + c], expected);
      EXPECT_EQ(packed[i * cols + c], expected);
      sum += static_cast<double>(expected);
    }
    EXPECT_EQ(divisors[i], static_cast<float>(std::max(sum, 1.0)));
  }
}

/// Rows far behind the first 2^31 bytes, in one piece, in two and in three: only those that are read are
/// given memory.
template <class Decode>
void expect_far_rows(const Decode& decode) {
  using Stored = typename Decode::Stored;
  constexpr std::size_t bytes = (std::size_t{1} << 33) + 4096;
  constexpr std::uint64_t cols = 96;
  void* const mapped = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const table = static_cast<Stored*>(mapped);
  const std::uint64_t last = bytes / sizeof(Stored) / cols - 1;
  const std::vector<std::uint64_t> index{last, last / 2, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::uint64_t c = 0; c < cols; ++c) {
      table[index[i] * cols + c] = static_cast<Stored>(1 + c + i);
    }
  }
  gpu::EmulatedStream on(
      std::make_shared<gpu::EmulatedDevice>(gpu::EmulatedOptions{.reads_host = true}));
  const auto from = [&](std::uint64_t row) {  // none behind the end
    return row <= last ? table + row * cols : nullptr;
  };
  for (const std::uint64_t near_rows : {~std::uint64_t{0}, last, last / 2, std::uint64_t{1}}) {
    for (const std::uint64_t staged_begin : {~std::uint64_t{0}, last, last / 2, near_rows}) {
      if (near_rows <= staged_begin) {
        expect_far_rows_of(on,
                           {{table, from(near_rows), from(staged_begin), near_rows, staged_begin},
                            index.data(),
                            cols},
                           decode);
      }
    }
  }
  munmap(mapped, bytes);
}

TEST(GatherFarRows, AddressTablesBehindTwoGibibytes) {
  expect_far_rows(gpu::DecodeF32{});
  expect_far_rows(gpu::DecodeF16{});
  expect_far_rows(gpu::DecodeU8{0.5F});
  expect_far_rows(gpu::DecodeF64{});
}

/// A heterogeneous graph whose types have features of different kinds, labels and targets.
testing::TestGraph featured_hetero_graph() {
  auto graph = testing::long_tailed_hetero_graph(21);
  testing::add_features(graph.nodes[1], 8);
  testing::add_features(graph.nodes[2], 5, DType::u8);
  graph.nodes[0].target_cols = 3;
  for (std::uint64_t i = 0; i < 3 * graph.nodes[0].count; ++i) {
    graph.nodes[0].targets.push_back(static_cast<float>(i % 7));
  }
  testing::add_edge_features(graph.edges[2], 3);
  return graph;
}

void expect_same_rows(const Batch& got, const Batch& expected) {
  ASSERT_EQ(got.rows.size(), expected.rows.size());
  const auto same = [](const Matrix& a, const Matrix& b) {
    EXPECT_EQ(a.rows(), b.rows());
    EXPECT_EQ(a.cols(), b.cols());
    EXPECT_EQ(bits_of(a.view().flat()), bits_of(b.view().flat()));
  };
  for (std::size_t t = 0; t < got.rows.size(); ++t) {
    same(got.rows[t].features, expected.rows[t].features);
    EXPECT_EQ(got.rows[t].original_ids, expected.rows[t].original_ids) << t;
  }
  ASSERT_EQ(got.edge_features.size(), expected.edge_features.size());
  for (std::size_t e = 0; e < got.edge_features.size(); ++e) {
    same(got.edge_features[e], expected.edge_features[e]);
  }
  EXPECT_EQ(got.labels, expected.labels);
  same(got.targets, expected.targets);
}

TEST_P(GatherRows, OfBatchesHaveTheHostsDigest) {
  const auto graph = featured_hetero_graph();
  const auto cut = testing::cut_graph(graph, 1);
  SampleOptions options{.fanout = {{4, 4, 4, 4, 4}, {3, 3, -1, 3, 3}}, .job_seed = 3};
  options.edge_data.entries = true;
  const auto collect_options = testing::collect_with_edges(cut);
  const gpu::FeaturePlan plan{.edge_features = {EdgeTypeId{0}, EdgeTypeId{2}}};
  for (std::uint64_t order = 1; order <= orders(20); ++order) {
    const auto device = on(order);
    ASSERT_OK_AND_ASSIGN(const auto sampler, device.sampler(cut, options));
    ASSERT_OK_AND_ASSIGN(const auto rows, device.rows(cut, plan));
    ASSERT_OK_AND_ASSIGN(const auto arrays,
                         gpu::features_for_device(cut.info, *cut.parts[0], plan));
    EXPECT_EQ(rows->features().bytes, arrays.bytes());
    EXPECT_EQ(rows->features().pinned_bytes, 0U);
    for (std::uint16_t type = 0; type < 3; ++type) {
      const auto seeds = testing::random_seeds(type == 2 ? 0 : 33, 300, order);
      const BatchKey key{.number = order};
      const auto expected =
          testing::collect(cut, collect_options, testing::drive(cut, options, key, seeds, type));
      ASSERT_OK_AND_ASSIGN(
          const auto batch,
          sampler->sample(key,
                          {.groups = {{static_cast<NodeTypeId>(type), cut.globals(seeds, type)}}}));
      ASSERT_OK_AND_ASSIGN(const auto gathered, rows->gather(batch));
      ASSERT_OK_AND_ASSIGN(auto sampled, sampler->download(batch));
      ASSERT_OK_AND_ASSIGN(
          const auto got,
          rows->download(std::make_shared<const SampledBatch>(std::move(sampled)), gathered));
      expect_same_rows(got, expected);
      EXPECT_EQ(digest_batch(got, DigestMode::full), digest_batch(expected, DigestMode::full));
    }
  }
}

TEST(GatherBatch, SeedsOfSeveralTypesHaveNoLabels) {
  const auto cut = testing::cut_graph(featured_hetero_graph(), 1);
  const SampleOptions options{.fanout = {{4, 4, 4, 4, 4}}};
  const auto device = std::make_shared<gpu::EmulatedDevice>();
  ASSERT_OK_AND_ASSIGN(const auto sampler, testing::emulated_sampler(device, cut, options));
  ASSERT_OK_AND_ASSIGN(const auto rows, testing::emulated_rows(device, cut, {}));
  const auto labels_of = [&](const std::vector<SeedGroup>& groups) {
    const auto batch = sampler->sample({}, {.groups = groups});
    EXPECT_OK(batch);
    const auto gathered = rows->gather(*batch);
    EXPECT_OK(gathered);
    return gathered->labels.size();
  };
  const SeedGroup few{NodeTypeId{2}, cut.globals({3}, 2)};
  const SeedGroup many{NodeTypeId{1}, cut.globals(testing::random_seeds(99, 500, 1), 1)};
  EXPECT_EQ(labels_of({few, many}), 0U);
  EXPECT_EQ(labels_of({few, few}), 2U);
}

TEST(FeaturesForDevice, RefuseWhatThePartDoesNotHave) {
  const auto graph = featured_hetero_graph();
  const auto whole = testing::cut_graph(graph, 1);
  const auto arrays_of = [](const CutGraph& cut, const gpu::FeaturePlan& plan,
                            std::size_t part = 0) {
    return gpu::features_for_device(cut.info, *cut.parts[part], plan);
  };
  EXPECT_OK(arrays_of(whole, {}));
  EXPECT_ERROR(arrays_of(testing::cut_graph(graph, 2), {}, 1), Errc::failed_precondition,
               "expected all 300 nodes of type \"author\" in the part");
  EXPECT_ERROR(arrays_of(whole, {.normalize = Normalize::column}), Errc::failed_precondition,
               "normalising columns needs statistics");
  auto more = testing::cut_graph(graph, 1);
  more.info.node_types[1].features->cols = 9;
  EXPECT_ERROR(arrays_of(more, {}), Errc::failed_precondition,
               "expected 500 rows of paper in the part, 18000 bytes, found 0");
  more = testing::cut_graph(graph, 1);
  more.info.node_types[1].features->dtype = DType::i32;
  EXPECT_ERROR(arrays_of(more, {}), Errc::unimplemented, "expected dtype u8, f16");
  more = testing::cut_graph(graph, 1);
  more.info.edge_types[0].features = FeatureInfo{.cols = 2};
  EXPECT_OK(arrays_of(more, {}));
  EXPECT_ERROR(arrays_of(more, {.edge_features = {EdgeTypeId{0}}}), Errc::failed_precondition,
               "rows of writes in the part");
  const auto small =
      std::make_shared<gpu::EmulatedDevice>(gpu::EmulatedOptions{.memory_bytes = 99});
  EXPECT_ERROR(testing::emulated_rows(small, whole, {}), Errc::out_of_memory, "emulated device");
}

}  // namespace
}  // namespace troupe
