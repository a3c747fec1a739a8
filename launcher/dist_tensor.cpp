// The handle of a tensor, or of a column of the store.
#include "launcher/session_state.hpp"
#include "runtime/base/files.hpp"
#include "runtime/base/open_file.hpp"
#include "runtime/graph/npy.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <fstream>
#include <numeric>
#include <sys/file.h>

namespace troupe {
namespace {

template <class Id>
std::vector<Id> as_ids(std::span<const std::uint64_t> numbers) {
  std::vector<Id> ids(numbers.size());
  std::ranges::transform(numbers, ids.begin(),
                         [](std::uint64_t number) { return static_cast<Id>(number); });
  return ids;
}

Status check_rows(const DistTensor::State& tensor, std::span<const std::uint64_t> rows) {
  if (tensor.gone) {
    return Error(Errc::not_found, fmt::format("tensor \"{}\": was deleted", tensor.info.name));
  }
  const auto stranger =
      std::ranges::find_if(rows, [&](std::uint64_t row) { return row >= tensor.rows; });
  if (stranger != rows.end()) {
    return tensor_error(tensor.info.name,
                        fmt::format("expected rows below {}, got {}", tensor.rows, *stranger));
  }
  return ok_status();
}

Status check_new(const std::filesystem::path& file) {
  std::error_code hidden;
  const bool there = std::filesystem::exists(file, hidden);
  if (hidden) {
    return file_error(file, "cannot look for it", hidden.value());
  }
  return there ? Status(Error(Errc::failed_precondition,
                              fmt::format("{}: expected a new file, found that it exists; try: "
                                          "another name",
                                          file.string())))
               : ok_status();
}

/// Takes the file that rows are written to until they are all there, for this call alone.
Result<OpenFile> take_unfinished(const std::filesystem::path& unfinished,
                                 const std::filesystem::path& file) {
  OpenFile taken(unfinished, O_WRONLY | O_CREAT, 0666);
  if (taken.fd() < 0) {
    return file_error(file, "cannot write", errno);
  }
  if (::flock(taken.fd(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return Error(Errc::failed_precondition,
                 fmt::format("{}: expected one export to it, found that another one writes it; "
                             "try: the call on one rank, or a name for each",
                             file.string()));
  }
  if (auto fresh = check_new(file); !fresh) {  // another export has ended meanwhile
    std::error_code ignored;
    std::filesystem::remove(unfinished, ignored);
    return std::move(fresh).error();
  }
  return taken;
}

}  // namespace

const std::string& DistTensor::name() const {
  return state_->info.name;
}
DType DistTensor::dtype() const {
  return state_->info.dtype;
}
const std::vector<std::uint64_t>& DistTensor::shape() const {
  return state_->info.shape;
}
std::uint64_t DistTensor::rows() const {
  return state_->rows;
}
std::uint64_t DistTensor::row_bytes() const {
  return state_->info.row_bytes();
}
bool DistTensor::read_only() const {
  return state_->column;
}

Result<BatchColumn> DistTensor::read(std::span<const std::uint64_t> ids) const {
  auto& s = *state_->session;
  TROUPE_RETURN_IF_ERROR(s.status);
  TROUPE_RETURN_IF_ERROR(check_rows(*state_, ids));
  if (state_->column && state_->options.of == TensorOf::edges) {
    return s.read_edge_column(state_->info.name, as_ids<EdgeId>(ids), state_->options.edge_type);
  }
  if (state_->column) {
    return s.read_column(state_->info.name, as_ids<NodeId>(ids), state_->options.node_type);
  }
  auto values = s.read_tensor(*state_, ids);
  if (!values) {
    return s.keep(s.lost_or(*state_, values.error())).error();
  }
  return BatchColumn{.of_edges = state_->options.of == TensorOf::edges,
                     .type = state_->options.of == TensorOf::edges ? raw(state_->options.edge_type)
                                                                   : raw(state_->options.node_type),
                     .info = state_->info,
                     .rows = ids.size(),
                     .values = *std::move(values)};
}

Result<BatchColumn> DistTensor::read(std::span<const NodeId> nodes) const {
  return read(as_rows(nodes));
}

Result<BatchColumn> DistTensor::read_range(std::uint64_t first, std::uint64_t count) const {
  if (first > state_->rows || count > state_->rows - first) {
    return tensor_error(name(), fmt::format("expected rows below {}, got {} from {} on",
                                            state_->rows, count, first));
  }
  std::vector<std::uint64_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return read(ids);
}

Status DistTensor::put(std::span<const std::uint64_t> ids, DType dtype,
                       std::span<const std::byte> values, bool add) {
  auto& s = *state_->session;
  TROUPE_RETURN_IF_ERROR(s.status);
  if (state_->column) {
    return Error(Errc::failed_precondition,
                 fmt::format("tensor \"{}\": a column of the store, which is read only", name()));
  }
  TROUPE_RETURN_IF_ERROR(check_rows(*state_, ids));
  if (dtype != state_->info.dtype || values.size() != ids.size() * row_bytes()) {
    return tensor_error(name(), fmt::format("expected {} rows of {} {}, got {} bytes of {}",
                                            ids.size(), to_string(state_->info.dtype),
                                            shape_text(shape()), values.size(), to_string(dtype)));
  }
  const auto written = s.write_tensor(*state_, ids, values, add);
  return written ? ok_status() : s.keep(s.lost_or(*state_, written.error()));
}

Status DistTensor::export_npy(const std::filesystem::path& file) const {
  auto& s = *state_->session;
  TROUPE_RETURN_IF_ERROR(s.status);
  TROUPE_RETURN_IF_ERROR(check_rows(*state_, {}));
  TROUPE_RETURN_IF_ERROR(check_new(file));
  std::vector<std::uint64_t> shape{rows()};
  shape.insert(shape.end(), state_->info.shape.begin(), state_->info.shape.end());
  const auto head = npy_header(npy_type(dtype()), shape);
  auto unfinished = file;
  unfinished += ".unfinished";
  TROUPE_ASSIGN_OR_RETURN(const auto taken, take_unfinished(unfinished, file));
  errno = 0;  // a stream keeps no reason
  std::ofstream out(unfinished, std::ios::binary | std::ios::trunc);
  out.write(head.data(), static_cast<std::streamsize>(head.size()));
  out.flush();
  const auto on_disk = [&] {
    return out ? ok_status() : Status(file_error(file, "cannot write", errno));
  };
  const auto bytes = row_bytes();
  const auto write_piece = [&](const auto& ids, const auto& places) -> Status {
    TROUPE_ASSIGN_OR_RETURN(const auto column, read(ids));
    errno = 0;
    std::uint64_t next = ~std::uint64_t{0};  // place after the row before
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (places[i] != next) {
        out.seekp(static_cast<std::streamoff>(head.size() + places[i] * bytes));
      }
      next = places[i] + 1;
      out.write(reinterpret_cast<const char*>(column.values.bytes.data() + i * bytes),
                static_cast<std::streamsize>(bytes));
    }
    out.flush();
    return on_disk();
  };
  auto written = on_disk();
  if (written) {
    written = s.each_rows(*state_, write_piece);
  }
  out.close();
  if (written) {
    written = on_disk();
  }
  std::error_code failed;
  if (written) {
    std::filesystem::rename(unfinished, file, failed);
  }
  if (!written || failed) {
    std::error_code ignored;
    std::filesystem::remove(unfinished, ignored);
    return written ? Status(file_error(file, "cannot write", failed.value())) : written;
  }
  return ok_status();
}

}  // namespace troupe
