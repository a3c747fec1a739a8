// Outputs that are inferred on hosts come in one answer of each process: what does not fit is refused before.
#include "launcher/predict_rows.hpp"
#include "launcher/read_job.hpp"
#include "runtime/run/node_request.hpp"
#include "tests/sim/sim_support.hpp"
#include "tests/support/expect.hpp"
#include "tests/support/scratch_folder.hpp"

#include <memory>
#include <string>

namespace troupe {
namespace {

class InferenceAnswers : public ::testing::Test {
 protected:
  /// Embeddings of all 2,708 nodes of Cora, as often as said, in parts on as many hosts.
  Status check(const std::string& parts, int times) {
    TROUPE_ASSIGN_OR_RETURN(
        auto job,
        testing::cora_job(scratch_.path(), {"model.hidden=65536", "cluster.hosts=" + parts,
                                            "partition.parts=" + parts}));
    TROUPE_ASSIGN_OR_RETURN(const auto store, prepare_store(job, [](const std::string&) {}));
    EXPECT_TRUE(fit_to_graph_or_print(job, store.info()));
    TROUPE_ASSIGN_OR_RETURN(auto found, find_nodes(store, {.sources = {"all"}, .split = ""}));
    SeedList nodes = found.nodes;
    for (int i = 1; i < times; ++i) {
      nodes.global.insert(nodes.global.end(), found.nodes.global.begin(), found.nodes.global.end());
    }
    return check_answers(job, store, {{std::make_shared<const SeedList>(std::move(nodes))}, true});
  }

  testing::ScratchFolder scratch_;
};

TEST_F(InferenceAnswers, HoldTheOutputsOfAProcessOrAreRefusedWithTheirBytes) {
  EXPECT_OK(check("2", 1));
  EXPECT_OK(check("4", 16));
  const auto refused = check("2", 16);
  EXPECT_ERROR(refused, Errc::invalid_argument,
               "outputs of host 0: expected at most 4.0 GiB in one answer, found 5.");
  EXPECT_ERROR(refused, Errc::invalid_argument, "in 65536 columns\ntry: more parts or hosts");
}

}  // namespace
}  // namespace troupe
