#include "runtime/run/input_rows.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <span>
#include <vector>

namespace troupe {
namespace {

constexpr std::uint64_t not_wanted = std::numeric_limits<std::uint64_t>::max();

/// Rows of `nodes` by original id.
std::vector<std::uint64_t> places_by_original(const SeedList& nodes, std::uint64_t count) {
  std::vector<std::uint64_t> places(count, not_wanted);
  for (std::size_t i = 0; i < nodes.original.size(); ++i) {
    places[raw(nodes.original[i])] = i;
  }
  return places;
}

/// Copies the rows of one piece that are wanted.
class LearnedColumns {
 public:
  LearnedColumns(const InputRows& rows, std::vector<std::uint64_t> places, MutMatrix to)
      : rows_(rows), places_(std::move(places)), to_(to), missing_(to.rows) {}

  Status take(const CopyPiece& piece) {
    if (piece.node_type != rows_.type) {
      return ok_status();
    }
    const auto values = piece.rows.as<float>();
    if (values.size() != piece.ids.size() * rows_.learned_cols) {
      return Error(Errc::data_corruption,
                   fmt::format("learned rows: expected {} columns for each of {} nodes, found {} "
                               "numbers",
                               rows_.learned_cols, piece.ids.size(), values.size()));
    }
    for (std::size_t i = 0; i < piece.ids.size(); ++i) {
      const auto id = piece.ids[i];
      if (id >= places_.size()) {
        return Error(
            Errc::data_corruption,
            fmt::format("learned rows: expected nodes below {}, found {}", places_.size(), id));
      }
      const auto place = places_[id];
      if (place == not_wanted) {
        continue;
      }
      places_[id] = not_wanted;
      --missing_;
      std::ranges::copy(values.subspan(i * rows_.learned_cols, rows_.learned_cols),
                        to_.row(place).last(rows_.learned_cols).begin());
    }
    return ok_status();
  }
  Status whole() const {
    return missing_ == 0 ? ok_status()
                         : Status(Error(Errc::data_corruption,
                                        fmt::format("learned rows: expected those of {} nodes, "
                                                    "found none of {} of them",
                                                    to_.rows, missing_)));
  }

 private:
  const InputRows& rows_;
  std::vector<std::uint64_t> places_;
  MutMatrix to_;
  std::size_t missing_;
};

Status add_learned(const InputRows& rows, const SeedList& nodes, std::uint64_t count,
                   MutMatrix to) {
  LearnedColumns learned(rows, places_by_original(nodes, count), to);
  const BestRows best(*rows.tables);
  for (std::uint32_t part = 0; part < best.parts(); ++part) {
    TROUPE_RETURN_IF_ERROR(
        best.read(part, [&](const CopyPiece& piece) { return learned.take(piece); }));
  }
  return learned.whole();
}

Status add_features(const PartitionedStore& store, const InputRows& rows, const SeedList& nodes,
                    MutMatrix to) {
  for (std::uint32_t p = 0; p < store.partition().parts; ++p) {
    TROUPE_ASSIGN_OR_RETURN(const auto part, store.load_part(PartId{p}));
    const auto& own = part->nodes_of(rows.type);
    for (std::size_t i = 0; i < nodes.global.size(); ++i) {
      const auto local = raw(nodes.global[i]) - raw(own.first);
      if (raw(nodes.global[i]) >= raw(own.first) && local < own.count) {
        rows.features.decode(own.features->row(local), to.row(i).first(rows.features.cols()));
      }
    }
  }
  return ok_status();
}

}  // namespace

Result<Matrix> input_rows(const PartitionedStore& store, const InputRows& rows,
                          const SeedList& nodes) {
  auto all = Matrix::zeros(nodes.original.size(), rows.features.cols() + rows.learned_cols);
  if (rows.features.cols() > 0) {
    TROUPE_RETURN_IF_ERROR(add_features(store, rows, nodes, all.view()));
  }
  if (rows.learned_cols > 0) {
    const auto count = store.info().node_types[raw(rows.type)].count;
    TROUPE_RETURN_IF_ERROR(add_learned(rows, nodes, count, all.view()));
  }
  return all;
}

}  // namespace troupe
