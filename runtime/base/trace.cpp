#include "runtime/base/trace.hpp"

#include "runtime/base/assert.hpp"
#include "runtime/base/files.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <fmt/format.h>
#include <functional>
#include <iterator>
#include <map>
#include <mutex>
#include <span>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

namespace troupe {
namespace {

using TimePoint = Tracer::TimePoint;

struct Slice {
  Tracer::Track track = 0;
  const char* name = "";
  TimePoint began;
  TimePoint ended;
  std::uint64_t flow = 0;
};

struct Mark {
  Tracer::Track track = 0;
  std::string text;
  TimePoint when;
};

struct TrackInfo {
  std::uint32_t host = 0;
  std::string actor;
};

/// Bytes of the UTF-8 character at the start of `text`; 0 if it is none.
std::size_t character_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t size = byte(0) < 0x80 ? 1 : byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  if (byte(0) >= 0xF5 || (byte(0) >= 0x80 && byte(0) < 0xC2) || text.size() < size) {
    return 0;
  }
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(i) < 0x80 || byte(i) > 0xBF) {
      return 0;
    }
  }
  const bool overlong = (byte(0) == 0xE0 && byte(1) < 0xA0) || (byte(0) == 0xF0 && byte(1) < 0x90);
  const bool beyond = (byte(0) == 0xED && byte(1) > 0x9F) || (byte(0) == 0xF4 && byte(1) > 0x8F);
  return overlong || beyond ? 0 : size;
}

