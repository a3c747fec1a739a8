#include "runtime/data/edge_rows.hpp"
#include "runtime/data/npy_source.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>

namespace troupe::npy_source {
namespace {

using namespace graph_source;

constexpr const char* list_file = "edge_index.npy";
constexpr const char* offsets_file = "indptr.npy";
constexpr const char* source_id = "a source's node id";
constexpr const char* destination_id = "a destination's node id";

/// The largest id in an edge index + 1.
Result<std::uint64_t> implied_nodes(const Source& source) {
  TROUPE_ASSIGN_OR_RETURN(const auto array, source.read(list_file));
  const auto edges = array.shape[1];
  const auto end = store_layout::largest_count;
  TROUPE_ASSIGN_OR_RETURN(const auto sources,
                          end_of_ids(array, {list_file, source_id, 0, edges, end}));
  TROUPE_ASSIGN_OR_RETURN(const auto destinations,
                          end_of_ids(array, {list_file, destination_id, edges, edges, end}));
  const auto nodes = std::max(sources, destinations);
  if (nodes > store_layout::most_implied_nodes(edges)) {
    return bad_input(list_file, fmt::format("expected ids near the number of edges, {}, got {}\n"
                                            "try: state num_nodes in meta.json",
                                            edges, nodes - 1));
  }
  return nodes;
}

Result<FoundEdges> open_edge_index(const Source& source, std::optional<std::uint64_t> known_nodes) {
  const PairFiles files{{list_file}, PairLayout::columns};
  auto nodes = known_nodes.value_or(0);
  TROUPE_ASSIGN_OR_RETURN(auto rows, open_pairs(source, files, {nodes, nodes}));
  if (!known_nodes) {
    TROUPE_ASSIGN_OR_RETURN(nodes, implied_nodes(source));
    TROUPE_ASSIGN_OR_RETURN(rows, open_pairs(source, files, {nodes, nodes}));
  }
  return FoundEdges{std::move(rows), nodes};
}

struct Piece {
  std::string file;
  NpyArray ids;
};

Result<std::vector<Piece>> open_indices(const Source& source) {
  TROUPE_ASSIGN_OR_RETURN(const auto files, list_files(source.dir, "indices"));
  if (files.empty()) {
    return Error(
        Errc::not_found,
        fmt::format("{}: expected indices.npy beside indptr.npy, found none", source.dir.string()));
  }
  std::vector<Piece> pieces;
  for (const auto& file : files) {
    TROUPE_ASSIGN_OR_RETURN(auto array, source.read(file));
    if (array.shape.size() != 1) {
      return bad_input(file,
                       fmt::format("expected shape [edges], got {}", shape_text(array.shape)));
    }
    pieces.push_back({file, std::move(array)});
  }
  return pieces;
}

IdRange offsets_range(const NpyArray& array, std::uint64_t begin = 0) {
  return {offsets_file, "an offset", begin, array.shape[0] - begin, store_layout::largest_count,
          begin};
}

/// Checks row pointers: ascending from 0. \returns the last
Result<std::uint64_t> check_offsets(const NpyArray& array) {
  if (array.shape.size() != 1 || array.shape[0] == 0) {
    return bad_input(offsets_file,
                     fmt::format("expected shape [rows + 1], got {}", shape_text(array.shape)));
  }
  std::uint64_t before = 0;
  const auto check = [&](std::uint64_t row, std::span<const std::uint64_t> offsets) -> Status {
    if (row == 0 && offsets.front() != 0) {
      return bad_input(offsets_file, fmt::format("row 0: expected 0, got {}", offsets.front()));
    }
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      if (offsets[i] < before) {
        return bad_input(offsets_file,
                         fmt::format("row {}: expected at least {}, as the row before, got {}",
                                     row + i, before, offsets[i]));
      }
      before = offsets[i];
    }
    return ok_status();
  };
  TROUPE_RETURN_IF_ERROR(for_each_id_block(array, offsets_range(array), check));
  return before;
}

/// Says edge by edge in whose list it is.
class ListWalk {
 public:
  explicit ListWalk(const NpyArray& offsets) : offsets_(offsets) {}

