// Tensors by name: made by all ranks together, kept by the holders of parts.
#include "launcher/session_state.hpp"
#include "runtime/base/digest.hpp"
#include "runtime/base/even_share.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/pooled_vector.hpp"
#include "runtime/graph/directory.hpp"
#include "runtime/graph/npy.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace troupe {
namespace {

std::uint64_t rows_per_piece(std::uint64_t row_bytes) {
  return std::max<std::uint64_t>(1, tensor_piece_bytes / row_bytes);
}

/// Rows of nodes lie with their nodes, others evenly.
struct TensorPlacement {
  const PartitionBook& book;
  const DistTensor::State& tensor;

  PartId owner(std::uint64_t row) const {
    if (tensor.options.of == TensorOf::nodes) {
      return book.owner(tensor.options.node_type, static_cast<NodeId>(row));
    }
    const DirectorySlices even{tensor.rows, book.parts()};
    return even.part_of(static_cast<OriginalId>(row));
  }
  Share range(PartId part) const {
    if (tensor.options.of == TensorOf::nodes) {
      const auto range = book.range(tensor.options.node_type, part);
      return {raw(range.first), range.size()};
    }
    return even_share(tensor.rows, std::size_t{book.parts()}, raw(part));
  }
};

/// The rows that one part is asked for, and where they stand in the list of them all.
struct PartRows {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  PooledVector<std::uint64_t> ids = {};  ///< Empty: the range says which
  std::vector<std::size_t> at;
};

std::map<PartId, PartRows> by_part(const TensorPlacement& placement,
                                   std::span<const std::uint64_t> rows) {
  std::map<PartId, PartRows> shares;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& share = shares[placement.owner(rows[i])];
    share.ids.push_back(rows[i]);
    share.at.push_back(i);
  }
  for (auto& [part, share] : shares) {  // a range travels as two numbers
    auto& ids = share.ids;
    bool range = true;
    for (std::size_t i = 1; i < ids.size() && range; ++i) {
      range = ids[i] == ids[i - 1] + 1;
    }
    if (range) {
      share.first = ids.front();
      share.count = ids.size();
      ids.clear();
    }
  }
  return shares;
}

/// Memory that a row of nodes takes beside its bytes until its original id is known, and another row.
constexpr std::uint64_t bytes_beside_node = 128;
constexpr std::uint64_t bytes_beside_row = 2 * sizeof(std::uint64_t);

std::string start_text(const InitialRowsOptions& init) {
  if (init.kind == "normal") {
    return fmt::format("\"normal\" with std {}", init.std);
  }
  return init.kind == "uniform" ? fmt::format("\"uniform\" with scale {}", init.scale)
                                : fmt::format("\"{}\"", init.kind);
}

/// Checkpoints have names of tensors in their manifests, which are UTF-8.
Status check_name(const std::string& name) {
  if (name.empty() || name.size() > max_tensor_name) {
    return tensor_error(name, fmt::format("expected a name of 1 to {} bytes, got {}",
                                          max_tensor_name, name.size()));
  }
  const bool controls = std::ranges::any_of(
      name, [](unsigned char letter) { return letter < 0x20 || letter == 0x7F; });
  if (controls || !strict_text_of_json(nlohmann::ordered_json(name))) {
    return Error(Errc::invalid_argument,
                 fmt::format("tensor {}: expected a name in UTF-8 without control characters",
                             text_of_json(nlohmann::ordered_json(name))));
  }
  return ok_status();
}

Status check_start(const std::string& name, const TensorOptions& options) {
  const auto& init = options.init;
  if ((init.kind != "zeros" && init.kind != "uniform" && init.kind != "normal") ||
      (init.kind != "zeros" && !is_float_dtype(options.dtype))) {
    return tensor_error(name, fmt::format("expected a start of \"zeros\", or of float numbers "
                                          "\"uniform\" or \"normal\", got \"{}\" of {}",
                                          init.kind, to_string(options.dtype)));
  }
  const double number = init.kind == "normal" ? init.std : init.scale;
  if (init.kind != "zeros" && !(number > 0 && std::isfinite(number))) {
    return tensor_error(name, fmt::format("expected a finite {} above 0, got {}",
                                          init.kind == "normal" ? "std" : "scale", number));
  }
  return ok_status();
}

Error of_tensor(const DistTensor::State& tensor, Error why) {
  return std::move(why).with(fmt::format("tensor \"{}\"", tensor.info.name));
}

