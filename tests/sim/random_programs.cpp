// Programs of a user's own on the batches of random jobs.
#include "launcher/session_cluster.hpp"
#include "runtime/base/digest.hpp"
#include "tests/sim/random_jobs.hpp"
#include "tests/sim/session_support.hpp"
#include "tests/support/expect.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <string>
#include <utility>
#include <vector>

namespace troupe::testing {
namespace {

using namespace std::chrono_literals;

/// Learns the rows of each table, counts how often nodes are in batches, and keeps what all ranks add up.
class CountingProgram {
 public:
  explicit CountingProgram(const Job& job) {
    for (const auto& [type, table] : job.embedding) {
      tables_.push_back(type);
    }
  }

  Status operator()(Session& session) {
    TROUPE_ASSIGN_OR_RETURN(auto counts, session.make_tensor("counts", {.dtype = DType::i64}));
    TROUPE_ASSIGN_OR_RETURN(auto means,
                            session.make_tensor("means", {.of = TensorOf::rows, .rows = 3}));
    for (auto e = session.first_epoch(); e < session.epochs(); ++e) {
      for (const Batch& batch : session.epoch(e)) {
        for (const auto& type : tables_) {
          TROUPE_RETURN_IF_ERROR(learn(session, type, batch));
        }
        const auto& nodes = batch.sampled->nodes[0].ids;
        const std::vector<std::int64_t> ones(nodes.size(), 1);
        TROUPE_RETURN_IF_ERROR(counts.add(nodes, std::span<const std::int64_t>(ones)));
        std::vector<float> mean{static_cast<float>(batch.sampled->seed_index.size()),
                                static_cast<float>(nodes.size()), static_cast<float>(e)};
        TROUPE_RETURN_IF_ERROR(session.all_reduce_mean(mean, nodes.size()));
        if (session.rank() == Rank{0}) {
          TROUPE_RETURN_IF_ERROR(means.write(places_, std::span<const float>(mean)));
        }
        TROUPE_RETURN_IF_ERROR(session.end_step());
      }
      TROUPE_RETURN_IF_ERROR(session.status());
    }
    TROUPE_RETURN_IF_ERROR(session.barrier(20s));
    if (session.rank() == Rank{0}) {
      std::vector<OriginalId> original(session.graph().node_types[0].count);
      for (std::size_t i = 0; i < original.size(); ++i) {
        original[i] = static_cast<OriginalId>(i);
      }
      TROUPE_ASSIGN_OR_RETURN(const auto nodes, session.find_nodes(original));
      TROUPE_ASSIGN_OR_RETURN(const auto of_nodes, counts.read(nodes));
      TROUPE_ASSIGN_OR_RETURN(const auto last, means.read(places_));
      said_ = fmt::format("counts {}, means {}",
                          to_string(digest_of(std::as_bytes(of_nodes.as<std::int64_t>()))),
                          fmt::join(last.as<float>(), " "));
    }
    return session.barrier(20s);
  }

  /// Of rank 0, after the run.
  const std::string& said() const { return said_; }

 private:
  static Status learn(Session& session, const std::string& type, const Batch& batch) {
    const auto& types = session.graph().node_types;
    const auto at = static_cast<std::size_t>(std::ranges::find(types, type, &NodeTypeInfo::name) -
                                             types.begin());
    const auto& nodes = batch.sampled->nodes[at].ids;
    TROUPE_ASSIGN_OR_RETURN(auto table, session.embedding(type));
    TROUPE_ASSIGN_OR_RETURN(auto rows, table.rows(nodes));
    for (auto& value : rows.view().flat()) {
      value = 0.5F * value + 0.25F;
    }
    const auto terms = batch.sampled->seed_index.size();  // all tables have those of the loss
    return terms == 0 ? ok_status() : table.gradient(nodes, rows.view(), terms);
  }

