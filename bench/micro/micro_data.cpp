#include "bench/micro/micro_data.hpp"

#include "runtime/generate/rmat.hpp"
#include "runtime/job/job_file.hpp"

#include <cstdlib>
#include <fmt/format.h>

namespace troupe::bench {
namespace {

namespace fs = std::filesystem;

/// A folder of npy files, made unless it is there.
Result<fs::path> generated() {
  auto dir = fs::temp_directory_path() / "troupe-micro";
  if (!fs::exists(dir / "rmat")) {
    ComputePool pool(2);
    RmatOptions options;
    options.nodes = 306128;
    options.edges = 7732392;
    options.symmetrize = true;
    options.features = 100;
    options.classes = 47;
    options.labels = LabelKind::random;
    options.train = 24576;
    TROUPE_ASSIGN_OR_RETURN(const auto graph, rmat_graph(options));
    TROUPE_RETURN_IF_ERROR(generate::write_npy(graph, options, pool, dir / "rmat"));
  }
  return dir;
}

Result<BenchData> open() {
  TROUPE_ASSIGN_OR_RETURN(const auto dir, generated());
  const char* given = std::getenv("TROUPE_BENCH_STORE");
  const auto text = fmt::format(
      R"({{ "dataset": {{ "path": "{}" }}, "sample": {{ "fanout": [15, 10, 5] }},
            "model": {{ "layers": 3 }}, "digest": "off", "seed": 1, "output": "{}" }})",
      given == nullptr ? (dir / "rmat").string() : given, (dir / "out").string());
  TROUPE_ASSIGN_OR_RETURN(const auto reading, parse_job(text, dir, {}));
  if (!reading.problems.empty()) {
    return Error(Errc::invalid_argument, to_string(reading.problems));
  }
  return open_bench_data(reading.job);
}

}  // namespace

const BenchData& micro_data() {
  static const auto data = [] {
    auto opened = open();
    if (!opened) {
      fmt::print(stderr, "troupe_micro: {}\n", opened.error().what());
      std::exit(1);
    }
    return *std::move(opened);
  }();
  return data;
}

}  // namespace troupe::bench
