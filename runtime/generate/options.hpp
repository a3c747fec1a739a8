#pragma once
/// \file options.hpp
/// What all generators can be told, and the checks that they share.
#include "runtime/base/result.hpp"
#include "runtime/data/stream_store.hpp"
#include "runtime/graph/graph_info.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace troupe {

/// How many nodes are seeds of a role: a number, or a share of all nodes, rounded down.
struct SplitSize {
  // NOLINTNEXTLINE(google-explicit-constructor)
  constexpr SplitSize(std::uint64_t nodes = 0) : count(nodes) {}
  static constexpr SplitSize of_share(double share) {
    SplitSize size;
    size.is_share = true;
    size.share = share;
    return size;
  }
  std::uint64_t of(std::uint64_t nodes) const {
    constexpr double above = 1 + 0x1p-51;  // else 0.57 of 100 nodes, as doubles, are just below 57
    return is_share ? static_cast<std::uint64_t>(share * static_cast<double>(nodes) * above)
                    : count;
  }

  bool is_share = false;
  double share = 0;
  std::uint64_t count = 0;
};
/// A number of nodes from "140", a share from "0.1" (with a point).
/// \errors invalid_argument: neither, or a share outside [0, 1]
Result<SplitSize> parse_split_size(std::string_view name, std::string_view text);

/// What labels say.
enum class LabelKind : std::uint8_t {
  learnable,  ///< a class that edges and features know something about
  random,     ///< nothing
};

struct GenerateOptions {
  std::uint64_t features = 0;  ///< columns; 0: none
  DType feature_dtype = DType::f32;
  std::uint64_t classes = 0;  ///< of labels; 0: none
  LabelKind labels = LabelKind::learnable;
  double homophily = 0.8;  ///< share of edges whose ends are of one class, with learnable labels
  double noise = 1;        ///< deviation of a feature from its class's, whose centre has length 1
  SplitSize train;         ///< distinct nodes, and no node in two of them
  SplitSize val;
  SplitSize test;
  bool symmetrize = false;       ///< every edge also in the other direction, a loop twice
  bool dedup = false;            ///< one of parallel edges is kept
  bool drop_self_loops = false;  ///< edges v -> v are left out
  std::uint64_t seed = 0;
  StoreWriterOptions writer{};                   ///< memory and progress
  std::uint64_t piece = std::uint64_t{1} << 20;  ///< edges drawn at once; the graph is the same

  bool learnable() const { return classes > 0 && labels == LabelKind::learnable; }
};

namespace generate {

/// Nodes of a type: their ids fit 32 bits.
inline constexpr std::uint64_t most_nodes = (std::uint64_t{1} << 32) - 1;

Status check_count(std::string_view name, std::uint64_t value, std::uint64_t least,
                   std::uint64_t most);
/// Refuses NaN, too.
Status check_between(std::string_view name, double value, double least, double most);
/// Columns and noise, for classes of labels.
Status check_features(std::string_view name, std::uint64_t features, std::uint64_t classes,
                      double noise);
/// That so many nodes can have classes, and edges this share inside them.
Status check_classes(std::string_view name, std::uint64_t nodes, std::uint64_t classes);
Status check_homophily(std::string_view name, double homophily, std::uint64_t classes);
/// That so many nodes can be seeds.
Status check_splits(std::string_view name, std::uint64_t nodes, const SplitSize& train,
                    const SplitSize& val, const SplitSize& test);
/// All of them for a graph of one node type.
Status check_options(const GenerateOptions& options, std::uint64_t nodes, std::uint64_t edges);
/// Asking for more than there is does not fail on Linux: the program is killed when it writes.
/// \errors out_of_memory: more than this machine has, with the bytes
Status check_memory(std::uint64_t bytes, std::string_view what);

}  // namespace generate
}  // namespace troupe