/// `text` as a JSON string; bytes that are not UTF-8 become '?'.
std::string json_string(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const auto size = character_bytes(text);
    const char c = text.front();
    if (size == 0) {
      out += '?';
    } else if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (size == 1 && static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return out + '"';
}

/// What is drawn below each other without crossing: slices of a line nest, if they may, or follow
/// each other.
class Line {
 public:
  /// Takes the slice if it fits.
  /// \requires calls come in the order of `began`, of equal ones the longest first
  bool take(const Slice& slice) {
    while (!open_.empty() && open_.back().ended <= slice.began) {
      open_.pop_back();
    }
    if (!open_.empty() && (open_.back().ended < slice.ended || open_.back().strange_to(slice))) {
      return false;
    }
    open_.push_back({slice.ended, slice.flow});
    return true;
  }

 private:
  struct Open {
    TimePoint ended;
    std::uint64_t flow;
    bool strange_to(const Slice& slice) const {
      return flow != 0 && slice.flow != 0 && flow != slice.flow;
    }
  };
  std::vector<Open> open_;  // each within the one before
};

/// What was recorded, in the order in which it is written.
struct Recording {
  std::vector<TrackInfo> tracks;
  std::vector<Slice> slices;
  std::vector<Mark> marks;
  std::uint64_t dropped = 0;

  void sort() {
    std::ranges::sort(slices, [](const Slice& a, const Slice& b) {
      const auto key = [](const Slice& s) {
        return std::tuple(s.began, -s.ended.time_since_epoch(), s.track, s.flow);
      };
      return key(a) != key(b) ? key(a) < key(b) : std::strcmp(a.name, b.name) < 0;
    });
    std::ranges::sort(marks, [](const Mark& a, const Mark& b) {
      return std::tie(a.when, a.track, a.text) < std::tie(b.when, b.track, b.text);
    });
  }
  TimePoint first() const {
    auto first = TimePoint::max();
    if (!slices.empty()) {
      first = slices.front().began;
    }
    return marks.empty() ? first : std::min(first, marks.front().when);
  }
};

/// Writes a recording as text.
class TraceText {
 public:
  explicit TraceText(const Recording& recording)
      : recording_(recording), first_(recording.first()), lines_(recording.tracks.size()) {}

  std::string write() {
    text_ = fmt::format(
        "{{\"displayTimeUnit\":\"ms\",\"otherData\":{{\"dropped_events\":{}}},\n"
        "\"traceEvents\":[",
        recording_.dropped);
    place_slices();
    write_names();
    count_flows();
    for (std::size_t i = 0; i < recording_.slices.size(); ++i) {
      write_slice(recording_.slices[i], places_[i]);
      write_flow(recording_.slices[i], places_[i]);
    }
    for (const auto& mark : recording_.marks) {
      add("{{\"ph\":\"i\",\"s\":\"t\",\"name\":{},{}}}", json_string(mark.text),
          where(mark.track, 0, mark.when));
    }
    return std::move(text_) + "\n]}\n";
  }

 private:
  template <class... Args>
  void add(fmt::format_string<Args...> format, Args&&... args) {
    text_ += std::exchange(separator_, ",\n");
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
  }
  static std::string microseconds(std::chrono::nanoseconds time) {
    return fmt::format("{}.{:03}", time.count() / 1000, time.count() % 1000);
  }
  /// Numbers from 1: Perfetto takes process 0 and thread 0 for the idle task. Threads have other
  /// numbers than processes, or it would take one for a process's main thread.
  std::uint64_t process(Tracer::Track track) const {
    return std::uint64_t{recording_.tracks[track].host} + 1;
  }
  std::uint64_t thread(Tracer::Track track, std::size_t line) const {
    return first_thread_[track] + line;
  }
  std::string where(Tracer::Track track, std::size_t line, TimePoint when) const {
    return fmt::format("\"pid\":{},\"tid\":{},\"ts\":{}", process(track), thread(track, line),
                       microseconds(when - first_));
  }

  /// Finds a line of its track for each slice: the first that takes it.
  void place_slices() {
    for (const auto& slice : recording_.slices) {
      auto& lines = lines_[slice.track];
      std::size_t i = 0;
      while (i < lines.size() && !lines[i].take(slice)) {
        ++i;
      }
      if (i == lines.size()) {
        lines.emplace_back().take(slice);
      }
      places_.push_back(i);
    }
    std::uint64_t next = 1;
    for (const auto& track : recording_.tracks) {
      next = std::max(next, std::uint64_t{track.host} + 2);
    }
    for (auto& lines : lines_) {
      lines.resize(std::max<std::size_t>(lines.size(), 1));
      first_thread_.push_back(next);
      next += lines.size();
    }
  }

  void write_names() {
    std::map<std::uint64_t, std::uint32_t> hosts;
    for (Tracer::Track track = 0; track < recording_.tracks.size(); ++track) {
      hosts.emplace(process(track), recording_.tracks[track].host);
    }
    for (const auto& [pid, host] : hosts) {
      add(R"({{"ph":"M","name":"process_name","pid":{},"args":{{"name":"host {}"}}}})", pid, host);
    }
    for (Tracer::Track track = 0; track < recording_.tracks.size(); ++track) {
      for (std::size_t line = 0; line < lines_[track].size(); ++line) {
        const auto& actor = recording_.tracks[track].actor;
        const auto name = line == 0 ? actor : fmt::format("{} ({})", actor, line + 1);
        add(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
            process(track), thread(track, line), json_string(name));
        add(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},)"
            R"("args":{{"sort_index":{}}}}})",
            process(track), thread(track, line), thread(track, line));
      }
    }
  }

  struct Flow {
    std::uint64_t number = 0;  ///< from 1: viewers may keep ids as float64
    std::uint64_t slices = 0;
    std::uint64_t written = 0;
  };
  void count_flows() {
    for (const auto& slice : recording_.slices) {
      if (slice.flow != 0) {
        auto& flow = flows_[slice.flow];
        flow.number = flow.slices++ == 0 ? flows_.size() : flow.number;
      }
    }
  }

  void write_slice(const Slice& slice, std::size_t line) {
    const auto args =
        slice.flow == 0 ? "" : fmt::format(",\"args\":{{\"flow\":\"{}\"}}", slice.flow);
    add("{{\"ph\":\"X\",\"name\":{},{},\"dur\":{}{}}}", json_string(slice.name),
        where(slice.track, line, slice.began), microseconds(slice.ended - slice.began), args);
  }

  /// The part of its flow that begins with the slice, right behind it: a viewer binds it to the
  /// slice that is open on the line at this time.
  void write_flow(const Slice& slice, std::size_t line) {
    const auto found = slice.flow == 0 ? flows_.end() : flows_.find(slice.flow);
    if (found == flows_.end() || found->second.slices < 2) {
      return;
    }
    auto& flow = found->second;
    ++flow.written;
    const char* phase = flow.written == 1 ? "s" : flow.written == flow.slices ? "f" : "t";
    add("{{\"ph\":\"{}\",\"bp\":\"e\",\"cat\":\"batch\",\"name\":\"batch\",\"id\":{},{}}}", phase,
        flow.number, where(slice.track, line, slice.began));
  }

  const Recording& recording_;
  TimePoint first_;
  std::vector<std::vector<Line>> lines_;     // by track
  std::vector<std::uint64_t> first_thread_;  // by track
  std::vector<std::size_t> places_;          // by slice
  std::map<std::uint64_t, Flow> flows_;
  std::string text_;
  const char* separator_ = "\n";
};

}  // namespace

