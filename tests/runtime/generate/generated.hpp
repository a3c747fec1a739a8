#pragma once
/// \file generated.hpp
/// Generated graphs, written and read again, for the tests of this folder.
#include "runtime/base/digest.hpp"
#include "runtime/generate/one_type_graph.hpp"
#include "runtime/graph/store.hpp"
#include "tests/runtime/graph/store_fixture.hpp"
#include "tests/support/expect.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace troupe::testing {

struct Edge {
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
};

/// In the order of the lists.
inline std::vector<Edge> edges_of(const GraphStore& store, std::size_t type = 0) {
  std::vector<Edge> edges;
  const auto& in = store.graph()->edges[type].in;
  for (std::uint64_t node = 0; node + 1 < in.offsets.size(); ++node) {
    for (auto i = in.offsets[node]; i < in.offsets[node + 1]; ++i) {
      edges.push_back({raw(in.neighbours[i]), node});
    }
  }
  return edges;
}

/// One digest of all files, by the checksums that the store lists.
inline std::string digest_of(const GraphInfo& info) {
  DigestBuilder digest;
  for (const auto& file : info.files) {
    digest.add_array(std::span(file.path));
    digest.add_array(std::span(file.checksum));
  }
  return to_string(digest.digest());
}

/// Share of edges whose ends have one label.
inline double share_inside(const std::vector<Edge>& edges, std::span<const std::int64_t> sources,
                           std::span<const std::int64_t> destinations) {
  std::uint64_t inside = 0;
  for (const auto& edge : edges) {
    inside += sources[edge.source] == destinations[edge.destination] ? 1U : 0U;
  }
  return static_cast<double>(inside) / static_cast<double>(edges.size());
}

/// In-degrees or out-degrees, largest first.
inline std::vector<double> degrees(const std::vector<Edge>& edges, std::uint64_t nodes,
                                   bool outgoing) {
  std::vector<double> count(nodes);
  for (const auto& edge : edges) {
    ++count[outgoing ? edge.source : edge.destination];
  }
  std::ranges::sort(count, std::greater<>());
  return count;
}

/// Writes graphs into a folder of its own.
class Generated : public ::testing::Test {
 protected:
  /// \param describe  makes a graph of the options
  template <class Options>
  Result<GraphInfo> write(const Options& options,
                          Result<generate::OneTypeGraph> (*describe)(const Options&),
                          Executor& executor) {
    std::filesystem::remove_all(out_);
    TROUPE_ASSIGN_OR_RETURN(const auto graph, describe(options));
    return generate::write_store(graph, options, executor, out_);
  }
  template <class Options>
  Result<GraphStore> make(const Options& options,
                          Result<generate::OneTypeGraph> (*describe)(const Options&)) {
    InlineExecutor here;
    TROUPE_RETURN_IF_ERROR(write(options, describe, here));
    return GraphStore::open(out_, {});
  }
  /// The same bytes whatever the threads, the memory and the pieces; and those of `digest`.
  template <class Options>
  void expect_bytes(Options options, Result<generate::OneTypeGraph> (*describe)(const Options&),
                    const std::string& digest) {
    InlineExecutor here;
    ASSERT_OK_AND_ASSIGN(const auto plain, write(options, describe, here));
    EXPECT_EQ(digest_of(plain), digest);
    for (const std::size_t threads : {1U, 3U}) {
      for (const std::uint64_t piece : {1000U, 4099U}) {  // no multiple of 16, and a prime
        ComputePool pool(threads);
        options.piece = piece;
        options.writer.memory_bytes = 20'000;
        ASSERT_OK_AND_ASSIGN(const auto other, write(options, describe, pool));
        EXPECT_EQ(digest_of(other), digest) << threads << " threads, pieces of " << piece;
      }
    }
  }

  TempDir temp_;
  std::filesystem::path out_ = temp_ / "store";
};

}  // namespace troupe::testing
