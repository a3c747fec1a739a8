#pragma once
/// \file ogb_folder.hpp
/// What OGB's layouts have in common: files found by name, splits, and the list of what was not
/// taken. Used by the readers of the layouts.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/graph_source.hpp"
#include "runtime/data/npy_source.hpp"
#include "runtime/data/table.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe {

class OgbFolder {
 public:
  explicit OgbFolder(const std::filesystem::path& dir) : source_{dir, {}} {}

  const npy_source::Source& source() const { return source_; }
  bool has(const std::string& file) const { return source_.has(file); }
  /// Names in a folder, ascending; none if there is no such folder.
  std::vector<std::string> files(const std::string& folder) const;
  std::vector<std::string> folders(const std::string& folder) const;

  /// The file with this name before .csv.gz or .csv, which counts as taken; empty: there is none.
  std::string find_text(const std::string& name);
  /// Says that a file is read.
  void take(const std::string& file) { taken_.insert(file); }
  /// Says that something in a file that is read was not taken.
  void leave_out(std::string what) { left_out_.push_back(std::move(what)); }
  /// Reports what was left out, and files below some folders that were not taken.
  void report_others(const std::vector<std::string>& folders,
                     const std::function<void(const std::string&)>& to);

  /// Reads split/NAME/{train,valid,test}, .csv.gz, .csv or .npy, of one node type in
  /// split/NAME/TYPE; of a graph with one edge type also their links, …_links.npy. A single NAME
  /// becomes the default split.
  /// \param split_needed  whether files of torch are refused where nothing else is there
  /// \errors unimplemented: a split as files of torch alone; invalid_argument: ids that do not fit,
  ///   or seeds of two types
  Status read_splits(graph_source::Graph& graph, bool by_type, bool split_needed,
                     Executor& executor);
  /// The same for one folder of seeds, of the node type in this place.
  Status read_seeds(graph_source::Graph& graph, const std::string& split, const std::string& folder,
                    std::size_t nodes, Executor& executor);
  /// \errors unimplemented: the folder has a file of torch
  Status refuse_torch(const std::string& folder) const;

 private:
  Status read_links(graph_source::Graph& graph, const std::string& split,
                    const std::string& folder);
  Result<std::optional<Table>> open_seeds(const std::string& name);

  npy_source::Source source_;
  std::set<std::string> taken_;
  std::vector<std::string> left_out_;
};

/// Node and edge types become parts of paths and names of a store's types.
/// \errors invalid_argument
Status check_ogb_name(const std::string& name, const std::string& file);
/// Labels in one column are classes, in several targets.
/// \errors invalid_argument: other numbers
Result<std::unique_ptr<graph_source::LabelRows>> ogb_labels_of(Table table, Executor& executor);

inline constexpr std::string_view ogb_triple_separator = "___";
/// Reads "head___relation___tail". \errors invalid_argument
Result<graph_source::TypeTriple> parse_ogb_triple(const std::string& text, const std::string& file);

}  // namespace troupe