struct Tracer::State {
  explicit State(std::size_t max) : max_events(max) {}

  struct alignas(64) Shard {
    std::mutex mutex;
    std::deque<Slice> slices;
    std::deque<Mark> marks;
  };

  /// Whether one more may be kept; counts it either way.
  bool admit() {
    if (events.load(std::memory_order_relaxed) < max_events &&
        events.fetch_add(1, std::memory_order_relaxed) < max_events) {
      return true;
    }
    dropped.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  Shard& shard() {
    return shards[std::hash<std::thread::id>{}(std::this_thread::get_id()) % shards.size()];
  }

  const std::size_t max_events;
  std::atomic<std::size_t> events{0};
  std::atomic<std::uint64_t> dropped{0};
  std::array<Shard, 16> shards;
  std::mutex tracks_mutex;
  std::vector<TrackInfo> tracks;
  std::map<std::pair<std::uint32_t, std::string>, Track> track_of;
};

Tracer::Tracer(std::size_t max_events) : state_(std::make_unique<State>(max_events)) {}
Tracer::~Tracer() = default;

Tracer::Track Tracer::track(std::uint32_t host, std::string_view actor) {
  const std::lock_guard guard(state_->tracks_mutex);
  const auto next = static_cast<Track>(state_->tracks.size());
  const auto [found, is_new] = state_->track_of.emplace(std::pair(host, std::string(actor)), next);
  if (is_new) {
    state_->tracks.push_back({host, std::string(actor)});
  }
  return found->second;
}

void Tracer::slice(Track track, const char* name, TimePoint began, TimePoint ended,
                   std::uint64_t flow) {
  if (!state_->admit()) {
    return;
  }
  // No flow binds to a slice without a length.
  const auto shortest = began + std::chrono::nanoseconds(flow == 0 ? 0 : 1);
  auto& shard = state_->shard();
  const std::lock_guard guard(shard.mutex);
  shard.slices.push_back({track, name, began, std::max(ended, shortest), flow});
}

void Tracer::mark(Track track, std::string_view text, TimePoint when) {
  if (!state_->admit()) {
    return;
  }
  auto& shard = state_->shard();
  const std::lock_guard guard(shard.mutex);
  shard.marks.push_back({track, std::string(text), when});
}

Status Tracer::write(const std::filesystem::path& file) const {
  Recording recording;
  for (auto& shard : state_->shards) {
    const std::lock_guard guard(shard.mutex);
    recording.slices.insert(recording.slices.end(), shard.slices.begin(), shard.slices.end());
    recording.marks.insert(recording.marks.end(), shard.marks.begin(), shard.marks.end());
  }
  {  // after the events: they name tracks that are there
    const std::lock_guard guard(state_->tracks_mutex);
    recording.tracks = state_->tracks;
  }
  for (const auto& slice : recording.slices) {
    TROUPE_ASSERT(slice.track < recording.tracks.size(), "track of", slice.name, slice.track);
  }
  for (const auto& mark : recording.marks) {
    TROUPE_ASSERT(mark.track < recording.tracks.size(), "track of", mark.text, mark.track);
  }
  recording.dropped = state_->dropped.load(std::memory_order_relaxed);
  recording.sort();
  const auto text = TraceText(recording).write();
  return write_file_atomically(file, std::as_bytes(std::span(text)));
}

}  // namespace troupe
