// A user program for tests: counts per node in how many steps it was a seed, in a tensor, and trains learned rows where its
// job has any. It throws what a session tells, and may end by itself in the middle of a step.
//   rows_trainer [STEP [FILE]]: dies in that step; with FILE only if there is none, which it makes before
// With TROUPE_TEST_EXIT=CODE rank 1 calls exit(CODE) in its third step.
// With TROUPE_TEST_AFTER="SECONDS FILE CODE" it works on after its ranks have ended well: waits, appends a line to FILE, exits.
#include "launcher/session.hpp"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace {

using namespace troupe;

template <class T>
T must(Result<T> result) {
  if (!result) {
    throw std::runtime_error(result.error().what());
  }
  return *std::move(result);
}
void must(const Status& status) {
  if (!status) {
    throw std::runtime_error(status.error().what());
  }
}

struct Death {
  std::uint64_t step = 0;  ///< 0: never
  std::string file;

  void at(std::uint64_t now) const {
    if (step == 0 || now != step || (!file.empty() && std::filesystem::exists(file))) {
      return;
    }
    std::ofstream(file) << now;
    std::raise(SIGKILL);
  }
};

/// A loss whose gradient is half of each row of the batch.
void learn(Session& session, const Batch& batch) {
  auto table = session.embedding("node");
  if (!table || batch.labels.empty()) {
    return;
  }
  const auto& nodes = batch.sampled->nodes[0].ids;
  auto rows = must(table->rows(nodes));
  for (float& value : rows.view().flat()) {
    value *= 0.5F;
  }
  must(table->gradient(nodes, rows.view(), batch.labels.size()));
}

Status count(Session& session, const Death& death) {
  float seen = 0;
  session.on_save([&] {
    std::vector<std::byte> bytes(sizeof(seen));
    std::memcpy(bytes.data(), &seen, sizeof(seen));
    return bytes;
  });
  session.on_restore([&](std::span<const std::byte> bytes) -> Status {
    std::memcpy(&seen, bytes.data(), sizeof(seen));
    return ok_status();
  });
  auto counts = must(session.make_tensor("counts"));
  constexpr std::uint64_t far = std::uint64_t{1} << 34;
  auto steps = must(
      session.make_tensor("steps", {.of = TensorOf::rows, .rows = far + 2, .dtype = DType::i64}));
  for (auto e = session.first_epoch(); e < session.epochs(); ++e) {
    for (const Batch& batch : session.epoch(e)) {
      if (session.shared_batch().get() != &batch) {
        return Error(Errc::internal, "the batch that can be kept is not that of the turn");
      }
      const auto& seeds = batch.sampled->seed_index;
      std::vector<NodeId> nodes;
      for (const auto seed : seeds) {
        nodes.push_back(batch.sampled->nodes[0].ids[seed]);
      }
      const std::vector<float> ones(nodes.size(), 1.0F);
      must(counts.add(nodes, std::span<const float>(ones)));
      const std::vector<std::uint64_t> mine{far + raw(session.rank())};
      must(steps.add<std::int64_t>(mine, std::vector<std::int64_t>{1}));
      learn(session, batch);
      seen += static_cast<float>(nodes.size());
      if (session.rank() == Rank{1}) {
        death.at(session.global_step());
        if (const char* code = std::getenv("TROUPE_TEST_EXIT");
            code != nullptr && session.global_step() == 2) {
          std::exit(std::atoi(code));
        }
      }
      must(session.end_step());
    }
    must(session.status());
    if (session.shared_batch() != nullptr) {
      return Error(Errc::internal, "a batch can be kept outside of a turn");
    }
    if (session.rank() == Rank{0}) {
      std::printf("epoch %u\n", e + 1);
      std::fflush(stdout);
    }
  }
  std::vector<float> total = {seen};
  must(session.all_reduce(total));
  if (session.rank() == Rank{0}) {
    const auto seeds = must(session.seeds("train"));
    const auto rows = must(counts.read(seeds.global));
    double sum = 0;
    for (const auto row : rows.as<float>()) {
      sum += static_cast<double>(row);
    }
    std::printf("counted %.0f seeds, %.0f of them mine\n", static_cast<double>(total[0]), sum);
    const auto ends = must(steps.read_range(far, 2));
    std::printf("steps %lld and %lld\n", static_cast<long long>(ends.as<std::int64_t>()[0]),
                static_cast<long long>(ends.as<std::int64_t>()[1]));
  }
  return ok_status();
}

int work_on(const std::string& how) {
  int seconds = 0;
  int code = 0;
  std::string file;
  std::istringstream(how) >> seconds >> file >> code;
  std::printf("working on\n");
  std::fflush(stdout);
  std::this_thread::sleep_for(std::chrono::seconds(seconds));
  std::ofstream(file, std::ios::app) << "saved\n";
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const Death death{argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0, argc > 2 ? argv[2] : ""};
  const int code =
      troupe::run_ranks(argc, argv, [&](Session& session) { return count(session, death); });
  const char* after = std::getenv("TROUPE_TEST_AFTER");
  return code != 0 || after == nullptr ? code : work_on(after);
}