  Status fill(std::span<std::uint64_t> owners) {
    for (std::size_t done = 0; done < owners.size();) {
      while (edge_ == list_end_) {
        TROUPE_RETURN_IF_ERROR(next_list());
      }
      const auto count = std::min<std::uint64_t>(list_end_ - edge_, owners.size() - done);
      std::ranges::fill(owners.subspan(done, count), list_ - 1);
      edge_ += count;
      done += count;
    }
    return ok_status();
  }

 private:
  /// \requires there is a further list: the offsets end at the number of edges
  Status next_list() {
    if (at_ == block_.size()) {
      auto range = offsets_range(offsets_, list_ + 1);
      range.count = std::min(range.count, block_elements);
      TROUPE_ASSIGN_OR_RETURN(block_, read_ids(offsets_, range));
      at_ = 0;
    }
    list_end_ = block_[at_++];
    ++list_;
    return ok_status();
  }

  const NpyArray& offsets_;
  std::vector<std::uint64_t> block_;  ///< ends of the lists from the current one on
  std::size_t at_ = 0;
  std::uint64_t list_ = 0;  ///< lists begun
  std::uint64_t list_end_ = 0;
  std::uint64_t edge_ = 0;
};

/// Lists of in-neighbours.
class Lists final : public EdgeRows {
 public:
  Lists(NpyArray offsets, std::vector<Piece> pieces)
      : offsets_(std::move(offsets)), pieces_(std::move(pieces)) {
    for (const auto& piece : pieces_) {
      count_ += piece.ids.shape[0];
    }
  }
  std::uint64_t count() const override { return count_; }
  std::uint64_t nodes() const { return offsets_.shape[0] - 1; }

  Status read(Executor&, const TakeEdges& take) const override {
    ListWalk walk(offsets_);
    std::vector<std::uint64_t> owners;
    const auto take_block = [&](std::uint64_t, std::span<const std::uint64_t> sources) -> Status {
      owners.resize(sources.size());
      TROUPE_RETURN_IF_ERROR(walk.fill(owners));
      return take({sources, owners});
    };
    for (const auto& piece : pieces_) {
      const IdRange range{piece.file, source_id, 0, piece.ids.shape[0], nodes()};
      TROUPE_RETURN_IF_ERROR(for_each_id_block(piece.ids, range, take_block));
    }
    return ok_status();
  }

 private:
  NpyArray offsets_;
  std::vector<Piece> pieces_;
  std::uint64_t count_ = 0;
};

Result<FoundEdges> open_csr(const Source& source, std::optional<std::uint64_t> known_nodes) {
  TROUPE_ASSIGN_OR_RETURN(auto offsets, source.read(offsets_file));
  TROUPE_ASSIGN_OR_RETURN(const auto last, check_offsets(offsets));
  const auto nodes = offsets.shape[0] - 1;
  if (known_nodes && *known_nodes != nodes) {
    return bad_input(offsets_file, fmt::format("expected {} rows for {} nodes, got {}",
                                               *known_nodes + 1, *known_nodes, nodes + 1));
  }
  TROUPE_ASSIGN_OR_RETURN(auto pieces, open_indices(source));
  auto lists = std::make_unique<Lists>(std::move(offsets), std::move(pieces));
  if (last != lists->count()) {
    return bad_input(offsets_file, fmt::format("row {}: expected {}, the number of indices, got {}",
                                               nodes, lists->count(), last));
  }
  return FoundEdges{std::move(lists), nodes};
}

}  // namespace

Result<FoundEdges> open_edges(const Source& source, std::optional<std::uint64_t> known_nodes) {
  const bool has_list = source.has(list_file);
  const bool has_csr = source.has(offsets_file);
  if (has_list && has_csr) {
    return bad_input(list_file, "expected edge_index.npy or indptr.npy, found both");
  }
  if (has_csr) {
    return open_csr(source, known_nodes);
  }
  if (!has_list) {
    return Error(
        Errc::not_found,
        fmt::format("{}: expected edge_index.npy, or indptr.npy and indices.npy, found neither",
                    source.dir.string()));
  }
  return open_edge_index(source, known_nodes);
}

}  // namespace troupe::npy_source