  const std::vector<std::uint64_t> places_{0, 1, 2};
  std::vector<std::string> tables_;
  std::string said_;
};

/// An actor that is killed once rank 0 has made a step; none where its process has no such actor.
struct Victim {
  std::uint64_t step = 0;
  ProcessId process{};
  std::string name;
};

Victim draw_victim(Drawn& drawn, std::uint32_t ranks) {
  Victim victim;
  victim.step = 1 + drawn.below(8);
  victim.process = ProcessId{drawn.below(ranks)};
  victim.name =
      drawn.one_of({"holder of part", "holder of part", "sampler 0 of rank", "collector of rank"});
  victim.name += fmt::format(" {}", drawn.below(ranks));
  return victim;
}

/// \returns nothing: the job is refused
std::optional<Result<std::string>> results_of_program(std::optional<PreparedJob> prepared,
                                                      SessionSetup setup = {},
                                                      const Victim* victim = nullptr) {
  if (!prepared) {
    return std::nullopt;
  }
  CountingProgram program(prepared->job);
  SessionCluster* running = nullptr;
  if (victim != nullptr) {
    setup.on_step = [&](const StepReport& report) {
      if (report.global_step == victim->step) {
        static_cast<void>(running->cluster().kill(victim->process, victim->name));
      }
    };
  }
  auto cluster = SessionCluster::create(prepared->job, prepared->store, std::move(setup));
  if (!cluster) {
    expect_refused(cluster.error(), prepared->job);
    return std::nullopt;
  }
  running = cluster->get();
  (*cluster)->start([&program](Session& session) { return program(session); });
  const auto outcome = (*cluster)->wait();
  if (!outcome.status) {
    return Result<std::string>(outcome.status.error());
  }
  auto text = fmt::format("{} steps, batches {}", outcome.steps, to_string(outcome.batches));
  for (const auto& tensor : outcome.tensors) {
    text += fmt::format(", {} {}", tensor.name, to_string(tensor.rows));
  }
  return Result<std::string>(text + ", " + program.said());
}

}  // namespace

RandomJobs::Outcome RandomJobs::run_program(std::uint32_t number, std::string& why) const {
  Drawn drawn(number);
  auto picked = pick(drawn);
  if (drawn.once_in(6)) {
    picked.job.emplace_back("features.collect=false");
  }
  const auto results = [&](const Settings& layout, SessionSetup setup = {},
                           const Victim* victim = nullptr) {
    return results_of_program(prepared(picked.text, together(picked.job, layout), JobTrainer::own),
                              std::move(setup), victim);
  };
  const auto first = results(picked.alone);
  if (!first) {
    return Outcome::refused;
  }
  bool same = true;
  const auto check = [&](const Settings& layout, const std::optional<Result<std::string>>& found,
                         const char* how) {
    if (!found || (*found && *first && **found == **first)) {
      return;
    }
    same = false;
    why += fmt::format("program {}, {} {}\n  {}\n  {} found\n  {} expected\n", number, how,
                       fmt::join(layout, " "), fmt::join(picked.job, " "),
                       *found ? **found : (*found).error().what(),
                       *first ? **first : (*first).error().what());
  };
  for (const auto& layout : {picked.spread, picked.on_devices, picked.elsewhere}) {
    check(layout, results(layout), "in");
  }
  // A run of one epoch keeps its last checkpoint, where the whole one starts in another layout.
  KeptCheckpoints kept(scratch_.path() / fmt::format("programs-{}", number));
  SessionSetup keeping;
  kept.keep_by(keeping);
  const auto begun = together(picked.spread, {"checkpoint.every.steps=2", "train.epochs=1"});
  if (*first && results(begun, std::move(keeping))) {
    SessionSetup resuming;
    resuming.resume = kept.latest();
    if (resuming.resume != nullptr) {
      const auto& layout = drawn.once_in(2) ? picked.alone : picked.elsewhere;
      check(layout, results(layout, std::move(resuming)), "resumed in");
    }
  }
  // One actor is killed. A program that ends with it continues from its last checkpoint, or from the beginning.
  const bool elsewhere = drawn.once_in(3);
  const auto victim = draw_victim(drawn, elsewhere ? 2 * picked.ranks : picked.ranks);
  const auto place = elsewhere ? picked.elsewhere : layout_of(picked, drawn);
  const auto layout = together(place, {replicas_of(picked, drawn), checkpoints_of(drawn)});
  KeptCheckpoints before(scratch_.path() / fmt::format("lost-{}", number));
  SessionSetup losing;
  before.keep_by(losing);
  if (*first) {
    auto run = results(layout, std::move(losing), &victim);
    if (run && !*run) {
      SessionSetup again;
      again.resume = before.latest();
      run = results(layout, std::move(again));
    }
    const auto how = fmt::format("without {} of process {} after step {} in", victim.name,
                                 raw(victim.process), victim.step);
    check(layout, run, how.c_str());
  }
  return same ? Outcome::same : Outcome::differs;
}

}  // namespace troupe::testing
