#include "runtime/data/edge_rows.hpp"

#include "runtime/data/npy_values.hpp"
#include "runtime/data/table.hpp"

#include <algorithm>
#include <array>
#include <fmt/format.h>

namespace troupe {
namespace {

using namespace graph_source;
using npy_source::bad_input;
using npy_source::block_elements;
using npy_source::IdRange;

struct PairArray {
  std::string file;
  NpyArray ids;
  bool by_row = false;  ///< [edges, 2]
  std::uint64_t count() const { return ids.shape[by_row ? 0 : 1]; }
};

/// Values that lie on edges.
struct ValueArray {
  std::string file;
  NpyArray values;
};

class NpyPairs final : public EdgeRows {
 public:
  NpyPairs(std::vector<PairArray> pairs, const EdgeEnds& ends)
      : pairs_(std::move(pairs)), ends_(ends) {}
  void set_weights(ValueArray weights) { weights_ = std::move(weights); }
  void set_times(ValueArray times) { times_ = std::move(times); }

  std::uint64_t count() const override {
    std::uint64_t count = 0;
    for (const auto& pairs : pairs_) {
      count += pairs.count();
    }
    return count;
  }
  bool weights() const override { return weights_.has_value(); }
  bool times() const override { return times_.has_value(); }

  Status read(Executor& executor, const TakeEdges& take) const override {
    std::uint64_t edge = 0;  // of all files
    for (const auto& pairs : pairs_) {
      for (std::uint64_t first = 0; first < pairs.count(); first += block_elements) {
        const auto count = std::min(block_elements, pairs.count() - first);
        TROUPE_RETURN_IF_ERROR(read_block(pairs, {first, count, edge}, executor, take));
        edge += count;
      }
    }
    return ok_status();
  }

 private:
  struct Block {
    std::uint64_t first;
    std::uint64_t count;
    std::uint64_t edge;  ///< number of `first` among the edges of all files
  };

  IdRange side_of(const PairArray& pairs, const Block& block, std::size_t side) const {
    IdRange range;
    range.file = pairs.file;
    range.what = side == 0 ? "a source's node id" : "a destination's node id";
    range.begin = pairs.by_row ? 2 * block.first + side : side * pairs.count() + block.first;
    range.stride = pairs.by_row ? 2 : 1;
    range.count = block.count;
    range.end = side == 0 ? ends_.source : ends_.destination;
    range.row = block.first;
    return range;
  }

  Status read_block(const PairArray& pairs, const Block& block, Executor& executor,
                    const TakeEdges& take) const {
    std::array<Result<std::vector<std::uint64_t>>, 2> ids{std::vector<std::uint64_t>(),
                                                          std::vector<std::uint64_t>()};
    executor.parallel_for(
        2, [&](std::size_t side) { ids[side] = read_ids(pairs.ids, side_of(pairs, block, side)); });
    for (auto& side : ids) {
      if (!side) {
        return std::move(side).error();
      }
    }
    std::vector<float> weights(weights_ ? block.count : 0);
    std::vector<std::int64_t> times(times_ ? block.count : 0);
    if (weights_) {
      TROUPE_RETURN_IF_ERROR(npy_values::read_floats(weights_->values,
                                                     {weights_->file, 1, block.edge},
                                                     number_text::Missing::refused, weights));
    }
    if (times_) {
      TROUPE_RETURN_IF_ERROR(
          npy_values::read_integers(times_->values, {times_->file, 1, block.edge}, times));
    }
    return take({*ids[0], *ids[1], weights, times});
  }

