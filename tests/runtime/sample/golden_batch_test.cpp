#include "tests/runtime/sample/drive.hpp"

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace troupe {
namespace {

/// Twelve nodes. Node 0 has in-edges from all others, node 1 a self loop and two parallel
/// edges, 2..9 a ring with chords, 10 one in-edge, 11 none.
testing::TestGraph small_graph() {
  std::vector<testing::TestEdge> edges;
  for (std::uint64_t i = 11; i > 0; --i) {
    edges.push_back({i, 0});
  }
  edges.insert(edges.end(), {{1, 1}, {2, 1}, {2, 1}, {9, 10}});
  for (std::uint64_t i = 2; i < 10; ++i) {
    const std::uint64_t place = i - 2;
    edges.push_back({2 + (place + 1) % 8, i});
    edges.push_back({2 + (place + 3) % 8, i});
    edges.push_back({2 + (place + 6) % 8, i});
  }
  return testing::plain_graph(12, std::move(edges));
}

std::string small_batches() {
  const auto graph = small_graph();
  std::string text =
      "# Batches of the graph in golden_batch_test.cpp, by original ids; job seed 42. Written by "
      "the test.\nin-lists:\n";
  const auto whole = testing::cut_graph(graph, 1);
  for (std::uint64_t node = 0; node < 12; ++node) {
    const auto& lists = whole.parts[0]->edges[0].in;
    const std::uint64_t local = raw(whole.global(node));
    text += fmt::format("  {}:", node);
    for (auto e = lists.offsets[local]; e < lists.offsets[local + 1]; ++e) {
      text += fmt::format(" {} (edge {})", whole.original(lists.neighbours[e]), lists.edge_ids[e]);
    }
    text += '\n';
  }
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
  return text;
}

TEST(GoldenBatches, AreWhatTheyAlwaysWere) {
  const std::string path = std::string(TROUPE_SOURCE_DIR) + "/tests/goldens/batches/small.txt";
  const std::string now = small_batches();
  if (std::getenv("TROUPE_UPDATE_GOLDENS") != nullptr) {
    std::ofstream(path) << now;
  }

  std::ifstream file(path);
  ASSERT_TRUE(file.good()) << path << " is missing; TROUPE_UPDATE_GOLDENS=1 writes it";
  std::ostringstream golden;
  golden << file.rdbuf();

  EXPECT_EQ(now, golden.str()) << "a change of what is drawn raises sampling_version";
}

}  // namespace
}  // namespace troupe
