// troupe_take: takes the batches of a job and trains nothing, for `troupe run JOB -- troupe_take [EPOCHS]`.
// Each rank prints what its process did: batches, time, processor time, and the parts that it has mapped.
#include "launcher/session.hpp"

#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <fstream>
#include <set>
#include <string>
#include <sys/resource.h>

namespace {

using namespace troupe;

double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Names of folders part-N of which this process has files mapped.
std::string mapped_parts() {
  std::set<std::string> parts;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const auto at = line.find("/part-");
    if (at != std::string::npos) {
      parts.insert(line.substr(at + 1, line.find('/', at + 1) - at - 1));
    }
  }
  std::string text;
  for (const auto& part : parts) {
    text += (text.empty() ? "" : ", ") + part;
  }
  return text.empty() ? "none" : text;
}

Status take_epoch(Session& session, std::uint32_t epoch) {
  TROUPE_RETURN_IF_ERROR(session.barrier(std::chrono::minutes(5)));
  const auto began = std::chrono::steady_clock::now();
  const auto cpu_began = processor_seconds();
  std::uint64_t batches = 0;
  std::uint64_t nodes = 0;
  std::uint64_t edges = 0;
  for (const Batch& batch : session.epoch(epoch)) {
    batches += batch.sampled->seed_index.empty() ? 0U : 1U;
    nodes += batch.sampled->num_nodes();
    edges += batch.sampled->num_edges();
  }
  TROUPE_RETURN_IF_ERROR(session.status());
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto cpu = processor_seconds() - cpu_began;
  const auto per = std::max<std::uint64_t>(batches, 1);  // a rank may have none
  fmt::print(
      "rank {} epoch {}: {} batches in {:.2f} s = {:.2f} batches/s; {:.1f} ms of processor per "
      "batch; "
      "{} nodes, {} edges per batch; maps {}\n",
      raw(session.rank()), epoch, batches, took.count(),
      static_cast<double>(batches) / took.count(), 1000 * cpu / static_cast<double>(per),
      nodes / per, edges / per, mapped_parts());
  std::fflush(stdout);
  return ok_status();
}

}  // namespace

int main(int argc, char** argv) {
  const auto epochs = argc > 1 ? static_cast<std::uint32_t>(std::atoi(argv[1])) : 2U;
  return troupe::run_ranks(argc, argv, [epochs](troupe::Session& session) -> troupe::Status {
    for (std::uint32_t e = 0; e < epochs; ++e) {
      TROUPE_RETURN_IF_ERROR(take_epoch(session, e));
    }
    return troupe::ok_status();
  });
}
