// graph.json, and partition.json read against it. The checksums inside them are made right first.
#include "runtime/graph/graph_json.hpp"

#include "fuzz/self_checksum.hpp"
#include "fuzz/targets.hpp"

namespace troupe::fuzz {

void run_graph_json(Input input) {
  const auto text = text_of(input);
  const auto border = std::min(text.find('\x1e'), text.size());
  const auto graph = with_self_checksum(std::string(text.substr(0, border)));
  const auto info = graph_from_json(graph, "graph.json");
  if (!info.ok()) {
    require(info.error().what().find("graph.json") == 0, "an error begins with the file");
    return;
  }
  const auto written = graph_to_json(*info);
  const auto again = graph_from_json(written, "graph.json");
  require(again.ok() && graph_to_json(*again) == written, "a graph comes back as it was written");
  if (border == text.size()) {
    return;
  }
  const auto rest = with_self_checksum(std::string(text.substr(border + 1)));
  const auto partition = partition_from_json(rest, *info, "partition.json");
  if (!partition.ok()) {
    require(partition.error().what().find("partition.json") == 0, "an error begins with the file");
    return;
  }
  const auto text_again = partition_to_json(*partition, *info);
  const auto read = partition_from_json(text_again, *info, "partition.json");
  require(read.ok() && partition_to_json(*read, *info) == text_again,
          "a partition comes back as it was written");
}

}  // namespace troupe::fuzz

TROUPE_FUZZ_TARGET(troupe::fuzz::run_graph_json)
