#include "launcher/store_options.hpp"

#include "launcher/table_options.hpp"
#include "runtime/partition/methods.hpp"

#include <CLI/CLI.hpp>

namespace troupe {
namespace {

void add_threads(CLI::App& command, std::uint32_t& threads) {
  command.add_option("--threads", threads, "threads; 0: one per core. The result is the same")
      ->check(CLI::Range(0U, 1024U))
      ->capture_default_str();
}

void add_fanout(CLI::App& command, std::vector<std::int32_t>& fanout, HotnessOptions& options) {
  command.add_option("--fanout", fanout, "how batches are sampled: fanout per hop, -1 for all")
      ->delimiter(',')
      ->check(CLI::Range(-1, 1'000'000))
      ->capture_default_str();
  command.add_option("--batch-size", options.batch_size, "seeds or links of a batch")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 32))
      ->capture_default_str();
  command.add_flag("--links", options.links,
                   "batches begin with links of the split, also where it has nodes too");
}

void add_method_options(CLI::App& partition, PartitionArguments& arguments) {
  auto& more = arguments.options.more;
  for (const auto& option : partition_options()) {
    add_table_option(partition, option, more, readers_of(partition_methods(), option.name));
  }
  add_fanout(partition, arguments.fanout, more.hotness);
}

/// What the parts hold, whatever the method.
void add_part_options(CLI::App& partition, PartitionArguments& arguments) {
  partition
      .add_option("--complete-for", arguments.complete_for,
                  "direction for which each part keeps whole neighbour lists: edges lie with their "
                  "destination (in), their source (out), or both")
      ->check(CLI::IsMember({"in", "out", "both"}))
      ->capture_default_str();
  partition
      .add_option(
          "--order", arguments.order,
          "how nodes are numbered inside a part: by degree, by hotness (troupe hotness), or "
          "as in the data")
      ->check(CLI::IsMember({"degree", "hotness", "original"}))
      ->capture_default_str();
  auto& halo = arguments.options.halo;
  partition
      .add_option("--halo", halo.hops, "hops around a part whose neighbour lists it keeps too")
      ->check(CLI::Range(0U, 8U))
      ->capture_default_str();
  partition.add_flag("--halo-features", halo.features,
                     "keep the features of all nodes that a part's lists name");
  partition
      .add_option("--features", arguments.features,
                  "write features now, or leave them to `troupe add-features`, later")
      ->check(CLI::IsMember({"now", "later"}))
      ->capture_default_str();
  partition
      .add_option("--memory", arguments.memory,
                  "for the undirected view and for sorting out-lists; what does not fit goes "
                  "through the disk")
      ->capture_default_str();
  add_threads(partition, arguments.threads);
}

void add_partition(CLI::App& app, PartitionArguments& arguments, std::optional<ExitCode>& result) {
  auto* partition = app.add_subcommand("partition", "cut a store into parts");
  partition->add_option("STORE", arguments.store, "the store to cut")->required();
  partition->add_option("OUT", arguments.out, "the folder to make")->required();
  partition->add_option("--parts", arguments.options.parts, "number of parts")
      ->check(CLI::Range(1U, 65536U))
      ->capture_default_str();
  partition->add_option("--method", arguments.options.method, "how nodes are assigned")
      ->check(CLI::IsMember(names_of(partition_methods())))
      ->capture_default_str();
  partition
      ->add_option("--seed", arguments.options.seed,
                   readers_of(partition_methods(), "seed") + ": random seed")
      ->capture_default_str();
  add_method_options(*partition, arguments);
  add_part_options(*partition, arguments);
  partition->footer(kinds_text("Methods, and what they look at:", partition_methods()) +
                    "\nExample: troupe partition /tmp/cora-store /tmp/cora-parts --parts 2");
  partition->callback([&] { result = partition_command(arguments); });
}

void add_features(CLI::App& app, AddFeaturesArguments& arguments, std::optional<ExitCode>& result) {
  auto* add =
      app.add_subcommand("add-features", "write the features of parts that were cut without them");
  add->add_option("STORE", arguments.store, "the store that OUT was made of")->required();
  add->add_option("OUT", arguments.out, "what `partition --features later` has made")->required();
  add->add_option("--part", arguments.parts, "a part to write; may be given several times")
      ->take_all()
      ->allow_extra_args(false)
      ->default_str("all");
  add->add_option("--memory", arguments.memory,
                  "for sorting where features of edges lie with their source; what does not fit "
                  "goes through the disk")
      ->capture_default_str();
  add_threads(*add, arguments.threads);
  add->footer("Example: troupe add-features /tmp/cora-store /tmp/cora-parts --part 0");
  add->callback([&] { result = add_features_command(arguments); });
}

void add_hotness(CLI::App& app, HotnessArguments& arguments, std::optional<ExitCode>& result) {
  auto* hotness = app.add_subcommand(
      "hotness", "how likely nodes are to be in batches, and what caches of them would hold");
  hotness->add_option("STORE", arguments.store, "a store, not partitioned")->required();
  add_fanout(*hotness, arguments.fanout, arguments.options);
  hotness->add_option("--split", arguments.split,
                      "whose training seeds or links; none: the default split");
  hotness->add_flag("--replace", arguments.options.replace, "draw with replacement");
  hotness->add_flag("--frontier-all", arguments.options.all_nodes,
                    "every hop asks for all nodes so far, not for the new ones alone");
  hotness->add_option("--out", arguments.out,
                      "write the probabilities, float32 [nodes]: FILE.npy, or FILE-TYPE.npy for "
                      "each of several node types");
  add_threads(*hotness, arguments.threads);
  hotness->footer("Example: troupe hotness /tmp/cora-store --fanout 10,10 --batch-size 64");
  hotness->callback([&] { result = hotness_command(arguments); });
}

void add_inspect(CLI::App& app, InspectArguments& arguments, std::optional<ExitCode>& result) {
  auto* inspect = app.add_subcommand("inspect", "print what a store holds");
  inspect->add_option("STORE", arguments.store, "a store, partitioned or not")->required();
  inspect->add_flag("--verify", arguments.verify, "compare every file with its checksum");
  inspect->add_option("--node", arguments.node, "print where the node with this original id is");
  inspect->add_option("--global", arguments.global, "the same for a global id");
  inspect->add_option("--type", arguments.type, "its node type, where there are several");
  inspect->add_option("--plots", arguments.plots,
                      "a folder to make, with SVG plots of degrees and of the parts' sizes");
  inspect->footer(
      "Example: troupe inspect /tmp/cora-parts --verify\n"
      "         troupe inspect /tmp/cora-parts --node 17");
  inspect->callback([&] { result = inspect_command(arguments); });
}

}  // namespace

void add_store_commands(CLI::App& app, StoreArguments& arguments, std::optional<ExitCode>& result) {
  add_partition(app, arguments.partition, result);
  add_features(app, arguments.add_features, result);
  add_hotness(app, arguments.hotness, result);
  add_inspect(app, arguments.inspect, result);
}

}  // namespace troupe
