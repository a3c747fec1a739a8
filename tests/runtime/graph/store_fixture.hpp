#pragma once
/// \file store_fixture.hpp
/// Temporary directories, small arrays on disk and small random graphs for the tests of stores.
#include "runtime/base/files.hpp"
#include "runtime/base/philox.hpp"
#include "runtime/graph/npy.hpp"
#include "tests/support/file_text.hpp"
#include "tests/support/store_writer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdlib.h>
#include <string>
#include <vector>

namespace troupe::testing {

/// A directory that goes away with the object.
class TempDir {
 public:
  TempDir() {
    auto name = (std::filesystem::temp_directory_path() / "troupe-test-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline void write_all(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

/// Writes a .npy file, replacing an older one.
template <class T>
void save_npy(const std::filesystem::path& path, NpyType type, std::vector<std::uint64_t> shape,
              const std::vector<T>& values) {
  auto text = npy_header(type, shape);
  text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
  write_all(path, text);
}

template <class T>
constexpr NpyType npy_type_of() {
  return {std::is_floating_point_v<T> ? 'f' : (std::is_signed_v<T> ? 'i' : 'u'), sizeof(T)};
}

template <class T>
void save_npy(const std::filesystem::path& path, std::vector<std::uint64_t> shape,
              const std::vector<T>& values) {
  save_npy(path, npy_type_of<T>(), std::move(shape), values);
}

/// Flips the lowest bit of one byte.
inline void flip_byte(const std::filesystem::path& path, std::size_t at) {
  auto text = testing::file_text(path);
  text.at(at) = static_cast<char>(text[at] ^ 1);
  write_all(path, text);
}

/// All regular files below a directory, relative, sorted.
inline std::vector<std::string> files_below(const std::filesystem::path& dir) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(dir)) {
    if (entry.is_regular_file()) {
      names.push_back(std::filesystem::relative(entry.path(), dir).string());
    }
  }
  std::ranges::sort(names);
  return names;
}

/// A graph of one type: features u8 [nodes, 3], 4 classes, seeds, random edges with parallel ones,
/// loops, isolated nodes.
struct RandomGraph {
  std::vector<std::uint64_t> sources;
  std::vector<std::uint64_t> destinations;
  GraphContents contents;
};

inline RandomGraph random_graph(std::uint64_t nodes, std::uint64_t edges, std::uint64_t seed,
                                bool edge_ids = true) {
  RandomGraph graph;
  DrawStream draw(stream_key(seed, {.domain = Domain::generators}), 0);
  const auto touched = static_cast<std::uint32_t>(nodes - nodes / 5);  // the rest is isolated
  for (std::uint64_t i = 0; i < edges; ++i) {
    const auto source = draw.below(touched);
    const auto destination = draw.below(draw.below(touched) + 1);  // skewed
    graph.sources.push_back(i % 7 == 3 ? graph.sources.back() : source);
    graph.destinations.push_back(i % 7 == 3 ? graph.destinations.back()
                                            : (i % 11 == 5 ? source : destination));
  }
  auto& info = graph.contents.info;
  NodeTypeInfo type;
  type.name = "node";
  type.count = nodes;
  type.features = FeatureInfo{DType::u8, 3, 0.5F};
  type.labels = LabelInfo{LabelInfo::Kind::classes, 4};
  info.node_types.push_back(type);
  EdgeTypeInfo edge_type;
  edge_type.name = "edge";
  edge_type.count = edges;
  edge_type.has_edge_ids = edge_ids;
  info.edge_types.push_back(edge_type);
  GraphContents::Nodes arrays;
  std::vector<std::uint8_t> features;
  std::vector<std::uint64_t> train;
  for (std::uint64_t node = 0; node < nodes; ++node) {
    for (int col = 0; col < 3; ++col) {
      features.push_back(static_cast<std::uint8_t>(draw.below(256)));
    }
    arrays.labels.push_back(static_cast<std::int64_t>(draw.below(5)) - 1);
    if (node % 3 == 0) {
      train.push_back(node);
    }
  }
  arrays.features = Segment::of(std::move(features));
  graph.contents.nodes.push_back(std::move(arrays));
  graph.contents.in_lists.push_back(
      build_in_lists({graph.sources, graph.destinations}, nodes, nodes));
  if (!edge_ids) {
    graph.contents.in_lists.back().edge_ids.clear();
  }
  info.splits.push_back({"", {{"train", {NodeTypeId{0}, train.size()}}}});
  graph.contents.seeds[{"", "train"}] = train;
  return graph;
}

}  // namespace troupe::testing
