#include "python/batch.hpp"

#include "runtime/sample/knowledge/chunk_candidates.hpp"
#include "runtime/sample/walks/walk_pairs.hpp"

#include <fmt/format.h>
#include <pybind11/stl.h>
#include <stdexcept>

namespace troupe::python {
namespace {

const char* name_of(Frontier frontier) {
  return frontier == Frontier::fresh ? "new" : "all";
}

const char* name_of(Subgraph subgraph) {
  switch (subgraph) {
    case Subgraph::directional:
      return "directional";
    case Subgraph::bidirectional:
      return "bidirectional";
    case Subgraph::induced:
      break;
  }
  return "induced";
}

/// [2, edges] int64: sources, then the nodes that they were drawn for, both as places.
Array edge_index(const BatchView& view, std::size_t type) {
  const auto& edges = view.edges(type);
  const py::gil_scoped_release unlocked;
  const auto count = edges.sources.size();
  PooledVector<std::int64_t> index(2 * count);
  std::copy(edges.sources.begin(), edges.sources.end(), index.begin());
  auto* const destinations = index.data() + count;
  view.sampled().each_row(edges, [&](std::uint32_t node, std::uint32_t first, std::uint32_t end) {
    std::fill(destinations + first, destinations + end, static_cast<std::int64_t>(node));
  });
  return take(std::move(index), {2, static_cast<py::ssize_t>(count)});
}

/// Edges of one type that were drawn in each hop.
std::vector<std::uint32_t> edges_per_hop(const BatchView& view, std::size_t type) {
  const auto& edges = view.edges(type);
  std::vector<std::uint32_t> counts;
  for (std::uint32_t hop = 0; hop < view.sampled().hops; ++hop) {
    counts.push_back(edges.offsets.before(edges.row_begin[hop + 1]) -
                     edges.offsets.before(edges.row_begin[hop]));
  }
  return counts;
}

/// What a layer works on: rows, and arrays of the batch.
py::tuple block(const BatchView& view, std::uint32_t layer, std::uint32_t layers,
                std::size_t type) {
  view.edges(type);
  const auto& sampled = view.sampled();
  const bool all_edges = sampled.subgraph != Subgraph::directional;
  if (layer >= layers || sampled.hops == 0 || (!all_edges && layers > sampled.hops)) {
    throw py::value_error(fmt::format(
        "block: expected a layer below the number of layers, and those at most {} hops, "
        "got layer {} of {}",
        sampled.hops, layer, layers));
  }
  const auto block = edge_block(sampled, static_cast<EdgeTypeId>(type), layer, layers);
  const auto weights =
      block.weights.empty() ? py::object(py::none()) : py::cast(view.array(block.weights));
  return py::make_tuple(block.num_dst, block.num_src, view.array(block.offsets),
                        view.array(block.sources), weights);
}

py::object links(const BatchView& view) {
  const auto& links = view.sampled().links;
  if (!links) {
    return py::none();
  }
  using namespace py::literals;
  py::object replaced = py::none();
  if (!links->candidates.empty()) {
    replaced = py::str(replaced_in(view.sampled().key) == ReplacedEnd::tail ? "tail" : "head");
  }
  return py::dict("edge_type"_a = raw(links->edge_type), "source_type"_a = raw(links->source_type),
                  "destination_type"_a = raw(links->destination_type),
                  "sources"_a = view.array(links->sources),
                  "destinations"_a = view.array(links->destinations),
                  "negative_sources"_a = view.array(links->negative_sources),
                  "negative_destinations"_a = view.array(links->negative_destinations),
                  "labels"_a = view.optional(links->labels, links->sources.size()),
                  "times"_a = view.optional(links->times, links->sources.size()),
                  "candidates"_a = view.optional(links->candidates, links->sources.size()),
                  "replaced"_a = replaced);
}

py::object walks(const BatchView& view) {
  const auto& walks = view.sampled().walks;
  if (!walks) {
    return py::none();
  }
  using namespace py::literals;
  const auto columns = static_cast<py::ssize_t>(walks->columns());
  std::vector<std::uint16_t> types;
  for (const auto type : walks->column_types) {
    types.push_back(raw(type));
  }
  const auto count = static_cast<py::ssize_t>(walks->nodes.size());
  return py::dict("steps"_a = walks->steps, "column_types"_a = types,
                  "nodes"_a = view.array(std::span<const std::uint32_t>(walks->nodes),
                                         {count / columns, columns}),
                  "restarts"_a = view.array(walks->restarts));
}

py::tuple pairs(const BatchView& view, std::uint32_t window) {
  const auto& walks = view.sampled().walks;
  if (!walks) {
    throw py::value_error("pairs: expected a batch of random walks (task.kind \"walk\")");
  }
  WalkPairs found;
  {
    const py::gil_scoped_release unlocked;
    found = walk_pairs(*walks, window);
  }
  return py::make_tuple(take(std::move(found.centers)), take(std::move(found.contexts)));
}

py::list columns(const BatchView& view) {
  py::list list;
  for (const auto& column : view.batch().columns) {
    list.append(
        py::make_tuple(column.of_edges, column.type,
                       column_tuple(column, view.place(column_array(column, view.owner())))));
  }
  return list;
}

py::object edge_features(const BatchView& view, std::size_t type) {
  view.edges(type);
  const auto& all = view.batch().edge_features;
  return type < all.size() ? view.rows(all[type]) : py::object(py::none());
}

/// By node type: ids, rows, and where hops end.
void bind_nodes(py::class_<BatchView>& type) {
  type.def_property_readonly("node_types",
                             [](const BatchView& b) { return b.sampled().nodes.size(); })
      .def("node_ids", [](const BatchView& b, std::size_t t) { return b.array(b.nodes(t).ids); })
      .def("original_ids",
           [](const BatchView& b, std::size_t t) {
             return b.optional(b.rows_of(t).original_ids, b.nodes(t).ids.size());
           })
      .def("features", &BatchView::features)
      .def("hop_end",
           [](const BatchView& b, std::size_t t) { return b.host_array(b.nodes(t).hop_end); })
      .def("trees", [](const BatchView& b, std::size_t t) {
        return b.sampled().disjoint ? py::cast(b.array(b.nodes(t).trees)) : py::object(py::none());
      });
}

/// By edge type: which edges, between what.
void bind_edges(py::class_<BatchView>& type) {
  type.def_property_readonly("edge_types",
                             [](const BatchView& b) { return b.sampled().edges.size(); })
      .def("ends",
           [](const BatchView& b, std::size_t t) {
             return py::make_tuple(raw(b.edges(t).source_type), raw(b.edges(t).destination_type));
           })
      .def("offsets",
           [](const BatchView& b, std::size_t t) { return b.array(b.edges(t).offsets.dense()); })
      .def("sources", [](const BatchView& b, std::size_t t) { return b.array(b.edges(t).sources); })
      .def("row_begin",
           [](const BatchView& b, std::size_t t) { return b.host_array(b.edges(t).row_begin); })
      .def("edge_ids",
           [](const BatchView& b, std::size_t t) {
             return b.optional(b.edges(t).edge_ids, b.edges(t).sources.size());
           })
      .def("weights",
           [](const BatchView& b, std::size_t t) {
             return b.optional(b.edges(t).weights, b.edges(t).sources.size());
           })
      .def("times",
           [](const BatchView& b, std::size_t t) {
             return b.optional(b.edges(t).times, b.edges(t).sources.size());
           })
      .def("edge_features", &edge_features)
      .def("edge_index", &edge_index)
      .def("edges_per_hop", &edges_per_hop)
      .def("block", &block);
}

Shape shape_of(ConstMatrix rows) {
  return {static_cast<py::ssize_t>(rows.rows), static_cast<py::ssize_t>(rows.cols)};
}

}  // namespace

py::object BatchView::on_device() const {
  if (!there_) {
    return py::none();
  }
  BatchView view = *this;
  view.arrays_there_ = true;
  return py::cast(std::move(view));
}

std::string BatchView::device() const {
  return arrays_there_ ? to_string(there_->device) : "cpu";
}

Array BatchView::there(Array array, const void* data) const {
  array.data = data;
  if (there_->device.kind == RankDevice::Kind::cuda) {
    array.cuda = there_;
  }
  return array;
}

Array BatchView::place(Array host) const {
  if (!arrays_there_) {
    return host;
  }
  auto bytes = host.item_bytes;
  for (const auto extent : host.shape) {
    bytes *= extent;
  }
  const std::span<const std::byte> values(static_cast<const std::byte*>(host.data),
                                          static_cast<std::size_t>(bytes));
  const auto found = there_->arrays->there(values);
  if (found.size() < values.size()) {
    throw std::logic_error("an array of the batch is not on its device");
  }
  return there(std::move(host), found.data());
}

py::object BatchView::rows(const Matrix& rows) const {
  if (rows.cols() == 0) {
    return py::none();
  }
  return py::cast(array(rows.view().flat(), shape_of(rows.view())));
}

py::object BatchView::features(std::size_t type) const {
  if (!arrays_there_) {
    return rows(rows_of(type).features);
  }
  nodes(type);
  const auto found = there_->arrays->features(static_cast<NodeTypeId>(type));
  if (found.cols == 0) {
    return py::none();
  }
  return py::cast(there(share(batch_, found.flat(), shape_of(found)), found.data));
}

const BatchNodes& BatchView::nodes(std::size_t type) const {
  if (type >= sampled().nodes.size()) {
    throw py::index_error("no such node type");
  }
  return sampled().nodes[type];
}

const BatchEdges& BatchView::edges(std::size_t type) const {
  if (type >= sampled().edges.size()) {
    throw py::index_error("no such edge type");
  }
  return sampled().edges[type];
}

const BatchRows& BatchView::rows_of(std::size_t type) const {
  static const BatchRows none;
  nodes(type);
  return type < batch_->rows.size() ? batch_->rows[type] : none;
}

namespace {

/// Of a column's elements in Python; bfloat16 as words.
const char* format_of_column(DType dtype) {
  switch (dtype) {
    case DType::u8:
      return "B";
    case DType::u16:
    case DType::bf16:
      return "H";
    case DType::i32:
      return "i";
    case DType::i64:
      return "q";
    case DType::u32:
      return "I";
    case DType::u64:
      return "Q";
    case DType::f16:
      return "e";
    case DType::f32:
      return "f";
    case DType::f64:
      return "d";
    case DType::boolean:
      return "?";
  }
  return "B";
}

}  // namespace

Array column_array(const BatchColumn& column, std::shared_ptr<const void> owner) {
  Array array{.owner = std::move(owner),
              .data = column.values.bytes.data(),
              .item_bytes = static_cast<py::ssize_t>(size_bytes(column.info.dtype)),
              .format = format_of_column(column.info.dtype),
              .shape = {static_cast<py::ssize_t>(column.rows)}};
  for (const auto extent : column.info.shape) {
    array.shape.push_back(static_cast<py::ssize_t>(extent));
  }
  return array;
}

py::tuple column_tuple(const BatchColumn& column, Array array) {
  return py::make_tuple(column.info.name, std::move(array), column.info.dtype == DType::bf16);
}

void bind_batches(py::module_& module) {
  py::class_<BatchView> type(module, "Batch");
  type.def_property_readonly("on_device", &BatchView::on_device)
      .def_property_readonly("device", &BatchView::device)
      .def_property_readonly("epoch", [](const BatchView& b) { return b.sampled().key.epoch; })
      .def_property_readonly("number", [](const BatchView& b) { return b.sampled().key.number; })
      .def_property_readonly("hops", [](const BatchView& b) { return b.sampled().hops; })
      .def_property_readonly("seeds", [](const BatchView& b) { return b.sampled().num_seeds(); })
      .def_property_readonly("frontier",
                             [](const BatchView& b) { return name_of(b.sampled().frontier); })
      .def_property_readonly("subgraph",
                             [](const BatchView& b) { return name_of(b.sampled().subgraph); })
      .def_property_readonly("disjoint", [](const BatchView& b) { return b.sampled().disjoint; })
      .def_property_readonly("seed_type",
                             [](const BatchView& b) { return raw(b.sampled().seed_type); })
      .def_property_readonly("seed_index",
                             [](const BatchView& b) { return b.array(b.sampled().seed_index); })
      .def_property_readonly("labels",
                             [](const BatchView& b) {
                               return b.optional(b.batch().labels, b.sampled().seed_index.size());
                             })
      .def_property_readonly("targets",
                             [](const BatchView& b) { return b.rows(b.batch().targets); })
      .def_property_readonly("links", &links)
      .def_property_readonly("walks", &walks)
      .def("pairs", &pairs)
      .def_property_readonly("columns", &columns);
  bind_nodes(type);
  bind_edges(type);
}

}  // namespace troupe::python
