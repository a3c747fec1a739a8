#pragma once
/// \file random_settings.hpp
/// Draws settings of jobs and layouts, as KEY=VALUE of the job file. Each number has the same settings in every build.
#include "runtime/base/philox.hpp"

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace troupe::testing {

using Settings = std::vector<std::string>;

/// Draws settings one after the other.
class Drawn {
 public:
  explicit Drawn(std::uint32_t number)
      : draw_(stream_key(20, {.domain = Domain::generators}), number) {}

  std::uint32_t below(std::uint32_t n) { return draw_.below(n); }
  bool once_in(std::uint32_t n) { return below(n) == 0; }
  std::string one_of(std::initializer_list<const char*> choices) {
    return choices.begin()[below(static_cast<std::uint32_t>(choices.size()))];
  }
  /// Sets a key to one of the values.
  void set(std::string_view key, std::initializer_list<const char*> choices);
  /// Sets a key to one of the values, or leaves its default: once in `n` times it is set.
  void maybe(std::uint32_t n, std::string_view key, std::initializer_list<const char*> choices);
  void add(const Settings& more) { settings_.insert(settings_.end(), more.begin(), more.end()); }
  /// \returns what was set since the last call
  Settings take() { return std::exchange(settings_, {}); }

 private:
  DrawStream draw_;
  Settings settings_;
};

/// Graphs that jobs learn from.
enum class GraphOf : std::uint8_t {
  several_types,  ///< customers with four classes, products and shops
  one_type,       ///< nodes with four classes
  two_classes,    ///< of nodes of one type
  links,          ///< Cora
  triples,        ///< a knowledge graph
  relations       ///< the same, whose relations are classes of edges
};

/// Files that jobs name.
struct FilesOfJobs {
  Settings links;          ///< keys of a job that learns links of Cora
  Settings candidates;     ///< keys of files of candidates and false links for these
  std::string ids, times;  ///< seeds of nodes, some of them twice, and a time for each
};

/// Settings of a job whose results no layout changes.
Settings draw_job(Drawn& drawn, GraphOf graph, const FilesOfJobs& files);
/// Hosts, ranks on each, parts and their order.
Settings draw_place(Drawn& drawn, std::uint32_t ranks);
/// Batches in flight, threads, latency, copies of lists and rows, and what is cached.
Settings draw_tuning(Drawn& drawn);
/// Devices that ranks compute on, and where the rows and lists for them lie.
Settings draw_devices(Drawn& drawn);
/// Processes that only sample.
Settings draw_placement(Drawn& drawn, std::uint32_t ranks);

}  // namespace troupe::testing
