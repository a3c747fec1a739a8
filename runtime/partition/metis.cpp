#include "runtime/partition/metis.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <limits>
#include <mutex>

#ifdef TROUPE_HAVE_METIS
#include <metis.h>
#endif

namespace troupe {
namespace {

constexpr auto largest_index = static_cast<std::uint64_t>(std::numeric_limits<std::int32_t>::max());

Status check_options(const MethodOptions& options) {
  if (options.objective != "cut" && options.objective != "volume") {
    return Error(Errc::invalid_argument,
                 fmt::format("metis: expected the objective \"cut\" or \"volume\", got \"{}\"",
                             options.objective));
  }
  if (options.recursive && options.objective == "volume") {
    return Error(Errc::invalid_argument,
                 "metis: expected the objective \"cut\" with recursive bisection, got "
                 "\"volume\"\ntry: k-way");
  }
  return ok_status();
}

#ifdef TROUPE_HAVE_METIS

static_assert(sizeof(idx_t) == 4, "Debian's METIS has 32-bit indices");

/// Graphs below this are cut several times by default and the best cut counts: one try of METIS 5.1
/// is up to 25 % off the median.
constexpr std::size_t few_entries = std::size_t{1} << 24;
constexpr std::uint32_t tries_of_few_entries = 4;

idx_t number_of_tries(const MethodOptions& options, std::size_t entries) {
  if (options.tries > 0) {
    return static_cast<idx_t>(options.tries);
  }
  const bool several = entries < few_entries && !options.recursive;
  return static_cast<idx_t>(several ? tries_of_few_entries : 1);
}

WeightedGraph convert(const Adjacency& graph, const Constraints& constraints) {
  WeightedGraph result;
  result.offsets.reserve(graph.vertices() + 1);
  result.neighbours.reserve(graph.entries());
  result.edge_weights.reserve(graph.entries());
  result.offsets.push_back(0);
  std::vector<std::uint64_t> weights(constraints.size());
  std::vector<idx_t> list;
  for (std::uint64_t v = 0; v < graph.vertices(); ++v) {
    list.clear();
    graph.for_each_neighbour(v, [&](std::uint64_t u) { list.push_back(static_cast<idx_t>(u)); });
    std::ranges::sort(list);
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (i > 0 && list[i] == list[i - 1]) {
        ++result.edge_weights.back();
      } else {
        result.neighbours.push_back(list[i]);
        result.edge_weights.push_back(1);
      }
    }
    result.offsets.push_back(static_cast<idx_t>(result.neighbours.size()));
    constraints.weights(v, weights);
    for (const auto weight : weights) {
      result.vertex_weights.push_back(static_cast<idx_t>(weight));
    }
  }
  return result;
}

Error metis_error(int code) {
  if (code == METIS_ERROR_MEMORY) {
    return {Errc::out_of_memory, "metis: memory is exhausted\ntry: \"multilevel\" or \"fennel\""};
  }
  return {Errc::internal, fmt::format("metis: failed with code {}", code)};
}

Result<std::vector<std::uint32_t>> run_metis(WeightedGraph& graph, std::size_t constraints,
                                             const AssignOptions& options) {
  idx_t settings[METIS_NOPTIONS];
  METIS_SetDefaultOptions(settings);
  settings[METIS_OPTION_NUMBERING] = 0;
  settings[METIS_OPTION_SEED] = static_cast<idx_t>(options.seed % largest_index);
  settings[METIS_OPTION_NCUTS] = number_of_tries(options.more, graph.neighbours.size());
  if (!options.more.recursive) {
    settings[METIS_OPTION_OBJTYPE] =
        options.more.objective == "volume" ? METIS_OBJTYPE_VOL : METIS_OBJTYPE_CUT;
  }
  auto vertices = static_cast<idx_t>(graph.offsets.size() - 1);
  auto weights = static_cast<idx_t>(constraints);
  auto parts = static_cast<idx_t>(options.parts);
  // Exactly 1 is no tolerance that METIS takes.
  std::vector<real_t> imbalance(
      constraints, std::max(static_cast<real_t>(options.more.imbalance), real_t{1.001F}));
  idx_t objective = 0;
  std::vector<idx_t> part_of(graph.offsets.size() - 1);
  graph.neighbours.reserve(1);  // METIS wants addresses, also of nothing
  graph.edge_weights.reserve(1);
  // METIS draws from the C library's generator, one for the whole process.
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const auto call = options.more.recursive ? METIS_PartGraphRecursive : METIS_PartGraphKway;
  const int code = call(&vertices, &weights, graph.offsets.data(), graph.neighbours.data(),
                        graph.vertex_weights.data(), nullptr, graph.edge_weights.data(), &parts,
                        nullptr, imbalance.data(), settings, &objective, part_of.data());
  if (code != METIS_OK) {
    return metis_error(code);
  }
  return std::vector<std::uint32_t>(part_of.begin(), part_of.end());
}

#endif

}  // namespace

Status check_metis_built(std::string_view method) {
#ifdef TROUPE_HAVE_METIS
  static_cast<void>(method);
  return ok_status();
#else
  return Error(Errc::unimplemented,
               fmt::format("partition method \"{}\": this program was built without METIS\ntry: "
                           "install libmetis-dev and build again, or \"fennel\"",
                           method));
#endif
}

Status check_metis_index(std::string_view method, std::uint64_t number, std::string_view what) {
  if (number <= largest_index) {
    return ok_status();
  }
  return Error(Errc::unimplemented,
               fmt::format("{}: expected at most {} {} (METIS' indices have 32 bits), found {}\n"
                           "try: {}\"fennel\"",
                           method, largest_index, what, number,
                           method == "metis" ? "\"multilevel\" or " : ""));
}

Result<std::vector<std::uint32_t>> cut_weighted_graph(WeightedGraph& graph, std::size_t constraints,
                                                      const AssignOptions& options) {
  TROUPE_RETURN_IF_ERROR(check_options(options.more));
#ifdef TROUPE_HAVE_METIS
  if (options.parts == 1 || graph.offsets.size() == 1) {
    return std::vector<std::uint32_t>(graph.offsets.size() - 1, 0);
  }
  return run_metis(graph, constraints, options);
#else
  static_cast<void>(graph);
  static_cast<void>(constraints);
  return check_metis_built(options.method).error();
#endif
}

Result<std::vector<std::uint32_t>> assign_metis(const Adjacency& graph,
                                                const Constraints& constraints,
                                                const AssignOptions& options) {
  TROUPE_RETURN_IF_ERROR(check_options(options.more));
#ifdef TROUPE_HAVE_METIS
  TROUPE_RETURN_IF_ERROR(check_metis_index("metis", graph.vertices(), "vertices"));
  TROUPE_RETURN_IF_ERROR(check_metis_index("metis", graph.entries(), "neighbour entries"));
  for (std::size_t c = 0; c < constraints.size(); ++c) {
    TROUPE_RETURN_IF_ERROR(check_metis_index("metis", constraints.total(c), constraints.name(c)));
  }
  auto converted = convert(graph, constraints);
  return cut_weighted_graph(converted, constraints.size(), options);
#else
  static_cast<void>(graph);
  static_cast<void>(constraints);
  return check_metis_built(options.method).error();
#endif
}

}  // namespace troupe
