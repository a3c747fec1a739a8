#include "runtime/job/layout.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <iterator>
#include <map>
#include <set>

namespace troupe {
namespace {

template <class Id>
bool contains(const std::vector<Id>& ids, Id id) {
  return std::ranges::binary_search(ids, id);
}

ProcessPlan& add(Layout& layout, HostId host, std::string name) {
  auto& process = layout.processes.emplace_back();
  process.id = static_cast<ProcessId>(layout.processes.size() - 1);
  process.host = host;
  process.name = std::move(name);
  return process;
}

/// Parts of the i-th of `owners`, replicas included.
std::vector<PartId> parts_of(const Job& job, std::uint32_t i, std::uint32_t owners) {
  std::vector<PartId> found;
  const auto replicas = std::min(job.cluster.replicas, owners);
  for (std::uint32_t p = 0; p < job.partition.parts; ++p) {
    if ((i + owners - p % owners) % owners < replicas) {
      found.push_back(static_cast<PartId>(p));
    }
  }
  return found;
}

std::vector<Rank> ranks_of_host(const Job& job, std::uint32_t host) {
  std::uint32_t first = 0;
  for (std::uint32_t h = 0; h < host; ++h) {
    first += job.cluster.ranks_on(h);
  }
  std::vector<Rank> found;
  for (std::uint32_t i = 0; i < job.cluster.ranks_on(host); ++i) {
    found.push_back(static_cast<Rank>(first + i));
  }
  return found;
}

/// One process per host, and with `worker` its ranks' sampler processes.
void add_hosts(Layout& layout, const Job& job) {
  const auto& cluster = job.cluster;
  for (std::uint32_t h = 0; h < cluster.hosts; ++h) {
    const auto host = static_cast<HostId>(h);
    auto& main = add(layout, host, fmt::format("host {}", h));
    main.serves = main.maps = parts_of(job, h, cluster.hosts);
    main.ranks = ranks_of_host(job, h);
  }
  for (std::uint32_t h = 0; cluster.placement == "worker" && h < cluster.hosts; ++h) {
    for (const auto rank : ranks_of_host(job, h)) {
      for (std::uint32_t s = 0; s < cluster.samplers_per_trainer; ++s) {
        auto& sampler =
            add(layout, static_cast<HostId>(h), fmt::format("sampler {} of rank {}", s, raw(rank)));
        sampler.maps = parts_of(job, h, cluster.hosts);
        sampler.samples_for = {rank};
      }
    }
  }
}

/// Trainers on the first hosts, a process per rank; servers on the hosts after them.
void add_servers_and_clients(Layout& layout, const Job& job) {
  const auto& cluster = job.cluster;
  for (std::uint32_t s = 0; s < cluster.servers; ++s) {
    auto& server = add(layout, static_cast<HostId>(cluster.hosts + s), fmt::format("server {}", s));
    server.serves = server.maps = parts_of(job, s, cluster.servers);
    for (std::uint32_t r = 0; r < cluster.world(); ++r) {
      if (server_of_rank(cluster, r) == s) {
        server.samples_for.push_back(static_cast<Rank>(r));
      }
    }
  }
  for (std::uint32_t h = 0; h < cluster.hosts; ++h) {
    for (const auto rank : ranks_of_host(job, h)) {
      auto& client = add(layout, static_cast<HostId>(h), fmt::format("rank {}", raw(rank)));
      client.ranks = {rank};
    }
  }
}

template <class Id>
std::vector<Id> as_ids(const std::vector<std::uint32_t>& numbers) {
  std::vector<Id> ids;
  for (const auto number : numbers) {
    ids.push_back(static_cast<Id>(number));
  }
  return ids;
}

void add_listed(Layout& layout, const Job& job) {
  std::map<std::uint32_t, int> on_host;
  for (const auto& spec : job.cluster.processes) {
    const auto name = fmt::format("process {} of host {}", on_host[spec.host]++, spec.host);
    auto& process =
        add(layout, static_cast<HostId>(spec.host), spec.name.empty() ? name : spec.name);
    process.serves = as_ids<PartId>(spec.parts);
    std::ranges::set_union(process.serves, as_ids<PartId>(spec.maps),
                           std::back_inserter(process.maps));
    process.ranks = as_ids<Rank>(spec.ranks);
    process.samples_for = as_ids<Rank>(spec.samples_for);
  }
}

}  // namespace

std::uint32_t server_of_rank(const ClusterJob& cluster, std::uint32_t rank) {
  if (!cluster.server_ranks.empty()) {
    return cluster.server_ranks.at(rank);
  }
  std::uint32_t host = 0;
  std::uint32_t turn = rank;  // among the ranks of its host
  while (turn >= cluster.ranks_on(host)) {
    turn -= cluster.ranks_on(host++);
  }
  std::vector<std::uint32_t> near;
  for (std::uint32_t s = 0; cluster.nearest_server && s < cluster.servers; ++s) {
    const auto at = cluster.hosts + s;
    if (at < cluster.named.size() && cluster.named[at].address == cluster.named[host].address) {
      near.push_back(s);
    }
  }
  return near.empty() ? rank % cluster.servers : near[turn % near.size()];
}

Layout make_layout(const Job& job) {
  Layout layout;
  layout.hosts = job.cluster.all_hosts();
  layout.parts = job.partition.parts;
  if (job.cluster.launch != "simulate") {
    add(layout, HostId{0}, "director").directs = true;
    for (std::uint32_t h = 0; h < layout.hosts; ++h) {
      add(layout, static_cast<HostId>(h), fmt::format("agent of host {}", h)).agent = true;
    }
  }
  if (job.cluster.placement == "explicit") {
    add_listed(layout, job);
  } else if (job.cluster.placement == "server_client") {
    add_servers_and_clients(layout, job);
  } else {
    add_hosts(layout, job);
  }
  layout.processes.front().directs = true;
  return layout;
}

ProcessId Layout::director() const {
  return std::ranges::find_if(processes, &ProcessPlan::directs)->id;
}

std::optional<ProcessId> Layout::agent_of(HostId host) const {
  const auto found = std::ranges::find_if(
      processes, [&](const ProcessPlan& p) { return p.agent && p.host == host; });
  return found == processes.end() ? std::nullopt : std::optional(found->id);
}

namespace {
template <class Predicate>
std::vector<ProcessId> ids_where(const Layout& layout, Predicate predicate) {
  std::vector<ProcessId> found;
  for (const auto& process : layout.processes) {
    if (predicate(process)) {
      found.push_back(process.id);
    }
  }
  return found;
}
}  // namespace

std::vector<ProcessId> Layout::workers() const {
  return ids_where(*this, [](const ProcessPlan& p) { return p.works(); });
}

std::vector<ProcessId> Layout::evaluators() const {
  return ids_where(*this, [](const ProcessPlan& p) { return !p.serves.empty(); });
}

std::vector<ProcessId> Layout::servers_of(PartId part) const {
  auto found = ids_where(*this, [&](const ProcessPlan& p) { return contains(p.serves, part); });
  // Round from the one whose turn it is, as parts are given out.
  const auto owners = evaluators();
  const auto first = owners.empty() ? ProcessId{} : owners[raw(part) % owners.size()];
  const auto begin = std::ranges::find(found, first);
  if (begin != found.end()) {
    std::rotate(found.begin(), begin, found.end());  // clang 14 cannot take the one of ranges
  }
  return found;
}

std::string Layout::name_of(ProcessId id) const {
  return raw(id) < processes.size() ? at(id).name : fmt::format("process {}", raw(id));
}

ProcessId Layout::process_of(Rank rank) const {
  return std::ranges::find_if(processes,
                              [&](const ProcessPlan& p) { return contains(p.ranks, rank); })
      ->id;
}

bool Layout::talk(ProcessId a, ProcessId b) const {
  const auto& one = at(a);
  const auto& other = at(b);
  if (a == b || !one.works() || !other.works()) {
    return false;
  }
  const auto samples_for = [](const ProcessPlan& sampler, const ProcessPlan& trainer) {
    return std::ranges::any_of(sampler.samples_for,
                               [&](Rank rank) { return contains(trainer.ranks, rank); });
  };
  return !one.serves.empty() || !other.serves.empty() ||
         (!one.ranks.empty() && !other.ranks.empty()) || samples_for(one, other) ||
         samples_for(other, one);
}

std::vector<ProcessId> Layout::samplers_of(Rank rank) const {
  return ids_where(*this, [&](const ProcessPlan& p) { return contains(p.samples_for, rank); });
}

std::vector<std::vector<PartId>> parts_of_ranks(const Layout& layout) {
  std::vector<std::vector<PartId>> parts;
  for (const auto& process : layout.processes) {
    for (const auto rank : process.ranks) {
      auto samplers = layout.samplers_of(rank);
      if (samplers.empty()) {
        samplers.push_back(process.id);
      }
      std::set<PartId> near;
      for (const auto sampler : samplers) {
        const auto& maps = layout.at(sampler).maps;
        near.insert(maps.begin(), maps.end());
      }
      parts.resize(std::max<std::size_t>(parts.size(), raw(rank) + 1U));
      parts[raw(rank)].assign(near.begin(), near.end());
    }
  }
  return parts;
}

}  // namespace troupe
