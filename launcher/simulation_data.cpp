#include "launcher/simulation_data.hpp"

#include "runtime/base/executor.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/data/stream_store.hpp"
#include "runtime/generate/rmat.hpp"
#include "runtime/graph/npy.hpp"

#include <array>
#include <span>
#include <vector>

namespace troupe {
namespace {

// Wide rows: what is in flight is to come near windows of 64 KiB.
constexpr std::uint64_t row_columns = 256;

Status write_ids(const std::filesystem::path& file, std::uint64_t first, std::uint64_t count) {
  std::vector<std::int64_t> ids;
  for (std::uint64_t i = 0; i < count; ++i) {
    ids.push_back(static_cast<std::int64_t>(first + i));
  }
  const std::array<std::uint64_t, 1> shape = {count};
  const auto header = npy_header({'i', 8}, shape);
  const std::array<std::span<const std::byte>, 2> pieces = {std::as_bytes(std::span(header)),
                                                            std::as_bytes(std::span(ids))};
  return write_new_file(file, pieces);
}

std::vector<float> random_rows(DrawStream& draw, std::uint64_t count) {
  std::vector<float> values(count);
  for (float& value : values) {
    value = unit_float(draw.next()) - 0.5F;
  }
  return values;
}

std::vector<std::uint64_t> from_to(std::uint64_t first, std::uint64_t end) {
  std::vector<std::uint64_t> ids;
  for (auto id = first; id < end; ++id) {
    ids.push_back(id);
  }
  return ids;
}

}  // namespace

Status make_simulation_data(const std::filesystem::path& dir, std::uint64_t train_seeds) {
  InlineExecutor executor;
  RmatOptions options;
  options.nodes = 96;
  options.edges = 400;
  options.symmetrize = true;
  options.features = row_columns;
  options.classes = 3;
  options.labels = LabelKind::random;
  options.train = train_seeds;
  options.seed = 7;
  TROUPE_ASSIGN_OR_RETURN(const auto graph, rmat_graph(options));
  TROUPE_RETURN_IF_ERROR(generate::write_npy(graph, options, executor, dir));
  TROUPE_RETURN_IF_ERROR(write_ids(dir / "val_idx.npy", 0, 40));
  return write_ids(dir / "test_idx.npy", 40, 40);
}

Status make_heterogeneous_simulation_data(const std::filesystem::path& dir,
                                          std::uint64_t train_seeds) {
  constexpr std::uint64_t authors = 96;
  constexpr std::uint64_t papers = 150;
  InlineExecutor executor;
  TROUPE_ASSIGN_OR_RETURN(auto writer, StoreWriter::create(dir, {}, executor));
  const FeatureInfo columns{DType::f32, row_columns, 1.0F};
  const FeatureInfo narrow{DType::f32, row_columns / 4, 1.0F};
  const LabelInfo classes{LabelInfo::Kind::classes, 3};
  TROUPE_ASSIGN_OR_RETURN(const auto author,
                          writer.add_node_type({"author", authors, columns, classes}));
  TROUPE_ASSIGN_OR_RETURN(const auto paper, writer.add_node_type({"paper", papers, narrow, {}}));
  NewEdgeType writing{"writes", author, paper, {.reverse_edges = true}};
  writing.features = narrow;
  TROUPE_ASSIGN_OR_RETURN(const auto writes, writer.add_edge_type(writing));
  DrawStream draw(stream_key(7, {.domain = Domain::generators}), 0);
  std::vector<std::uint64_t> who;
  std::vector<std::uint64_t> what;
  for (std::uint64_t p = 0; p < papers; ++p) {
    for (std::uint64_t k = 0; k <= draw.below(3); ++k) {
      who.push_back(draw.below(authors));
      what.push_back(p);
    }
  }
  const auto of_writing = random_rows(draw, who.size() * narrow.cols);
  TROUPE_RETURN_IF_ERROR(writer.add_edge_features(writes, std::as_bytes(std::span(of_writing))));
  TROUPE_RETURN_IF_ERROR(writer.add_edges(writes, who, what));
  const auto of_authors = random_rows(draw, authors * columns.cols);
  const auto of_papers = random_rows(draw, papers * narrow.cols);
  TROUPE_RETURN_IF_ERROR(writer.add_features(author, std::as_bytes(std::span(of_authors))));
  TROUPE_RETURN_IF_ERROR(writer.add_features(paper, std::as_bytes(std::span(of_papers))));
  std::vector<std::int64_t> labels;
  for (std::uint64_t a = 0; a < authors; ++a) {
    labels.push_back(static_cast<std::int64_t>(draw.below(3)));
  }
  TROUPE_RETURN_IF_ERROR(writer.add_labels(author, labels));
  TROUPE_RETURN_IF_ERROR(writer.set_seeds("", "train", author, from_to(0, train_seeds)));
  TROUPE_RETURN_IF_ERROR(
      writer.set_seeds("", "val", author, from_to(train_seeds, train_seeds + 20)));
  TROUPE_RETURN_IF_ERROR(
      writer.set_seeds("", "test", author, from_to(train_seeds + 20, train_seeds + 40)));
  const auto finished = writer.finish();
  return finished ? ok_status() : Status(finished.error());
}

}  // namespace troupe