Result<std::shared_ptr<DistTensor::State>> find_tensor(const Session::State& state,
                                                       const std::string& name) {
  const auto found = state.tensors.find(name);
  if (found != state.tensors.end()) {
    return found->second;
  }
  std::vector<std::string> names;
  for (const auto& [made, tensor] : state.tensors) {
    names.push_back(fmt::format("\"{}\"", made));
  }
  return Error(
      Errc::not_found,
      fmt::format("tensor \"{}\": expected one of the tensors made ({})", name,
                  names.empty() ? "none was made" : fmt::format("{}", fmt::join(names, ", "))));
}

}  // namespace

Error tensor_error(const std::string& name, const std::string& what) {
  return {Errc::invalid_argument, fmt::format("tensor \"{}\": {}", name, what)};
}

// ---- what a tensor is ----

std::string Session::State::describe(const DistTensor::State& tensor) const {
  const auto& graph = *place.host->graph;
  const auto& options = tensor.options;
  const auto of =
      options.of == TensorOf::nodes
          ? fmt::format("nodes of {}", graph.node_types[raw(options.node_type)].name)
          : (options.of == TensorOf::edges
                 ? fmt::format("edges of {}", graph.edge_types[raw(options.edge_type)].name)
                 : fmt::format("{} rows", tensor.rows));
  return fmt::format("\"{}\" of {} {}, {}", tensor.info.name, to_string(tensor.info.dtype),
                     shape_text(tensor.info.shape), of);
}

Result<std::uint64_t> Session::State::tensor_rows(const std::string& name,
                                                  const TensorOptions& options) const {
  const auto& graph = *place.host->graph;
  switch (options.of) {
    case TensorOf::nodes:
      TROUPE_RETURN_IF_ERROR(check_nodes({}, options.node_type));
      return place.host->book->count(options.node_type);
    case TensorOf::edges:
      if (raw(options.edge_type) >= graph.edge_types.size()) {
        return tensor_error(name, fmt::format("expected an edge type < {}, got {}",
                                              graph.edge_types.size(), raw(options.edge_type)));
      }
      return graph.edge_types[raw(options.edge_type)].end_of_edge_ids();
    case TensorOf::rows:
      return options.rows;
  }
  return tensor_error(name,
                      fmt::format("expected rows of nodes, edges or rows of their own, got {}",
                                  static_cast<int>(options.of)));
}

Result<std::shared_ptr<DistTensor::State>> Session::State::new_tensor(
    const std::string& name, const TensorOptions& options) {
  TROUPE_RETURN_IF_ERROR(check_name(name));
  auto tensor = std::make_shared<DistTensor::State>();
  tensor->session = this;
  tensor->options = options;
  tensor->info = {name, options.dtype, options.shape};
  TROUPE_ASSIGN_OR_RETURN(tensor->rows, tensor_rows(name, options));
  const bool known = is_tensor_dtype(options.dtype);
  std::uint64_t bytes = known ? size_bytes(options.dtype) : 0;
  for (const auto extent : options.shape) {
    bytes = extent > max_tensor_row_bytes ? max_tensor_row_bytes + 1 : bytes * extent;
    bytes = std::min(bytes, max_tensor_row_bytes + 1);
  }
  if (bytes == 0 || bytes > max_tensor_row_bytes || options.shape.size() > 3) {
    const bool named = options.dtype <= DType::boolean;
    return tensor_error(
        name, fmt::format("expected rows of f32, f64, f16, bf16, i32, i64 or u8 in up to three "
                          "extents of 1 to {} bytes together, got {} {}",
                          max_tensor_row_bytes, named ? to_string(options.dtype) : "another dtype",
                          shape_text(options.shape)));
  }
  TROUPE_RETURN_IF_ERROR(check_start(name, options));
  return tensor;
}

// ---- making, deleting and copying: by rank 0, while all wait ----

template <class Message>
Status Session::State::tell_parts(const std::function<Message(PartId)>& what) {
  TellHolders<Message> request;
  for (std::uint32_t p = 0; p < place.host->book->parts(); ++p) {
    auto message = what(static_cast<PartId>(p));
    message.writer = place.options.rank;
    message.operation = ++writes[p];
    request.shares.emplace(static_cast<PartId>(p), Ref<Message>(std::move(message)));
  }
  const auto done = ask<net::Done>(std::move(request));
  return done ? ok_status() : Status(done.error());
}

Result<std::shared_ptr<const HolderTensors>> Session::State::keep_tensors() {
  if (tensors.empty()) {
    return std::shared_ptr<const HolderTensors>();
  }
  const auto step = position.global_step;
  const auto kept = tell_parts<KeepTensors>([&](PartId) { return KeepTensors{.step = step}; });
  if (!kept) {
    return lost_or(kept.error()).with("keeping tensors");
  }
  return std::make_shared<const HolderTensors>(*place.system, place.host->holders, step);
}

