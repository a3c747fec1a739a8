// Copies of learned rows, read and loaded in pieces.
#include "runtime/feature/embedding/embedding_part.hpp"
#include "runtime/feature/embedding/sparse_optimizer.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <new>

namespace troupe {
namespace {

Segment cut_rows_of(const Matrix& from, std::uint64_t first, std::uint64_t count) {
  const auto rows = from.view().slice(first, count).flat();
  return Segment::of(std::vector<float>(rows.begin(), rows.end()));
}

/// Puts row `row` of an array into row `local` of a matrix.
void put_row(const Segment& from, std::size_t row, Matrix& to, std::uint64_t local) {
  std::ranges::copy(from.as<float>().subspan(row * to.cols(), to.cols()),
                    to.view().row(local).begin());
}

}  // namespace

EmbeddingPart::Actions EmbeddingPart::read_copy(const ReadCopy& request, Ticket ticket) {
  const auto found = find_copy(request);
  if (found == nullptr) {
    return answer(ticket, refused(Errc::not_found,
                                  fmt::format("those of step {} are not kept here", request.step)));
  }
  if (plan_->find(request.node_type) == nullptr) {
    return answer(ticket, refused(Errc::invalid_argument,
                                  fmt::format("no table of node type {}", raw(request.node_type))));
  }
  Actions actions;
  const auto id = next_task_++;
  apart_.emplace(id, ticket);
  actions.tasks.push_back(
      {id, "read a copy of learned rows",
       within_memory("read a copy of learned rows",
                     [tables = tables_, copy = found, request](Executor&) -> Result<Reply> {
                       const auto place = tables->place_of(request.node_type);
                       const auto& nodes = tables->tables[place].nodes();
                       const auto first = std::min(request.first, nodes.count);
                       const auto count = std::min(request.count, nodes.count - first);
                       const auto ids = nodes.original_ids.subspan(first, count);
                       return Reply(CopyPiece{
                           .step = request.step,
                           .node_type = request.node_type,
                           .steps = copy->steps,
                           .last = first + count == nodes.count,
                           .ids = {ids.begin(), ids.end()},
                           .rows = cut_rows_of(copy->rows[place].rows, first, count),
                           .state = cut_rows_of(copy->rows[place].state, first, count),
                           .best = copy->best ? cut_rows_of((*copy->best)[place], first, count)
                                              : Segment{}});
                     })});
  return actions;
}

EmbeddingPart::Loading& EmbeddingPart::loading(std::uint64_t step) {
  if (!loading_ || loading_->first != step) {
    Loading fresh;
    fresh.copy = std::make_shared<Copy>();
    for (const auto& table : tables_->tables) {
      const auto& nodes = table.nodes();
      fresh.copy->rows.push_back({Matrix(nodes.count, table.options().dim),
                                  Matrix(nodes.count, sparse_state_cols(table.options()))});
      auto& places = fresh.places.emplace_back();
      for (std::uint64_t i = 0; i < nodes.count; ++i) {
        places.emplace_back(nodes.original_ids[i], i);
      }
      std::ranges::sort(places);
      fresh.filled.emplace_back(nodes.count);
    }
    loading_.emplace(step, std::move(fresh));
  }
  return loading_->second;
}

Status EmbeddingPart::check_piece(const CopyPiece& piece) const {
  const auto* table = plan_->find(piece.node_type);
  const auto dim = table == nullptr ? 0 : table->dim;
  const auto state_cols = table == nullptr ? 0 : sparse_state_cols(*table);
  const auto bytes = piece.ids.size() * dim * sizeof(float);
  if (table == nullptr || piece.rows.bytes.size() != bytes ||
      (!piece.state.empty() &&
       piece.state.bytes.size() != piece.ids.size() * state_cols * sizeof(float)) ||
      (!piece.best.empty() && piece.best.bytes.size() != bytes)) {
    return refused(
        Errc::data_corruption,
        fmt::format("a copy: expected rows of {} nodes of type {} in {} columns with {} "
                    "numbers of state, found {}, {} and {} bytes",
                    piece.ids.size(), raw(piece.node_type), dim, state_cols,
                    piece.rows.bytes.size(), piece.state.bytes.size(), piece.best.bytes.size()));
  }
  return ok_status();
}

Status EmbeddingPart::take_piece(const CopyPiece& piece) {
  TROUPE_RETURN_IF_ERROR(check_piece(piece));
  auto& into = loading(piece.step);
  into.copy->steps = piece.steps;
  const auto place = tables_->place_of(piece.node_type);
  if (!piece.best.empty() && into.best == nullptr) {
    into.best = std::make_shared<std::vector<Matrix>>();
    for (const auto& rows : into.copy->rows) {
      into.best->emplace_back(rows.rows.rows(), rows.rows.cols());
    }
  }
  const auto& places = into.places[place];
  const auto start_of_state = initial_sparse_state(tables_->tables[place].options().optimizer);
  for (std::size_t i = 0; i < piece.ids.size(); ++i) {
    const auto found = std::ranges::lower_bound(places, std::pair(piece.ids[i], std::uint64_t{0}));
    if (found == places.end() || found->first != piece.ids[i]) {
      continue;  // of another part
    }
    put_row(piece.rows, i, into.copy->rows[place].rows, found->second);
    if (piece.state.empty()) {  // as before the first step
      std::ranges::fill(into.copy->rows[place].state.view().row(found->second), start_of_state);
    } else {
      put_row(piece.state, i, into.copy->rows[place].state, found->second);
    }
    if (!piece.best.empty()) {
      put_row(piece.best, i, (*into.best)[place], found->second);
    }
    into.filled[place][found->second] = true;
  }
  return ok_status();
}

EmbeddingPart::Actions EmbeddingPart::load(const CopyPiece& piece, Ticket ticket) {
  if (no_room_) {
    return answer(ticket, *no_room_);
  }
  try {
    return load_piece(piece, ticket);
  } catch (const std::bad_alloc&) {
    loading_.reset();
    return answer(ticket, refused(Errc::out_of_memory,
                                  fmt::format("expected room for a copy of step {} beside them, "
                                              "found less; try: more hosts and parts",
                                              piece.step)));
  }
}

EmbeddingPart::Actions EmbeddingPart::load_piece(const CopyPiece& piece, Ticket ticket) {
  if (!running_.empty()) {
    return answer(ticket, refused(Errc::overloaded, "tasks run; a copy is loaded after them"));
  }
  if (!piece.ids.empty()) {
    if (const auto taken = take_piece(piece); !taken) {
      return answer(ticket, taken.error());
    }
  }
  if (!piece.last) {
    return answer(ticket, Reply(Done{}));
  }
  auto whole = std::move(loading(piece.step));
  loading_.reset();
  for (std::size_t place = 0; place < whole.filled.size(); ++place) {
    const auto& filled = whole.filled[place];
    const auto missing = std::ranges::count(filled, false);
    if (missing > 0) {
      return answer(ticket, refused(Errc::data_corruption,
                                    fmt::format("a copy of step {} lacks {} of {} rows of \"{}\"",
                                                piece.step, missing, filled.size(),
                                                tables_->tables[place].options().name)));
    }
  }
  whole.copy->best = std::move(whole.best);
  kept_[piece.step] = std::move(whole.copy);
  return answer(ticket, Reply(Done{}));
}

}  // namespace troupe
