#pragma once
/// \file graph_source.hpp
/// What an importer found, as things that can be read block by block, and the one way from there
/// into a store. Importers say where numbers lie; what is done with them is the same for all.
#include "runtime/base/executor.hpp"
#include "runtime/base/result.hpp"
#include "runtime/data/import_options.hpp"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe::graph_source {

using TakeFloats = std::function<Status(std::span<const float>)>;
using TakeIntegers = std::function<Status(std::span<const std::int64_t>)>;
using TakeEdges = std::function<Status(const EdgePiece&)>;

/// Rows of features. Errors name file, row and column.
class FeatureRows {
 public:
  virtual ~FeatureRows() = default;
  /// Their width, and the dtype that holds them exactly or as the user wrote them.
  virtual FeatureInfo info() const = 0;
  virtual std::optional<std::uint64_t> rows() const = 0;  ///< nothing: known once they are read
  virtual const std::string& file() const = 0;            ///< for messages
  /// Hands out whole rows in order, each number finite.
  virtual Status read(Executor& executor, const TakeFloats& take) const = 0;
};

/// Classes or targets. Errors name file and row.
class LabelRows {
 public:
  virtual ~LabelRows() = default;
  virtual LabelInfo info() const = 0;
  virtual std::optional<std::uint64_t> rows() const = 0;
  virtual const std::string& file() const = 0;
  /// Calls one of the two, by kind.
  virtual Status read(Executor& executor, const TakeIntegers& take_classes,
                      const TakeFloats& take_targets) const = 0;
};

/// Edges with what lies on them. Errors name file and row.
class EdgeRows {
 public:
  virtual ~EdgeRows() = default;
  virtual std::uint64_t count() const = 0;  ///< 0: not known
  virtual bool weights() const { return false; }
  virtual bool times() const { return false; }
  virtual Status read(Executor& executor, const TakeEdges& take) const = 0;
};

/// One number for each edge of a type, in the order of the edges. Errors name file and row.
class EdgeValues {
 public:
  virtual ~EdgeValues() = default;
  virtual const std::string& file() const = 0;  ///< for messages
  /// Hands out all, finite and at least 0.
  virtual Status read_weights(Executor& executor, const TakeFloats& take) const = 0;
  virtual Status read_times(Executor& executor, const TakeIntegers& take) const = 0;
};

/// Rows of a named column in the dtype that is stored. Errors name the file.
class ColumnRows {
 public:
  virtual ~ColumnRows() = default;
  virtual const ColumnInfo& info() const = 0;
  virtual std::optional<std::uint64_t> rows() const = 0;  ///< nothing: known once they are read
  virtual const std::string& file() const = 0;            ///< for messages
  /// Hands out whole rows in order.
  virtual Status read(Executor& executor, const TakeBytes& take) const = 0;
};

struct Nodes {
  std::string name;
  std::optional<std::uint64_t> count;  ///< nothing: the largest id in an edge + 1
  std::unique_ptr<FeatureRows> features{};
  std::unique_ptr<LabelRows> labels{};
  std::vector<std::unique_ptr<ColumnRows>> columns{};
};

struct Edges {
  std::string name;
  std::size_t source = 0;  ///< place among the node types
  std::size_t destination = 0;
  EdgeTransforms transforms{};
  std::vector<std::unique_ptr<ColumnRows>> columns{};
  std::unique_ptr<EdgeRows> rows{};
  std::unique_ptr<FeatureRows> features{};
  std::optional<std::uint64_t> count{};   ///< as the source states it
  std::unique_ptr<EdgeValues> weights{};  ///< where `rows` has none
  std::unique_ptr<EdgeValues> times{};
};

struct Seeds {
  std::size_t nodes = 0;  ///< place among the node types
  std::vector<std::uint64_t> ids;
  std::optional<std::vector<std::int64_t>> times{};
};
/// By (split, role).
using AllSeeds = std::map<std::pair<std::string, std::string>, Seeds>;

struct Links {
  std::size_t edges = 0;             ///< place among the edge types
  std::unique_ptr<EdgeRows> rows{};  ///< the ends; labels in place of weights
};
/// By (split, role).
using AllLinks = std::map<std::pair<std::string, std::string>, Links>;

struct Graph {
  std::vector<Nodes> nodes;
  std::vector<Edges> edges;
  AllSeeds seeds;
  AllLinks links{};
  /// Further files of the store: relative path and text.
  std::vector<std::pair<std::string, std::string>> files{};
};

/// Sets the number of nodes: what is stated, features, labels and columns must agree.
/// \param stated_in  says where the number was stated, for messages
Status settle_count(Nodes& nodes, const std::string& stated_in);

/// From where to where an import goes.
struct ImportPaths {
  std::filesystem::path source;
  std::filesystem::path out;
  std::string doing = "reading";  ///< what happens to edges and rows, for progress
};
/// Opens a source and reads everything once, in order, into a store. A store that is there already
/// is found before anything is read.
/// \errors those of `open` and of the rows, which get the source before them; invalid_argument: rows
///   that are too many or too few, with their file; out_of_memory: there is not enough for what the
///   source says; those of StoreWriter
Result<GraphInfo> import_graph(const ImportPaths& paths, const ImportOptions& options,
                               Executor& executor, const std::function<Result<Graph>()>& open);

/// An edge type as others write it.
struct TypeTriple {
  std::string source;
  std::string relation;
  std::string destination;
};
/// Reads "source:relation:destination". \errors invalid_argument
Result<TypeTriple> parse_triple(const std::string& text, const std::string& place);
/// Their names here: the relation where it names one type alone, else source.relation.destination.
std::vector<std::string> edge_type_names(std::span<const TypeTriple> types);
/// The place of a node type. \errors invalid_argument: there is none of this name
Result<std::size_t> find_nodes(const Graph& graph, const std::string& name,
                               const std::string& place);

/// Transforms that the user asked for, in addition to those of the type. Symmetrize and
/// drop_self_loops are for types whose ends are of one type and left out for others.
EdgeTransforms transforms_of(const EdgeTransforms& asked, const EdgeTransforms& own, bool one_type);

}  // namespace troupe::graph_source