/// All ranks are to mean the same.
Status Session::State::agree(const std::string& what) {
  constexpr std::uint64_t exact = 0xFFFFFFFF;  // their sum is exact in a double
  const auto mine =
      static_cast<double>(digest_of(std::as_bytes(std::span<const char>(what))).low & exact);
  Contribute request;
  request.what = Collective::tensors;
  request.number = mine;
  const auto all = together(std::move(request), deadline());
  if (!all) {
    return keep(all.error());
  }
  if ((*all)->number != mine * place.options.world) {
    return keep(Error(Errc::invalid_argument,
                      fmt::format("rank {}: {}: expected all ranks to make the same tensors in the "
                                  "same order",
                                  rank(), what)));
  }
  return ok_status();
}

Result<DistTensor> Session::make_tensor(const std::string& name, const TensorOptions& options) {
  auto& s = *state_;
  TROUPE_RETURN_IF_ERROR(s.status);
  TROUPE_ASSIGN_OR_RETURN(auto tensor, s.new_tensor(name, options));
  if (const auto before = s.tensors.find(name); before != s.tensors.end()) {
    if (before->second->options == options) {
      return DistTensor(before->second);
    }
    auto was = s.describe(*before->second);
    auto is = s.describe(*tensor);
    if (was == is) {
      was += ", started with " + start_text(before->second->options.init);
      is += ", started with " + start_text(options.init);
    }
    return tensor_error(name, fmt::format("expected what was made before, {}, got {}", was, is));
  }
  tensor->number = s.next_tensor++;
  TROUPE_RETURN_IF_ERROR(s.agree(fmt::format("making tensor {} {} started with {}", tensor->number,
                                             s.describe(*tensor), start_text(options.init))));
  if (s.rank() == 0) {
    const auto made = s.tell_parts<MakeTensor>([&](PartId part) {
      const auto range = TensorPlacement{*s.place.host->book, *tensor}.range(part);
      const bool normal = options.init.kind == "normal";
      const auto start =
          normal ? TensorStart::normal
                 : (options.init.kind == "uniform" ? TensorStart::uniform : TensorStart::zeros);
      return MakeTensor{
          .tensor = tensor->number,
          .name = name,
          .of = static_cast<std::uint8_t>(options.of),
          .type = options.of == TensorOf::edges ? raw(options.edge_type) : raw(options.node_type),
          .first = range.first,
          .count = range.size,
          .dtype = static_cast<std::uint8_t>(options.dtype),
          .cols = static_cast<std::uint32_t>(tensor->info.row_values()),
          .start = static_cast<std::uint8_t>(start),
          .size = normal ? options.init.std : options.init.scale,
          .seed = s.run->job.seed};
    });
    if (!made) {
      return s.keep(of_tensor(*tensor, made.error())).error();
    }
  }
  TROUPE_RETURN_IF_ERROR(s.agree("making a tensor"));
  s.tensors.emplace(name, tensor);
  return DistTensor(std::move(tensor));
}

Status Session::delete_tensor(const std::string& name) {
  auto& s = *state_;
  TROUPE_RETURN_IF_ERROR(s.status);
  TROUPE_ASSIGN_OR_RETURN(const auto tensor, find_tensor(s, name));
  TROUPE_RETURN_IF_ERROR(s.agree(fmt::format("deleting tensor \"{}\"", name)));
  if (s.rank() == 0) {
    const auto gone = s.tell_parts<MakeTensor>(
        [&](PartId) { return MakeTensor{.tensor = tensor->number, .gone = true, .name = {}}; });
    if (!gone) {
      return s.keep(of_tensor(*tensor, gone.error()));
    }
  }
  TROUPE_RETURN_IF_ERROR(s.agree("deleting a tensor"));
  tensor->gone = true;
  s.tensors.erase(name);
  return ok_status();
}

Result<DistTensor> Session::tensor(const std::string& name) {
  TROUPE_ASSIGN_OR_RETURN(auto found, find_tensor(*state_, name));
  return DistTensor(std::move(found));
}

Result<DistTensor> Session::column(const std::string& name, NodeTypeId node_type) {
  auto& s = *state_;
  TROUPE_RETURN_IF_ERROR(s.check_nodes({}, node_type));
  const auto& type = s.place.host->graph->node_types[raw(node_type)];
  const auto found = std::ranges::find(type.columns, name, &ColumnInfo::name);
  if (found == type.columns.end()) {
    return Error(Errc::not_found,
                 fmt::format("column \"{}\" of node type {}: the graph has none", name, type.name));
  }
  auto tensor = std::make_shared<DistTensor::State>();
  tensor->session = &s;
  tensor->options = {.node_type = node_type, .dtype = found->dtype, .shape = found->shape};
  tensor->info = *found;
  tensor->rows = type.count;
  tensor->column = true;
  return DistTensor(std::move(tensor));
}

