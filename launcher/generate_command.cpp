#include "launcher/commands.hpp"
#include "launcher/print_error.hpp"
#include "launcher/seconds.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <thread>

namespace troupe {

ExitCode generate_rmat_command(const GenerateRmatArguments& arguments) {
  const auto began = std::chrono::steady_clock::now();
  const std::size_t threads =
      arguments.threads > 0 ? arguments.threads : std::max(1U, std::thread::hardware_concurrency());
  ComputePool pool(threads);
  const auto summary = generate_rmat(arguments.options, pool, arguments.out);
  if (!summary) {
    return print_error(summary.error());
  }
  fmt::print("{} nodes, {} edges; in-degree: median {}, highest {}, {} nodes without\n",
             arguments.options.nodes, summary->edges, summary->median_degree, summary->max_degree,
             summary->isolated_nodes);
  fmt::print("{:.1f} s, at most {:.2f} GiB in memory, files in {}\n", seconds_since(began),
             static_cast<double>(summary->memory_bytes) / (1U << 30), arguments.out.string());
  return ExitCode::done;
}

}  // namespace troupe