  std::vector<PairArray> pairs_;
  EdgeEnds ends_;
  std::optional<ValueArray> weights_;
  std::optional<ValueArray> times_;
};

class TextPairs final : public EdgeRows {
 public:
  TextPairs(Table table, const EdgeEnds& ends) : table_(std::move(table)), ends_(ends) {}
  std::uint64_t count() const override { return 0; }
  Status read(Executor& executor, const TakeEdges& take) const override {
    std::vector<std::uint64_t> sources;
    std::vector<std::uint64_t> destinations;
    return table_.read_integers(executor, {ends_.source, ends_.destination},
                                [&](std::span<const std::int64_t> ids) {
                                  sources.clear();
                                  destinations.clear();
                                  for (std::size_t i = 0; i < ids.size(); i += 2) {
                                    sources.push_back(static_cast<std::uint64_t>(ids[i]));
                                    destinations.push_back(static_cast<std::uint64_t>(ids[i + 1]));
                                  }
                                  return take({sources, destinations});
                                });
  }

 private:
  Table table_;
  EdgeEnds ends_;
};

Result<PairArray> open_pair_array(const npy_source::Source& source, const std::string& file,
                                  PairLayout layout) {
  TROUPE_ASSIGN_OR_RETURN(auto array, source.read(file));
  const auto& shape = array.shape;
  const bool pairs = shape.size() == 2;
  const bool fits_columns = pairs && shape[0] == 2 && layout != PairLayout::rows;
  const bool fits_rows = pairs && shape[1] == 2 && layout != PairLayout::columns;
  if (!fits_columns && !fits_rows) {
    const auto* expected = layout == PairLayout::columns             ? "[2, edges]"
                           : layout == PairLayout::rows              ? "[edges, 2]"
                           : layout == PairLayout::either_rows_first ? "[links, 2] or [2, links]"
                                                                     : "[2, edges] or [edges, 2]";
    const bool turned = pairs && (shape[0] == 2 || shape[1] == 2);
    return bad_input(file, fmt::format("expected shape {}, got {}{}", expected, shape_text(shape),
                                       turned ? "\ntry: numpy.ascontiguousarray(array.T)" : ""));
  }
  const bool by_row = fits_rows && (!fits_columns || layout == PairLayout::either_rows_first);
  return PairArray{file, std::move(array), by_row};
}

Result<ValueArray> open_values(const npy_source::Source& source, const std::string& file,
                               std::uint64_t edges, std::string_view each) {
  TROUPE_ASSIGN_OR_RETURN(auto array, source.read(file));
  const auto& shape = array.shape;
  const bool list = shape.size() == 1 || (shape.size() == 2 && shape[1] == 1);
  if (!list || shape[0] != edges) {
    return bad_input(file, fmt::format("expected shape [{}], one value per {}, got {}", edges, each,
                                       shape_text(shape)));
  }
  return ValueArray{file, std::move(array)};
}

}  // namespace

Result<std::unique_ptr<EdgeRows>> open_pairs(const npy_source::Source& source,
                                             const PairFiles& files, const EdgeEnds& ends) {
  std::vector<PairArray> arrays;
  for (const auto& file : files.pairs) {
    TROUPE_ASSIGN_OR_RETURN(auto array, open_pair_array(source, file, files.layout));
    arrays.push_back(std::move(array));
  }
  auto rows = std::make_unique<NpyPairs>(std::move(arrays), ends);
  if (!files.weights.empty()) {
    TROUPE_ASSIGN_OR_RETURN(auto weights,
                            open_values(source, files.weights, rows->count(), files.each));
    rows->set_weights(std::move(weights));
  }
  if (!files.times.empty()) {
    TROUPE_ASSIGN_OR_RETURN(auto times,
                            open_values(source, files.times, rows->count(), files.each));
    rows->set_times(std::move(times));
  }
  return std::unique_ptr<EdgeRows>(std::move(rows));
}

Result<std::unique_ptr<EdgeRows>> open_text_pairs(const npy_source::Source& source,
                                                  const std::vector<std::string>& files,
                                                  const EdgeEnds& ends) {
  TROUPE_ASSIGN_OR_RETURN(auto table, Table::open(source, files, TableFormat::text));
  if (table.cols() != 2 && table.cols() != 0) {
    return bad_input(table.file(),
                     fmt::format("expected two ids per line, got {} columns", table.cols()));
  }
  return std::unique_ptr<EdgeRows>(std::make_unique<TextPairs>(std::move(table), ends));
}

}  // namespace troupe
