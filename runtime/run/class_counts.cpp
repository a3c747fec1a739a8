#include "runtime/run/class_counts.hpp"

#include "runtime/graph/npy.hpp"
#include "runtime/graph/store_files.hpp"
#include "runtime/graph/store_layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace troupe {
namespace {

Result<NpyArray> load_labels(const StoreFiles& files, const PartitionedStore& store, PartId part,
                             NodeTypeId type) {
  const auto& nodes = store.info().node_types[raw(type)];
  const auto& first = store.partition().ranges.first_node[raw(type)];
  const std::uint64_t rows = first[raw(part) + 1] - first[raw(part)];
  auto labels =
      files.load(store_layout::part_prefix(part) + store_layout::nodes_file(nodes, "labels"),
                 {npy_type(DType::i64), {rows}});
  if (!labels && labels.error().code() == Errc::not_found) {
    return Error(Errc::not_found,
                 fmt::format("/train/class_weights: expected the labels of all parts on this host, "
                             "which \"balanced\" counts: {}\ntry: copy them there, or give a list "
                             "of weights",
                             labels.error().what()));
  }
  return labels;
}

}  // namespace

Result<std::vector<std::uint64_t>> count_classes(const PartitionedStore& store,
                                                 const PartitionBook& book, const SeedList& seeds) {
  const auto type = seeds.node_type;
  const auto& info = store.info().node_types[raw(type)].labels;
  if (!info || info->has_columns()) {
    return Error(Errc::failed_precondition,
                 fmt::format("classes of \"{}\" nodes: expected labels to count, found none",
                             store.info().node_types[raw(type)].name));
  }
  const StoreFiles files(store.dir(), {.verify = Verify::sizes}, store.partition().files,
                         store_layout::partition_file);
  std::vector<std::optional<NpyArray>> parts(book.parts());
  std::vector<std::uint64_t> counts(info->classes);
  for (std::size_t i = 0; i < seeds.global.size(); ++i) {
    const auto part = book.owner(type, seeds.global[i]);
    auto& labels = parts[raw(part)];
    if (!labels) {
      TROUPE_ASSIGN_OR_RETURN(labels, load_labels(files, store, part, type));
    }
    const auto row = raw(seeds.global[i]) - raw(book.range(type, part).first);
    const auto label = labels->as<std::int64_t>()[row];
    if (label < -1 || label >= static_cast<std::int64_t>(counts.size())) {
      return Error(Errc::data_corruption,
                   fmt::format("labels of part {}: expected -1 to {}, found {} at row {}",
                               raw(part), counts.size() - 1, label, row));
    }
    if (label >= 0) {
      ++counts[static_cast<std::size_t>(label)];
    }
  }
  return counts;
}

Result<std::vector<std::uint64_t>> count_classes(const LinkList& links, std::uint64_t classes) {
  if (links.labels().size() != links.size()) {
    return Error(Errc::failed_precondition,
                 fmt::format("classes of links: expected {} labels to count, found {}",
                             links.size(), links.labels().size()));
  }
  std::vector<std::uint64_t> counts(classes);
  for (std::size_t i = 0; i < links.size(); ++i) {
    const double label = links.labels()[i];
    const bool in_range = label >= 0 && label < static_cast<double>(classes);
    const auto number = in_range ? static_cast<std::uint64_t>(label) : 0;
    if (!in_range || static_cast<double>(number) != label) {
      return Error(
          Errc::failed_precondition,
          fmt::format("labels of links: expected classes from 0 to {}, found {} at link {}",
                      classes - 1, label, i));
    }
    ++counts[number];
  }
  return counts;
}

Result<nn::ClassWeights> class_weights(const Job& job, std::span<const std::uint64_t> counts,
                                       std::uint64_t seeds) {
  const auto& asked = job.train.class_weights;
  auto weights = asked.balanced ? nn::balanced_class_weights(counts) : asked.values;
  if (std::ranges::all_of(weights, [](double weight) { return weight == 0; })) {
    return Error(
        Errc::failed_precondition,
        fmt::format("/train/class_weights: expected a class with a weight above 0, found "
                    "none among {}{}",
                    weights.size(), asked.balanced ? ", as no training seed has a label" : ""));
  }
  std::uint64_t terms = seeds;
  if (job.train.loss == "cross_entropy") {
    weights = nn::relative_weights(std::move(weights));
  } else {
    terms *= weights.size();  // a term for each label
  }
  return nn::whole_class_weights(weights, terms);
}

}  // namespace troupe
