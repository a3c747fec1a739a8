#include "runtime/base/permutation.hpp"
#include "runtime/sample/seed_order.hpp"
#include "tests/runtime/sample/drive_links.hpp"
#include "tests/runtime/sample/drive_walks.hpp"
#include "tests/runtime/sample/golden_graphs.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace troupe {
namespace {

using testing::add_golden_weights;
using testing::CutGraph;
using testing::hetero_graph;
using testing::small_graph;
using testing::TestGraph;

/// The lists of an edge type's destinations, as parts store them.
std::string in_lists_text(const CutGraph& whole, const TestGraph& graph, std::size_t e) {
  const auto& type = graph.edges[e];
  const auto& lists = whole.parts[0]->edges[e].in;
  std::string text;
  for (std::uint64_t node = 0; node < graph.nodes[type.destination].count; ++node) {
    const std::uint64_t local = raw(whole.global(node, type.destination)) -
                                raw(whole.parts[0]->nodes[type.destination].first);
    text += fmt::format("  {}:", node);
    for (auto at = lists.offsets[local]; at < lists.offsets[local + 1]; ++at) {
      text += fmt::format(" {} (edge {})", whole.original(lists.neighbours[at], type.source),
                          lists.edge_ids[at]);
    }
    text += '\n';
  }
  return text;
}

std::string small_batches() {
  const auto graph = small_graph();
  std::string text =
      "# Batches of the graph in golden_batch_test.cpp, by original ids; job seed 42. Written by "
      "the test.\nin-lists:\n" +
      in_lists_text(testing::cut_graph(graph, 1), graph, 0);
  const auto cut = testing::cut_graph(graph, 3);
  const auto add = [&](const std::string& title, const SampleOptions& options, BatchKey key,
                       const std::vector<std::uint64_t>& seeds) {
    text += "\n" + title + ", seeds " + testing::list_text(seeds) + "\n" +
            testing::text_of(testing::drive_plain(cut, options, key, seeds));
  };
  auto options = testing::fanouts({4, 2});
  add("fanout 4 2, epoch 0, batch 0", options, {}, {0, 1, 11, 0});
  add("fanout 4 2, epoch 1, batch 0", options, {.epoch = 1}, {0, 1, 11, 0});
  add("fanout 4 2, epoch 0, batch 2^32 + 1", options, {.number = (std::uint64_t{1} << 32) + 1},
      {0});
  add("fanout 4 2, evaluation", options, {.purpose = Purpose::evaluate}, {0});
  options.frontier = Frontier::all;
  add("fanout 4 2, frontier all", options, {}, {0, 10});
  options = testing::fanouts({3, 3});
  options.replace = true;
  add("fanout 3 3, with replacement", options, {}, {0, 10});
  options = testing::fanouts({2, -1});
  options.dir = EdgeDir::out;
  add("fanout 2 all, outwards", options, {}, {5, 11});
  options = testing::fanouts({10, 3});  // more words than a block of Philox has
  add("fanout 10 3, epoch 2, batch 7", options, {.epoch = 2, .number = 7}, {0});
  options.replace = true;
  add("fanout 10 3, epoch 2, batch 7, with replacement", options, {.epoch = 2, .number = 7}, {0});
  return text;
}

/// The small graph with weights.
std::string weighted_batches() {
  auto graph = small_graph();
  add_golden_weights(graph.edges[0]);
  const auto& weights = graph.edges[0].weights;
  std::string text =
      "# Batches by weight of the graph in golden_batch_test.cpp, by original ids; job seed 42. "
      "Written by the test.\nin-lists:\n" +
      in_lists_text(testing::cut_graph(graph, 1), graph, 0) +
      "weights: " + testing::list_text(weights) + "\n";
  const auto add = [&](const std::string& title, SampleOptions options, BatchKey key,
                       const std::vector<std::uint64_t>& seeds) {
    options.choice = place_of_kind(choice_kinds(), "weighted");
    auto cut = testing::cut_graph(graph, 3);
    testing::add_alias_tables(cut, options.dir);
    text += "\n" + title + ", by weight, seeds " + testing::list_text(seeds) + "\n" +
            testing::text_of(testing::drive_plain(cut, options, key, seeds));
  };
  auto options = testing::fanouts({4, 2});
  add("fanout 4 2, epoch 0, batch 0", options, {}, {0, 1, 11, 0});
  add("fanout 4 2, epoch 1, batch 9", options, {.epoch = 1, .number = 9}, {0, 2, 3, 4, 5});
  add("fanout 4 2, evaluation", options, {.purpose = Purpose::evaluate}, {0});
  options.frontier = Frontier::all;
  add("fanout 4 2, frontier all", options, {}, {0, 10});
  options = testing::fanouts({3, 3});
  options.replace = true;
  add("fanout 3 3, with replacement", options, {}, {0, 1, 10});
  options = testing::fanouts({2, -1});
  options.dir = EdgeDir::out;
  add("fanout 2 all, outwards", options, {}, {5, 11});
  add("fanout 8 3, epoch 2, batch 7", testing::fanouts({8, 3}), {.epoch = 2, .number = 7}, {0});
  return text;
}

/// Disjoint batches of the small graph.
std::string disjoint_batches() {
  const auto graph = small_graph();
  std::string text =
      "# Disjoint batches of the graph in golden_batch_test.cpp, by original ids; job seed 42. "
      "Written "
      "by the test.\nin-lists:\n" +
      in_lists_text(testing::cut_graph(graph, 1), graph, 0);
  const auto cut = testing::cut_graph(graph, 3);
  const auto add = [&](const std::string& title, SampleOptions options, BatchKey key,
                       const std::vector<std::uint64_t>& seeds) {
    options.disjoint = true;
    text += "\n" + title + ", disjoint, seeds " + testing::list_text(seeds) + "\n" +
            testing::text_of(testing::drive_plain(cut, options, key, seeds));
  };
  auto options = testing::fanouts({4, 2});
  add("fanout 4 2, epoch 0, batch 0", options, {}, {0, 1, 0});
  add("fanout 4 2, evaluation", options, {.purpose = Purpose::evaluate}, {0, 0});
  options.frontier = Frontier::all;
  add("fanout 4 2, frontier all", options, {}, {10, 0});
  options = testing::fanouts({3, 3});
  options.replace = true;
  add("fanout 3 3, with replacement", options, {}, {10, 0});
  return text;
}

/// The small graph with times of edges, many of them the same.
std::string temporal_batches() {
  auto graph = small_graph();
  testing::add_times(graph.edges[0]);
  std::string text =
      "# Temporal batches of the graph in golden_batch_test.cpp, by original ids; job seed 42. "
      "Written "
      "by the test.\nin-lists:\n" +
      in_lists_text(testing::cut_graph(graph, 1), graph, 0) +
      "times: " + testing::list_text(graph.edges[0].times) + "\n";
  const auto cut = testing::cut_graph(graph, 3);
  const auto add = [&](const std::string& title, SampleOptions options, BatchKey key,
                       const std::vector<std::uint64_t>& seeds,
                       const std::vector<std::int64_t>& times) {
    options.disjoint = true;
    text += fmt::format("\n{}, disjoint, {} times {}, window {}, seeds {}\n", title,
                        options.time->inclusive ? "up to" : "before", testing::list_text(times),
                        options.time->window, testing::list_text(seeds)) +
            testing::text_of(testing::drive_plain(cut, options, key, seeds, 0,
                                                  testing::Arrival::in_order, times));
  };
  constexpr std::int64_t step = std::int64_t{1} << 33;
  auto options = testing::fanouts({4, 2});
  options.time.emplace();
  add("fanout 4 2, epoch 0, batch 0", options, {}, {0, 1, 0}, {6 * step, 100 * step, 2 * step});
  add("fanout 4 2, evaluation", options, {.purpose = Purpose::evaluate}, {0, 0}, {-3, 0});
  options.time = {.inclusive = true, .window = 5 * step};
  add("fanout 4 2, epoch 1, batch 3", options, {.epoch = 1, .number = 3}, {0, 10},
      {7 * step, 3 * step});
  options.frontier = Frontier::all;
  add("fanout 4 2, frontier all", options, {}, {0, 10}, {9 * step, 9 * step});
  options = testing::fanouts({3, 2});
  options.time.emplace();
  options.choice = place_of_kind(choice_kinds(), "last");
  add("fanout 3 2, last", options, {}, {0, 1, 10}, {5 * step, 5 * step, 12 * step});
  return text;
}

/// The small graph with weights and times of edges.
std::string weighted_temporal_batches() {
  auto graph = small_graph();
  testing::add_times(graph.edges[0]);
  add_golden_weights(graph.edges[0]);
  std::string text =
      "# Temporal batches by weight of the graph in golden_batch_test.cpp, by original ids; job "
      "seed "
      "42. Written by the test.\nin-lists:\n" +
      in_lists_text(testing::cut_graph(graph, 1), graph, 0) +
      "weights: " + testing::list_text(graph.edges[0].weights) +
      "\ntimes: " + testing::list_text(graph.edges[0].times) + "\n";
  auto cut = testing::cut_graph(graph, 3);
  testing::add_alias_tables(cut, EdgeDir::in);
  const auto add = [&](const std::string& title, SampleOptions options,
                       const std::vector<std::uint64_t>& seeds,
                       const std::vector<std::int64_t>& times) {
    options.disjoint = true;
    options.choice = place_of_kind(choice_kinds(), "weighted");
    text += fmt::format("\n{}, by weight, disjoint, {} times {}, window {}, seeds {}\n", title,
                        options.time->inclusive ? "up to" : "before", testing::list_text(times),
                        options.time->window, testing::list_text(seeds)) +
            testing::text_of(testing::drive_plain(cut, options, {}, seeds, 0,
                                                  testing::Arrival::in_order, times));
  };
  constexpr std::int64_t step = std::int64_t{1} << 33;
  auto options = testing::fanouts({4, 2});
  options.time.emplace();
  add("fanout 4 2, epoch 0, batch 0", options, {0, 1, 0}, {6 * step, 100 * step, 2 * step});
  options.time = {.inclusive = true, .window = 9 * step};
  add("fanout 4 2, epoch 0, batch 0", options, {0, 10}, {12 * step, 3 * step});
  options.replace = true;
  add("fanout 4 2, with replacement", options, {0, 1, 10}, {9 * step, 9 * step, 12 * step});
  return text;
}

/// The lists of all edge types.
std::string typed_in_lists_text(const TestGraph& graph) {
  const auto whole = testing::cut_graph(graph, 1);
  std::string text;
  for (std::size_t e = 0; e < graph.edges.size(); ++e) {
    text += fmt::format("in-lists of edge type {}, node types {} to {}:\n", e,
                        graph.edges[e].source, graph.edges[e].destination) +
            in_lists_text(whole, graph, e);
  }
  return text;
}

std::string hetero_batches() {
  const auto graph = hetero_graph();
  std::string text =
      "# Batches of the heterogeneous graph in golden_batch_test.cpp, by original ids; job seed "
      "42. Written by the test.\n" +
      typed_in_lists_text(graph);
  const auto cut = testing::cut_graph(graph, 3);
  SampleOptions options{
      .fanout = {{3, 2, 4, 1}, {2, -1, 1, 2}}, .edge_data = {.edge_ids = true}, .job_seed = 42};
  const std::string fanouts = "fanout 3 2 / 2 all / 4 1 / 1 2";
  const auto add = [&](const std::string& more, BatchKey key, std::uint16_t seed_type,
                       const std::vector<std::uint64_t>& seeds) {
    text += fmt::format("\n{}{}, seed type {}, seeds {}\n", fanouts, more, seed_type,
                        testing::list_text(seeds)) +
            testing::text_of(testing::drive_plain(cut, options, key, seeds, seed_type));
  };
  add(", epoch 0, batch 0", {}, 1, {0, 8, 0, 3});
  add(", epoch 3, batch 5", {.epoch = 3, .number = 5}, 0, {2, 5});
  options.frontier = Frontier::all;
  add(", frontier all", {}, 1, {0, 4});
  options.frontier = Frontier::fresh;
  options.dir = EdgeDir::out;
  add(", outwards", {}, 2, {1});
  return text;
}

/// LABOR batches of the heterogeneous graph.
std::string labor_batches() {
  const auto graph = hetero_graph();
  std::string text =
      "# LABOR batches of the heterogeneous graph in golden_batch_test.cpp, by original ids; job "
      "seed 42. Written by the test.\n" +
      typed_in_lists_text(graph);
  SampleOptions options{.fanout = {{3, 2, 4, 1}, {2, -1, 1, 2}},
                        .choice = place_of_kind(choice_kinds(), "labor"),
                        .edge_data = {.edge_ids = true},
                        .job_seed = 42};
  const auto add = [&](const std::string& more, BatchKey key, std::uint16_t seed_type,
                       const std::vector<std::uint64_t>& seeds) {
    auto cut = testing::cut_graph(graph, 3);
    testing::add_neighbour_originals(cut, options.dir);
    text += fmt::format("\nfanout 3 2 / 2 all / 4 1 / 1 2, labor{}, seed type {}, seeds {}\n", more,
                        seed_type, testing::list_text(seeds)) +
            testing::text_of(testing::drive_plain(cut, options, key, seeds, seed_type));
  };
  add(", epoch 0, batch 0", {}, 1, {0, 8, 0, 3});
  options.shared = true;
  add(", shared, epoch 3, batch 5", {.epoch = 3, .number = 5}, 1, {0, 5, 4});
  options.frontier = Frontier::all;
  options.disjoint = true;
  add(", shared, frontier all, disjoint", {}, 1, {0, 4});
  options = {.fanout = options.fanout,
             .choice = options.choice,
             .edge_data = options.edge_data,
             .dir = EdgeDir::out,
             .job_seed = 42};
  add(", outwards", {}, 2, {1});
  return text;
}

/// Batches of the heterogeneous graph with more edges than are drawn.
std::string subgraph_batches() {
  const auto graph = hetero_graph();
  std::string text =
      "# Batches with reverse or all edges of the heterogeneous graph in golden_batch_test.cpp, by "
      "original ids; job seed 42. Written by the test.\n" +
      typed_in_lists_text(graph);
  const auto cut = testing::cut_graph(graph, 3);
  SampleOptions options{
      .fanout = {{3, 2, 4, 0}, {2, -1, 1, 0}}, .edge_data = {.edge_ids = true}, .job_seed = 42};
  options.reverse_of = {EdgeTypeId{1}, EdgeTypeId{0}, EdgeTypeId{2}, std::nullopt};
  const auto add = [&](const std::string& more, const std::vector<std::uint64_t>& seeds) {
    const bool induced = options.subgraph == Subgraph::induced;
    text += fmt::format(
                "\nfanout 3 2 / 2 all / 4 1 / 0 0, {}{}, epoch 0, batch 0, seed type 1, seeds {}\n",
                induced ? "induced" : "reversed types 1 0 2 -1", more, testing::list_text(seeds)) +
            testing::text_of(testing::drive_plain(cut, options, {}, seeds, 1));
  };
  for (const auto subgraph : {Subgraph::induced, Subgraph::bidirectional}) {
    options.subgraph = subgraph;
    options.frontier = Frontier::fresh;
    options.disjoint = false;
    options.dir = EdgeDir::in;
    add("", {0, 8, 0});
    options.disjoint = true;
    add(", disjoint", {0, 8, 0});
    options.disjoint = false;
    options.frontier = Frontier::all;
    add(", frontier all", {2, 5});
    options.dir = EdgeDir::out;
    add(", frontier all, outwards", {7});
  }
  return text;
}

/// Random walks on the heterogeneous graph.
std::string walks() {
  const auto graph = hetero_graph();
  std::string text =
      "# Walks on the heterogeneous graph in golden_batch_test.cpp, by original ids, -1 where "
      "there "
      "is no node; job seed 42. Written by the test.\n" +
      typed_in_lists_text(graph);
  const auto cut = testing::cut_graph(graph, 3);
  const auto add = [&](const std::string& title, const WalkOptions& of_walks, EdgeDir dir,
                       BatchKey key, const std::vector<std::uint64_t>& seeds) {
    SampleOptions options{.dir = dir, .walks = of_walks, .job_seed = 42};
    const auto plain = testing::walk_plain(cut, options, key, seeds);
    text += fmt::format("\n{}, steps {}, walks of a seed {}, restart below {}", title,
                        of_walks.length, of_walks.per_seed, of_walks.restart_below);
    if (const auto& second = of_walks.second_order) {
      text += fmt::format(", thresholds {} {} {}", second->back, second->near, second->far);
    }
    std::vector<std::uint16_t> along;
    std::ranges::transform(of_walks.along, std::back_inserter(along),
                           [](auto t) { return raw(t); });
    text +=
        fmt::format(", along {}, seeds {}\n", testing::list_text(along), testing::list_text(seeds));
    const auto columns = of_walks.length + std::size_t{1};
    for (std::size_t first = 0; first < plain.nodes.size(); first += columns) {
      text += "walk";
      for (std::size_t at = first; at < first + columns; ++at) {
        const bool none = plain.nodes[at] == testing::no_original;
        text += none ? " -1" : fmt::format(" {}", plain.nodes[at]);
      }
      text += "\n";
    }
    text += fmt::format("restarts {}\nundecided {}\n", testing::list_text(plain.restarts),
                        plain.undecided);
    for (std::size_t t = 0; t < plain.originals.size(); ++t) {
      text += fmt::format("nodes {}: {}\n", t, testing::list_text(plain.originals[t]));
    }
  };
  constexpr EdgeTypeId writes{0};
  constexpr EdgeTypeId written_by{1};
  constexpr EdgeTypeId cites{2};
  add("epoch 0, batch 0", {.length = 6, .along = {cites}}, EdgeDir::in, {}, {0, 8, 0, 3});
  add("epoch 3, batch 5", {.length = 8, .per_seed = 2, .restart_below = 1U << 30, .along = {cites}},
      EdgeDir::in, {.epoch = 3, .number = 5}, {0, 7});
  add("epoch 0, batch 1, outwards",
      {.length = 7, .restart_below = 1U << 31, .along = {written_by, writes}}, EdgeDir::out,
      {.number = 1}, {0, 4});
  add("evaluation, epoch 0, batch 0",
      {.length = 9,
       .per_seed = 2,
       .restart_below = 1U << 28,
       .along = {cites},
       .second_order = candidate_thresholds(8, 0.5)},
      EdgeDir::in, {.purpose = Purpose::evaluate}, {0, 8, 2});
  return text;
}

/// Batches of links of the heterogeneous graph, between two node types and within one.
std::string link_batches() {
  const auto graph = hetero_graph();
  std::string text =
      "# Batches of links of the graphs in golden_batch_test.cpp, by original ids; job seed 42. "
      "Written by the test.\n" +
      typed_in_lists_text(graph);
  const auto cut = testing::cut_graph(graph, 3);
  const auto add = [&](const std::string& more, const SampleOptions& options, BatchKey key,
                       const testing::PlainLinks& links) {
    const auto& negatives = options.links->negatives;
    const bool exclude = options.links->exclude;
    const auto& reverse = options.links->reverse;
    const bool binary = negatives.kind == Negatives::binary;
    text += fmt::format("\nfanout 3 2 / 2 all / 4 1 / 1 2{}, links of type {}, {} {} tries {}",
                        more, links.edge_type, binary ? "binary" : "triplet",
                        negatives.per_positive, negatives.strict ? negatives.tries : 1);
    text += negatives.strict ? ", strict" : "";
    text += exclude ? fmt::format(", excluded with type {}", reverse ? raw(*reverse) : 99) : "";
    text += ", links";
    for (const auto& [source, destination] : links.links) {
      text += fmt::format(" {}>{}", source, destination);
    }
    text += "\n" +
            testing::text_of(testing::plain(testing::drive_links(cut, options, key, links), cut));
  };
  SampleOptions options{
      .fanout = {{3, 2, 4, 1}, {2, -1, 1, 2}}, .edge_data = {.edge_ids = true}, .job_seed = 42};
  options.links = LinkOptions{
      .negatives = {.kind = Negatives::binary, .per_positive = 2, .strict = true, .tries = 3},
      .reverse = EdgeTypeId{1}};
  const testing::PlainLinks writes{.edge_type = 0, .links = {{6, 0}, {6, 3}, {0, 0}, {2, 8}}};
  add(", epoch 0, batch 0", options, {}, writes);
  options.frontier = Frontier::all;
  add(", frontier all, epoch 3, batch 5", options, {.epoch = 3, .number = 5}, writes);
  options.frontier = Frontier::fresh;
  options.dir = EdgeDir::out;
  add(", outwards", options, {}, writes);
  options.dir = EdgeDir::in;
  options.disjoint = true;
  options.links->negatives = {.kind = Negatives::triplet, .per_positive = 3};
  add(", disjoint", options, {}, writes);
  options.disjoint = false;
  options.links->exclude = false;
  add(", nothing left out", options, {}, writes);
  options.links->exclude = true;
  options.links->reverse = EdgeTypeId{2};
  add(", within a type", options, {}, {.edge_type = 2, .links = {{8, 0}, {0, 0}, {4, 0}}});
  options.links->negatives = {
      .kind = Negatives::binary, .per_positive = 3, .by_degree = true, .strict = true, .tries = 2};
  add(", within a type, by degree, epoch 0, batch 1", options, {.number = 1},
      {.edge_type = 2, .links = {{8, 0}, {0, 0}, {4, 0}}});
  return text;
}

std::string seed_orders() {
  std::string text =
      "# Positions in the sorted list of seeds; job seed 42. Written by golden_batch_test.cpp.\n";
  const auto add = [&](const std::string& title, const SeedOrder& order, std::uint32_t epoch) {
    text += fmt::format("\n{}\n", title);
    for (std::uint64_t b = 0; b < order.num_batches(); ++b) {
      text += fmt::format("batch {}: {}\n", b, testing::list_text(order.positions(epoch, b)));
    }
  };
  const auto seeds_of = [](std::uint64_t count, std::uint16_t node_type) {
    auto list = std::make_shared<SeedList>();
    list->node_type = static_cast<NodeTypeId>(node_type);
    list->original.resize(count);
    list->global.resize(count);
    return list;
  };
  const auto add_global = [&](std::uint64_t count, std::uint64_t batch_size, std::uint16_t type,
                              std::uint32_t epoch) {
    add(fmt::format("global, {} seeds of node type {}, batch size {}, epoch {}", count, type,
                    batch_size, epoch),
        SeedOrder(seeds_of(count, type), batch_size, 42, /*shuffle=*/true), epoch);
  };
  add_global(1, 4, 0, 0);
  add_global(11, 4, 0, 0);
  add_global(11, 4, 0, 1);
  add_global(11, 4, 3, 1);
  add_global(16, 16, 0, 0);  // all numbers of 4 bits: no cycle is walked
  add_global(17, 17, 0, 0);
  add_global(140, 80, 0, 0);
  add("local, shares 1 4 6 8 | 0 2 7 | 3 5 9, node type 0, batch size 2, epoch 2",
      SeedOrder(seeds_of(10, 0), 2, 42, true, SeedShares{{1, 4, 6, 8}, {0, 2, 7}, {3, 5, 9}}), 2);
  const std::uint64_t many = (std::uint64_t{1} << 40) + 3;
  const Permutation order(stream_key(42, {.domain = Domain::seed_order}), many);
  std::vector<std::uint64_t> places;
  for (std::uint64_t i = 0; i < 8; ++i) {
    places.push_back(order(i));
  }
  text += fmt::format(
      "\nglobal, {} seeds of node type 0, batch size 8, epoch 0, first batch\nbatch 0: {}\n", many,
      testing::list_text(places));
  return text;
}

/// Compares with the file, or writes it if TROUPE_UPDATE_GOLDENS is set.
void expect_golden_text(const std::string& name, const std::string& now) {
  const std::string path = std::string(TROUPE_SOURCE_DIR) + "/tests/goldens/batches/" + name;
  if (std::getenv("TROUPE_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path) << now;
  }

  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << " is missing; TROUPE_UPDATE_GOLDENS=1 writes it";
  std::ostringstream golden;
  golden << file.rdbuf();

  EXPECT_EQ(now, golden.str()) << "a change of what is drawn raises sampling_version";
}

TEST(GoldenBatches, AreWhatTheyAlwaysWere) {
  expect_golden_text("small.txt", small_batches());
}

TEST(GoldenBatches, ByWeightAreWhatTheyAlwaysWere) {
  expect_golden_text("weighted.txt", weighted_batches());
}

TEST(GoldenBatches, DisjointOnesAreWhatTheyAlwaysWere) {
  expect_golden_text("disjoint.txt", disjoint_batches());
}

TEST(GoldenBatches, TemporalOnesAreWhatTheyAlwaysWere) {
  expect_golden_text("temporal.txt", temporal_batches());
}

TEST(GoldenBatches, ByWeightAmongTimesAreWhatTheyAlwaysWere) {
  expect_golden_text("weighted_temporal.txt", weighted_temporal_batches());
}

TEST(GoldenBatches, OfLinksAreWhatTheyAlwaysWere) {
  expect_golden_text("links.txt", link_batches());
}

TEST(GoldenBatches, OfLaborAreWhatTheyAlwaysWere) {
  expect_golden_text("labor.txt", labor_batches());
}

TEST(GoldenBatches, WithReverseOrAllEdgesAreWhatTheyAlwaysWere) {
  expect_golden_text("subgraph.txt", subgraph_batches());
}

TEST(GoldenBatches, OfWalksAreWhatTheyAlwaysWere) {
  expect_golden_text("walks.txt", walks());
}

TEST(GoldenBatches, OfHeterogeneousGraphsAreWhatTheyAlwaysWere) {
  expect_golden_text("hetero.txt", hetero_batches());
}

TEST(GoldenBatches, HaveTheSeedsTheyAlwaysHad) {
  expect_golden_text("seed_orders.txt", seed_orders());
}

}  // namespace
}  // namespace troupe
