#include "python/session.hpp"

#include "python/array.hpp"
#include "python/batch.hpp"
#include "python/errors.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <pybind11/stl.h>

namespace troupe::python {
namespace {

using namespace py::literals;
using Handle = SessionHandle;

NodeTypeId node_type(std::size_t type) {
  if (type >= most_types) {
    throw py::index_error("no such node type");
  }
  return static_cast<NodeTypeId>(type);
}

EdgeTypeId edge_type(std::size_t type) {
  if (type >= most_types) {
    throw py::index_error("no such edge type");
  }
  return static_cast<EdgeTypeId>(type);
}

Array take_matrix(Matrix rows) {
  const auto owner = std::make_shared<const Matrix>(std::move(rows));
  const auto view = owner->view();
  return share(owner, std::span<const float>(view.data, view.size()),
               {static_cast<py::ssize_t>(owner->rows()), static_cast<py::ssize_t>(owner->cols())});
}

/// Rows of two dimensions that Python gives.
ConstMatrix matrix_of(const py::buffer_info& info) {
  if (info.ndim != 2) {
    throw py::type_error("expected rows: an array of two dimensions");
  }
  return {floats_of(info).data(), static_cast<std::size_t>(info.shape[0]),
          static_cast<std::size_t>(info.shape[1])};
}

/// A function of Python's that C++ keeps, and may drop on any thread without the interpreter's lock.
std::shared_ptr<const py::function> keep(py::function function) {
  return {new py::function(std::move(function)), [](const py::function* kept) {
            const py::gil_scoped_acquire lock;
            delete kept;
          }};
}

// ---- the job and its graph ----

py::dict graph(const Handle& handle) {
  const auto& graph = handle.get().graph();
  py::list nodes;
  for (const auto& type : graph.node_types) {
    std::vector<std::string> columns;
    for (const auto& column : type.columns) {
      columns.push_back(column.name);
    }
    nodes.append(py::dict("name"_a = type.name, "count"_a = type.count,
                          "columns"_a = type.features ? type.features->cols : 0,
                          "classes"_a = type.labels ? type.labels->classes : 0,
                          "targets"_a = type.labels && type.labels->has_columns(),
                          "named"_a = columns));
  }
  py::list edges;
  for (const auto& type : graph.edge_types) {
    std::vector<std::string> columns;
    for (const auto& column : type.columns) {
      columns.push_back(column.name);
    }
    edges.append(py::dict("name"_a = type.name, "source"_a = raw(type.source),
                          "destination"_a = raw(type.destination), "count"_a = type.count,
                          "columns"_a = type.features ? type.features->cols : 0,
                          "named"_a = columns));
  }
  return py::dict("node_types"_a = nodes, "edge_types"_a = edges);
}

py::dict seeds_of(SeedList list) {
  return py::dict("node_type"_a = raw(list.node_type),
                  "original_ids"_a = take(std::move(list.original)),
                  "nodes"_a = take(std::move(list.global)),
                  "times"_a = list.times.empty() ? py::object(py::none())
                                                 : py::cast(take(std::move(list.times))));
}

py::dict seeds(const Handle& handle, const std::string& role) {
  return seeds_of(value_of(handle.get().seeds(role)));
}

py::dict links_of(const LinkList& list) {
  std::vector<NodeId> ends(2 * list.size());
  std::vector<OriginalId> originals(2 * list.size());
  for (std::uint64_t i = 0; i < list.size(); ++i) {
    const auto link = list.at(i);
    ends[i] = link.source;
    ends[list.size() + i] = link.destination;
    originals[i] = link.original_source;
    originals[list.size() + i] = link.original_destination;
  }
  const auto optional = [](const auto& values) {
    return values.empty() ? py::object(py::none())
                          : py::cast(take(std::vector(values.begin(), values.end())));
  };
  std::vector<std::int64_t> types;
  for (const auto& group : list.groups()) {
    types.insert(types.end(), group.count, raw(group.edge_type));
  }
  const Shape shape{2, static_cast<py::ssize_t>(list.size())};
  return py::dict("edge_type"_a = raw(list.edge_type()), "nodes"_a = take(std::move(ends), shape),
                  "original_ids"_a = take(std::move(originals), shape),
                  "times"_a = optional(list.times()), "labels"_a = optional(list.labels()),
                  "edge_types"_a = list.groups().empty() ? py::object(py::none())
                                                         : py::cast(take(std::move(types))));
}

py::dict role_links(const Handle& handle, const std::string& role) {
  return links_of(value_of(handle.get().links(role)));
}

// ---- shares of what a program names ----

SplitWay way_of(bool local) {
  return local ? SplitWay::local : SplitWay::even;
}

/// \param mask  one byte for each id, without gaps
std::span<const std::uint8_t> mask_of(const py::buffer_info& info) {
  if (info.itemsize != 1 || info.ndim != 1) {
    throw py::type_error("expected a mask: an array of bool in one dimension");
  }
  return {static_cast<const std::uint8_t*>(info.ptr), static_cast<std::size_t>(info.size)};
}

/// Calls `split` with a mask or with ids, as `given` is one or the other, without the GIL.
template <class Id, class Split>
auto split_given(const py::buffer& given, bool is_mask, Split split) {
  if (is_mask) {
    const auto info = given.request();
    const auto mask = mask_of(info);
    return value_of(unlocked([&] { return split(mask); }));
  }
  const auto ids = ids_of<Id>(given);
  return value_of(unlocked([&] { return split(ids); }));
}

Array find_nodes(const Handle& handle, const py::buffer& nodes, std::size_t type) {
  const auto ids = ids_of<OriginalId>(nodes);
  auto& session = handle.get();
  return take(value_of(unlocked([&] { return session.find_nodes(ids, node_type(type)); })));
}

py::dict split_nodes(const Handle& handle, const py::buffer& nodes, bool is_mask, bool local,
                     std::size_t type) {
  auto& session = handle.get();
  const auto of = node_type(type);
  return seeds_of(split_given<OriginalId>(nodes, is_mask, [&](const auto& given) {
    return session.split_nodes(given, way_of(local), of);
  }));
}

py::dict split_seeds(const Handle& handle, const std::string& role, bool local) {
  return seeds_of(value_of(handle.get().split_seeds(role, way_of(local))));
}

py::dict split_links(const Handle& handle, const std::string& role, bool local) {
  return links_of(value_of(handle.get().split_links(role, way_of(local))));
}

Array split_edges(const Handle& handle, const py::buffer& edges, bool is_mask, bool local,
                  std::size_t type) {
  auto& session = handle.get();
  const auto of = edge_type(type);
  return take(split_given<EdgeId>(edges, is_mask, [&](const auto& given) {
    return session.split_edges(given, way_of(local), of);
  }));
}

py::tuple edges(const Handle& handle, std::size_t type) {
  const auto share = value_of(handle.get().edges(edge_type(type)));
  return py::make_tuple(raw(share.first), share.count);
}

// ---- batches ----

EpochTurns epoch(const std::shared_ptr<Handle>& handle, std::uint32_t number) {
  const auto range = handle->begin_epoch(number);
  check(handle->get().status());
  return {handle, range};
}

void end_step(const Handle& handle) {
  auto& session = handle.get();
  check(unlocked([&] { return session.end_step(); }));
}

// ---- the graph, at any time ----

BatchView sample_neighbors(const Handle& handle, const py::buffer& nodes,
                           std::vector<std::int32_t> fanout, std::size_t type, std::uint32_t epoch,
                           std::uint64_t number, bool with_rows, const py::object& times) {
  NeighborRequest request{.nodes = ids_of<NodeId>(nodes),
                          .fanout = std::move(fanout),
                          .node_type = node_type(type),
                          .epoch = epoch,
                          .number = number,
                          .with_rows = with_rows};
  if (!times.is_none()) {
    request.times = ids_of<std::int64_t>(py::cast<py::buffer>(times));
  }
  auto& session = handle.get();
  return BatchView(value_of(unlocked([&] { return session.sample_neighbors(request); })));
}

py::dict read_rows(const Handle& handle, const py::buffer& nodes, std::size_t type) {
  const auto ids = ids_of<NodeId>(nodes);
  auto& session = handle.get();
  auto rows = value_of(unlocked([&] { return session.read_rows(ids, node_type(type)); }));
  const auto& facts = session.graph().node_types[type].labels;
  py::list columns;
  for (const auto& column : rows.columns) {
    columns.append(column_tuple(column, column_array(column, column.values.owner)));
  }
  const auto none = py::object(py::none());
  const bool has_features = rows.features.cols() > 0;
  const bool has_labels = facts && !facts->has_columns();
  const bool has_targets = rows.targets.cols() > 0;
  return py::dict(
      "features"_a = has_features ? py::cast(take_matrix(std::move(rows.features))) : none,
      "original_ids"_a = take(std::move(rows.original_ids)),
      "labels"_a = has_labels ? py::cast(take(std::move(rows.labels))) : none,
      "targets"_a = has_targets ? py::cast(take_matrix(std::move(rows.targets))) : none,
      "columns"_a = columns);
}

py::tuple read_column(const Handle& handle, const std::string& name, const py::buffer& nodes,
                      std::size_t type) {
  const auto ids = ids_of<NodeId>(nodes);
  auto& session = handle.get();
  const auto column =
      value_of(unlocked([&] { return session.read_column(name, ids, node_type(type)); }));
  return column_tuple(column, column_array(column, column.values.owner));
}

Array degrees(const Handle& handle, const py::buffer& nodes, std::size_t type, bool in) {
  const auto ids = ids_of<NodeId>(nodes);
  auto& session = handle.get();
  return take(value_of(unlocked(
      [&] { return session.degrees(ids, edge_type(type), in ? EdgeDir::in : EdgeDir::out); })));
}

py::tuple find_edges(const Handle& handle, const py::buffer& edges, std::size_t type) {
  const auto ids = ids_of<EdgeId>(edges);
  auto& session = handle.get();
  auto found = value_of(unlocked([&] { return session.find_edges(ids, edge_type(type)); }));
  return py::make_tuple(take(std::move(found.sources)), take(std::move(found.destinations)));
}

// ---- learned rows ----

py::dict embedding(const Handle& handle, const std::string& name) {
  const auto table = value_of(handle.get().embedding(name));
  return py::dict("node_type"_a = raw(table.type()), "dim"_a = table.dim());
}

Array learned_rows(const Handle& handle, const std::string& name, const py::buffer& nodes) {
  const auto ids = ids_of<NodeId>(nodes);
  auto table = value_of(handle.get().embedding(name));
  return take_matrix(value_of(unlocked([&] { return table.rows(ids); })));
}

void learned_gradient(const Handle& handle, const std::string& name, const py::buffer& nodes,
                      const py::buffer& rows, std::uint64_t terms) {
  const auto ids = ids_of<NodeId>(nodes);
  const auto info = rows.request();
  const auto matrix = matrix_of(info);
  auto table = value_of(handle.get().embedding(name));
  check(unlocked([&] { return table.gradient(ids, matrix, terms); }));
}

// ---- tensors by name ----

py::dict facts_of(const DistTensor& tensor) {
  return py::dict("name"_a = tensor.name(), "dtype"_a = to_string(tensor.dtype()),
                  "shape"_a = tensor.shape(), "rows"_a = tensor.rows());
}

DType dtype_of(const std::string& name) {
  if (const auto known = parse_dtype(name)) {
    return *known;
  }
  throw py::value_error("no such dtype");
}

/// \param of    "nodes", "edges", "rows"
/// \param what  place of the type, or number of rows
/// \param init  kind, and standard deviation or bound
py::dict make_tensor(const Handle& handle, const std::string& name, const std::string& of,
                     std::uint64_t what, const std::string& dtype, std::vector<std::uint64_t> shape,
                     const std::pair<std::string, double>& init) {
  TensorOptions options{.shape = std::move(shape),
                        .init = {.kind = init.first, .std = init.second, .scale = init.second}};
  options.dtype = dtype_of(dtype);
  if (of == "rows") {
    options.of = TensorOf::rows;
    options.rows = what;
  } else if (of == "edges") {
    options.of = TensorOf::edges;
    options.edge_type = edge_type(what);
  } else {
    options.node_type = node_type(what);
  }
  auto& session = handle.get();
  return facts_of(value_of(unlocked([&] { return session.make_tensor(name, options); })));
}

py::dict tensor(const Handle& handle, const std::string& name) {
  return facts_of(value_of(handle.get().tensor(name)));
}

DistTensor column_named(const Handle& handle, const std::string& name, std::size_t type,
                        bool of_edges) {
  return of_edges ? value_of(handle.get().column(name, edge_type(type)))
                  : value_of(handle.get().column(name, node_type(type)));
}

py::dict column(const Handle& handle, const std::string& name, std::size_t type, bool of_edges) {
  return facts_of(column_named(handle, name, type, of_edges));
}

py::tuple read_edge_column(const Handle& handle, const std::string& name, const py::buffer& edges,
                           std::size_t type) {
  const auto ids = ids_of<std::uint64_t>(edges);
  const auto of = column_named(handle, name, type, true);
  const auto rows = value_of(unlocked([&] { return of.read(ids); }));
  return column_tuple(rows, column_array(rows, rows.values.owner));
}

void delete_tensor(const Handle& handle, const std::string& name) {
  auto& session = handle.get();
  check(unlocked([&] { return session.delete_tensor(name); }));
}

py::tuple read_tensor(const Handle& handle, const std::string& name, const py::buffer& rows) {
  const auto ids = ids_of<std::uint64_t>(rows);
  const auto of = value_of(handle.get().tensor(name));
  const auto column = value_of(unlocked([&] { return of.read(ids); }));
  return column_tuple(column, column_array(column, column.values.owner));
}

/// \param values  without gaps, as many bytes as the rows have
void write_tensor(const Handle& handle, const std::string& name, const py::buffer& rows,
                  const std::string& dtype, const py::buffer& values, bool add) {
  const auto ids = ids_of<std::uint64_t>(rows);
  const auto info = values.request();
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(info.ptr),
                                         static_cast<std::size_t>(info.size * info.itemsize));
  auto of = value_of(handle.get().tensor(name));
  const auto numbers = dtype_of(dtype);
  check(unlocked([&] { return of.put(ids, numbers, bytes, add); }));
}

void export_tensor(const Handle& handle, const std::string& name, const std::string& file) {
  const auto of = value_of(handle.get().tensor(name));
  check(unlocked([&] { return of.export_npy(file); }));
}

void export_column(const Handle& handle, const std::string& name, std::size_t type, bool of_edges,
                   const std::string& file) {
  const auto of = column_named(handle, name, type, of_edges);
  check(unlocked([&] { return of.export_npy(file); }));
}

// ---- all ranks together ----

void all_reduce(const Handle& handle, const py::buffer& values) {
  const auto info = values.request(true);
  const auto numbers = floats_of(info);
  auto& session = handle.get();
  check(unlocked([&] { return session.all_reduce(numbers); }));
}

std::uint64_t all_reduce_mean(const Handle& handle, const py::buffer& values,
                              std::uint64_t weight) {
  const auto info = values.request(true);
  const auto numbers = floats_of(info);
  auto& session = handle.get();
  return value_of(unlocked([&] { return session.all_reduce_mean(numbers, weight); }));
}

/// A vector in the memory of the rank's CUDA device. \param stream  a cudaStream_t
struct VectorThere {
  VectorThere(std::uintptr_t address, std::size_t size, std::uintptr_t stream_handle)
      : values(reinterpret_cast<float*>(address), size),   // NOLINT(performance-no-int-to-ptr)
        stream(reinterpret_cast<void*>(stream_handle)) {}  // NOLINT(performance-no-int-to-ptr)
  std::span<float> values;
  void* stream;
};

void all_reduce_there(const Handle& handle, std::uintptr_t address, std::size_t size,
                      std::uintptr_t stream) {
  auto device = value_of(handle.get().device());
  const VectorThere vector(address, size, stream);
  check(unlocked([&] { return device.all_reduce(vector.values, vector.stream); }));
}

std::uint64_t all_reduce_mean_there(const Handle& handle, std::uintptr_t address, std::size_t size,
                                    std::uintptr_t stream, std::uint64_t weight) {
  auto device = value_of(handle.get().device());
  const VectorThere vector(address, size, stream);
  return value_of(
      unlocked([&] { return device.all_reduce_mean(vector.values, weight, vector.stream); }));
}

/// \param seconds  at least 0; a very large number is no longer than the session waits at most
void barrier(const Handle& handle, double seconds) {
  auto& session = handle.get();
  constexpr double most = 1e12;
  const std::chrono::milliseconds deadline(
      static_cast<std::int64_t>(1e3 * std::min(seconds, most)));
  check(unlocked([&] { return session.barrier(deadline); }));
}

// ---- checkpoints ----

void on_save(const Handle& handle, py::function hook) {
  handle.get().on_save([kept = keep(std::move(hook))] {
    const py::gil_scoped_acquire lock;
    const auto bytes = py::bytes((*kept)());
    const auto text = static_cast<std::string_view>(bytes);
    const auto whole = std::as_bytes(std::span(text.data(), text.size()));
    return std::vector<std::byte>(whole.begin(), whole.end());
  });
}

void on_restore(const Handle& handle, py::function hook) {
  handle.get().on_restore([kept = keep(std::move(hook))](std::span<const std::byte> bytes) {
    const py::gil_scoped_acquire lock;
    (*kept)(py::bytes(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    return ok_status();
  });
}

using Binding = py::class_<Handle, std::shared_ptr<Handle>>;

void bind_facts(Binding& type) {
  type.def("end", &Handle::end)
      .def_property_readonly("rank", [](const Handle& h) { return raw(h.get().rank()); })
      .def_property_readonly("world", [](const Handle& h) { return h.get().world(); })
      .def_property_readonly("role", [](const Handle& h) { return h.get().role(); })
      .def_property_readonly("local_rank", [](const Handle& h) { return h.get().local_rank(); })
      .def_property_readonly("local_world", [](const Handle& h) { return h.get().local_world(); })
      .def_property_readonly("devices",
                             [](const Handle& h) {
                               std::vector<std::string> names;
                               for (const auto& device : h.get().devices()) {
                                 names.push_back(to_string(device));
                               }
                               return names;
                             })
      .def_property_readonly("columns", [](const Handle& h) { return h.get().columns(); })
      .def_property_readonly("classes", [](const Handle& h) { return h.get().classes(); })
      .def_property_readonly("seed", [](const Handle& h) { return h.get().seed(); })
      .def_property_readonly("epochs", [](const Handle& h) { return h.get().epochs(); })
      .def_property_readonly("triples",
                             [](const Handle& h) -> py::object {
                               const auto facts = h.get().triples();
                               if (!facts) {
                                 return py::none();
                               }
                               return py::make_tuple(facts->relations, facts->chunks.triples,
                                                     facts->chunks.negatives);
                             })
      .def_property_readonly("first_epoch", [](const Handle& h) { return h.get().first_epoch(); })
      .def_property_readonly("steps_per_epoch",
                             [](const Handle& h) { return h.get().steps_per_epoch(); })
      .def_property_readonly("global_step", [](const Handle& h) { return h.get().global_step(); })
      .def_property_readonly("digest", [](const Handle& h) { return to_string(h.get().digest()); })
      .def("graph", &graph)
      .def("seeds", &seeds)
      .def("links", &role_links)
      .def("edges", &edges)
      .def("find_nodes", &find_nodes)
      .def("split_nodes", &split_nodes)
      .def("split_seeds", &split_seeds)
      .def("split_links", &split_links)
      .def("split_edges", &split_edges);
}

void bind_calls(Binding& type) {
  type.def("epoch", &epoch)
      .def("end_step", &end_step)
      .def("sample_neighbors", &sample_neighbors)
      .def("read_rows", &read_rows)
      .def("read_column", &read_column)
      .def("degrees", &degrees)
      .def("find_edges", &find_edges)
      .def("embedding", &embedding)
      .def("learned_rows", &learned_rows)
      .def("learned_gradient", &learned_gradient)
      .def("make_tensor", &make_tensor)
      .def("tensor", &tensor)
      .def("column", &column)
      .def("read_edge_column", &read_edge_column)
      .def("delete_tensor", &delete_tensor)
      .def("read_tensor", &read_tensor)
      .def("write_tensor", &write_tensor)
      .def("export_tensor", &export_tensor)
      .def("export_column", &export_column)
      .def("all_reduce", &all_reduce)
      .def("all_reduce_mean", &all_reduce_mean)
      .def("all_reduce_there", &all_reduce_there)
      .def("all_reduce_mean_there", &all_reduce_mean_there)
      .def("barrier", &barrier)
      .def("on_save", &on_save)
      .def("on_restore", &on_restore);
}

}  // namespace

Session& SessionHandle::get() const {
  if (getpid() != process_) {
    throw std::runtime_error(
        "a session is for the process of its rank, this one is a forked child of it\n"
        "try: call it there; a DataLoader with num_workers=0, since samplers work ahead of the "
        "training already");
  }
  if (session_ == nullptr) {
    throw std::runtime_error("the rank's function has returned: its session is over");
  }
  if (std::this_thread::get_id() != thread_) {
    throw std::runtime_error("a session is for the thread of its rank alone");
  }
  return *session_;
}

EpochRange SessionHandle::begin_epoch(std::uint32_t number) {
  auto& session = get();
  epoch_ = number;
  ++epochs_begun_;
  return unlocked([&] { return session.epoch(number); });
}

py::object EpochTurns::next() {
  auto& session = session_->get();
  if (session_->epochs_begun() != epochs_begun_) {
    raise(Error(Errc::failed_precondition,
                fmt::format("epoch {}: its batches ended when epoch({}) was called\n"
                            "try: finish the loop over one epoch before the next call",
                            epoch_, session_->epoch())));
  }
  unlocked([&] {
    if (turn_) {
      ++*turn_;
    } else {
      turn_ = range_.begin();
    }
  });
  if (*turn_ == std::default_sentinel) {
    check(session.status());
    throw py::stop_iteration();
  }
  auto batch = session.shared_batch();
  std::optional<OnDevice> there;
  if (batch->on_device) {
    auto device = value_of(session.device());
    there = OnDevice{std::make_shared<const DeviceArrays>(value_of(device.batch())), device.info()};
  }
  return py::cast(BatchView(std::move(batch), std::move(there)));
}

void bind_sessions(py::module_& module) {
  py::class_<EpochTurns>(module, "Epoch")
      .def("__iter__", [](const py::object& self) { return self; })
      .def("__next__", &EpochTurns::next);
  Binding type(module, "Session");
  bind_facts(type);
  bind_calls(type);
}

}  // namespace troupe::python
