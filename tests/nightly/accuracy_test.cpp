// Accuracy of the example jobs over several seeds, beside what PyTorch Geometric reaches with the
// same recipe (PyG 2.6.1, NeighborLoader training, SAGEConv mean, exact evaluation after every
// epoch, test score at the best validation epoch; mean and sample standard deviation over 5 seeds).
// A set passes if its mean is not below PyG's by more than two standard errors of the difference.
// If it misses, ten further seeds are run once and both results are printed.
#include "launcher/prepare_store.hpp"
#include "launcher/read_job.hpp"
#include "launcher/simulated_cluster.hpp"
#include "runtime/job/job_file.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <ostream>
#include <vector>

namespace troupe {
namespace {

struct Reference {
  std::string job;  ///< under examples/
  double mean;      ///< per cent
  double sd;
  double runs;
  std::uint32_t seeds;  ///< ours: 1..seeds
  friend void PrintTo(const Reference& reference, std::ostream* out) { *out << reference.job; }
};

struct Sample {
  double mean = 0;
  double sd = 0;
  std::size_t runs = 0;
};

Sample summarise(const std::vector<double>& scores) {
  Sample s;
  s.runs = scores.size();
  const auto n = static_cast<double>(s.runs);
  s.mean = std::accumulate(scores.begin(), scores.end(), 0.0) / n;
  double squares = 0;
  for (const double score : scores) {
    squares += (score - s.mean) * (score - s.mean);
  }
  s.sd = std::sqrt(squares / (n - 1));
  return s;
}

double least_mean(const Reference& reference, const Sample& ours) {
  return reference.mean - 2 * std::sqrt(reference.sd * reference.sd / reference.runs +
                                        ours.sd * ours.sd / static_cast<double>(ours.runs));
}

class Accuracy : public ::testing::TestWithParam<Reference> {
 protected:
  /// Test scores in per cent, one per seed in [first, first + count).
  std::vector<double> run(const std::string& name, std::uint32_t first, std::uint32_t count) {
    std::vector<double> scores;
    for (std::uint32_t seed = first; seed < first + count; ++seed) {
      const std::vector<std::string> overrides = {fmt::format("seed={}", seed),
                                                  "output=" + scratch_.path().string()};
      auto reading = read_job(
          std::filesystem::path(TROUPE_SOURCE_DIR) / "examples" / (name + ".json"), overrides);
      EXPECT_OK(reading);
      EXPECT_TRUE(reading && reading->problems.empty());
      auto& job = reading->job;
      const auto store = prepare_store(job, [](const std::string&) {});
      EXPECT_OK(store);
      EXPECT_TRUE(fit_to_graph_or_print(job, store->info()));
      const auto cluster = SimulatedCluster::create(job, *store, {});
      EXPECT_OK(cluster);
      const auto ended = (*cluster)->run();
      EXPECT_OK(ended);
      scores.push_back(100 * ended->record.test->by_name(job.eval.metric).value_or(0));
      fmt::print("{} seed {}: {:.2f}\n", name, seed, scores.back());
      std::fflush(stdout);
    }
    return scores;
  }
  testing::ScratchFolder scratch_;
};

TEST_P(Accuracy, IsNotBelowPyTorchGeometrics) {
  const auto& reference = GetParam();
  auto ours = summarise(run(reference.job, 1, reference.seeds));
  const auto print = [&] {
    fmt::print("{}: {:.2f} ± {:.2f} over {} seeds; PyG {:.2f} ± {:.2f}; at least {:.2f} wanted\n",
               reference.job, ours.mean, ours.sd, ours.runs, reference.mean, reference.sd,
               least_mean(reference, ours));
  };
  print();
  if (ours.mean < least_mean(reference, ours)) {
    ours = summarise(run(reference.job, reference.seeds + 1, 10));
    print();
  }

  EXPECT_GE(ours.mean, least_mean(reference, ours));
}

INSTANTIATE_TEST_SUITE_P(Examples, Accuracy,
                         ::testing::Values(Reference{"cora", 80.44, 0.95, 5, 10},
                                           Reference{"cora_gcn", 82.84, 0.50, 5, 10},
                                           Reference{"amazon_computers", 91.38, 0.16, 5, 5},
                                           Reference{"tolokers", 81.69, 0.19, 5, 5}),
                         [](const auto& instance) { return instance.param.job; });

}  // namespace
}  // namespace troupe