// ---- rows ----

Result<Segment> Session::State::read_tensor(const DistTensor::State& tensor,
                                            std::span<const std::uint64_t> rows) {
  const auto row_bytes = tensor.info.row_bytes();
  Buffer values(rows.size() * row_bytes);
  const auto piece = rows_per_piece(row_bytes);
  for (std::size_t first = 0; first < rows.size(); first += piece) {
    const auto some = rows.subspan(first, std::min<std::size_t>(piece, rows.size() - first));
    AskHolders<ReadTensor> asked;
    std::vector<std::vector<std::size_t>> places;
    for (auto& [part, of_part] : by_part({*place.host->book, tensor}, some)) {
      asked.questions.emplace_back(part,
                                   Ref<ReadTensor>(ReadTensor{.tensor = tensor.number,
                                                              .row_bytes = row_bytes,
                                                              .first = of_part.first,
                                                              .count = of_part.count,
                                                              .ids = std::move(of_part.ids)}));
      places.push_back(std::move(of_part.at));
    }
    const auto got = ask<HolderReplies<TensorRows>>(std::move(asked));
    if (!got) {
      return got.error();
    }
    for (std::size_t q = 0; q < places.size(); ++q) {
      const auto bytes = (*got)->replies[q]->values.bytes;
      if (bytes.size() != places[q].size() * row_bytes) {
        return Error(Errc::data_corruption,
                     fmt::format("expected {} rows of {} bytes, found {} bytes", places[q].size(),
                                 row_bytes, bytes.size()));
      }
      for (std::size_t i = 0; i < places[q].size(); ++i) {
        std::memcpy(values.data() + (first + places[q][i]) * row_bytes,
                    bytes.data() + i * row_bytes, row_bytes);
      }
    }
  }
  return std::move(values).freeze();
}

Status Session::State::write_tensor(const DistTensor::State& tensor,
                                    std::span<const std::uint64_t> rows,
                                    std::span<const std::byte> values, bool add) {
  const auto row_bytes = tensor.info.row_bytes();
  const auto piece = rows_per_piece(row_bytes);
  for (std::size_t first = 0; first < rows.size(); first += piece) {
    const auto some = rows.subspan(first, std::min<std::size_t>(piece, rows.size() - first));
    TellHolders<WriteTensor> request;
    for (auto& [part, of_part] : by_part({*place.host->book, tensor}, some)) {
      Buffer mine(of_part.at.size() * row_bytes);
      for (std::size_t i = 0; i < of_part.at.size(); ++i) {
        std::memcpy(mine.data() + i * row_bytes,
                    values.data() + (first + of_part.at[i]) * row_bytes, row_bytes);
      }
      request.shares.emplace(part,
                             Ref<WriteTensor>(WriteTensor{.writer = place.options.rank,
                                                          .operation = ++writes[raw(part)],
                                                          .tensor = tensor.number,
                                                          .add = add,
                                                          .row_bytes = row_bytes,
                                                          .first = of_part.first,
                                                          .count = of_part.count,
                                                          .ids = std::move(of_part.ids),
                                                          .values = std::move(mine).freeze()}));
    }
    const auto done = ask<net::Done>(std::move(request));
    if (!done) {
      return done.error();
    }
  }
  return ok_status();
}

Error Session::State::lost_or(const Error& why) {
  // A holder that was started again has lost what was made and written.
  const bool lost = why.code() == Errc::not_found || why.code() == Errc::failed_precondition;
  return lost ? Error(Errc::peer_lost, why.what()) : why;
}

Error Session::State::lost_or(const DistTensor::State& tensor, const Error& why) {
  return of_tensor(tensor, lost_or(why));
}

Status Session::State::each_rows(const DistTensor::State& tensor, const EachRows& each) {
  const bool of_nodes = tensor.options.of == TensorOf::nodes;
  const auto piece =
      rows_per_piece(tensor.info.row_bytes() + (of_nodes ? bytes_beside_node : bytes_beside_row));
  for (std::uint64_t first = 0; first < tensor.rows; first += piece) {
    std::vector<std::uint64_t> rows(std::min(piece, tensor.rows - first));
    std::iota(rows.begin(), rows.end(), first);
    if (!of_nodes) {
      TROUPE_RETURN_IF_ERROR(each(rows, rows));
      continue;
    }
    TROUPE_ASSIGN_OR_RETURN(const auto places, original_ids(rows, tensor.options.node_type));
    TROUPE_RETURN_IF_ERROR(each(rows, places));
  }
  return ok_status();
}

}  // namespace troupe
