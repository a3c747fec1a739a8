#include "launcher/svg_plot.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>

namespace troupe {
namespace {

constexpr double left = 80;
constexpr double right = 520;
constexpr double top = 40;
constexpr double bottom = 340;
constexpr std::array colours{"#1b6ca8", "#d1495b", "#3c8d53", "#edae49",
                             "#6a4c93", "#00798c", "#8d6346", "#555555"};

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string label(double x, double y, const std::string& anchor, const std::string& text) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     escaped(text));
}

std::string line(double x1, double y1, double x2, double y2, const char* colour) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2,
      y2, colour);
}

std::string colour_of(std::size_t series) {
  return colours[series % colours.size()];
}

/// Frame, texts, and the names of the series in their colours.
template <class Series>
std::string opened(const PlotText& text, std::span<const Series> series) {
  auto svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"720\" height=\"400\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<rect width=\"720\" height=\"400\" fill=\"white\"/>\n");
  svg += label((left + right) / 2, 24, "middle", text.title);
  svg += label((left + right) / 2, bottom + 44, "middle", text.x);
  svg += fmt::format("<text transform=\"translate(20 {:.1f}) rotate(-90)\" text-anchor=\"middle\">",
                     (top + bottom) / 2) +
         escaped(text.y) + "</text>\n";
  svg += line(left, bottom, right, bottom, "black") + line(left, top, left, bottom, "black");
  constexpr std::size_t most_names = 18;  // that the page has room for
  for (std::size_t s = 0; s < std::min(series.size(), most_names); ++s) {
    const auto y = top + 18 * static_cast<double>(s);
    svg += fmt::format("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n",
                       right + 20, y, colour_of(s));
    const auto more = series.size() - s;
    svg +=
        label(right + 36, y + 10, "start",
              s + 1 == most_names && more > 1 ? fmt::format("and {} more", more) : series[s].name);
  }
  return svg;
}

/// From 10^low to 10^high, over a stretch of the page.
struct LogAxis {
  int low = 0;
  int high = 1;
  double begin = 0;
  double end = 0;

  void include(double value) {
    low = std::min(low, static_cast<int>(std::floor(std::log10(value))));
    high = std::max(high, static_cast<int>(std::ceil(std::log10(value))));
  }
  double at(double value) const { return at_power(std::log10(value)); }
  double at_power(double power) const {
    return begin + (end - begin) * (power - low) / static_cast<double>(high - low);
  }
};

}  // namespace

std::string log_log_plot(const PlotText& text, std::span<const PointSeries> series) {
  LogAxis x{.begin = left, .end = right};
  LogAxis y{.begin = bottom, .end = top};
  const auto shown = [](const auto& point) { return point.first > 0 && point.second > 0; };
  for (const auto& of : series) {
    for (const auto& point : of.points) {
      if (shown(point)) {
        x.include(point.first);
        y.include(point.second);
      }
    }
  }
  auto svg = opened(text, series);
  for (int power = x.low; power <= x.high; ++power) {
    svg += line(x.at_power(power), bottom, x.at_power(power), bottom + 5, "black");
    svg += label(x.at_power(power), bottom + 20, "middle", fmt::format("1e{}", power));
  }
  for (int power = y.low; power <= y.high; ++power) {
    svg += line(left - 5, y.at_power(power), left, y.at_power(power), "black");
    svg += label(left - 8, y.at_power(power) + 4, "end", fmt::format("1e{}", power));
  }
  for (std::size_t s = 0; s < series.size(); ++s) {
    std::string joined;
    for (const auto& point : series[s].points) {
      if (!shown(point)) {
        continue;
      }
      const auto px = x.at(point.first);
      const auto py = y.at(point.second);
      joined += fmt::format("{:.1f},{:.1f} ", px, py);
      svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", px, py,
                         colour_of(s));
    }
    svg += fmt::format("<polyline points=\"{}\" fill=\"none\" stroke=\"{}\"/>\n", joined,
                       colour_of(s));
  }
  return svg + "</svg>\n";
}

std::string bar_plot(const PlotText& text, std::span<const BarSeries> series) {
  std::size_t groups = 1;
  double most = 0;
  for (const auto& of : series) {
    groups = std::max(groups, of.values.size());
    for (const auto value : of.values) {
      most = std::max(most, value);
    }
  }
  most = most > 0 ? most : 1;
  auto svg = opened(text, series);
  const auto y = [most](double value) { return bottom - (bottom - top) * value / most; };
  for (const double share : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    svg += line(left - 5, y(share * most), left, y(share * most), "black");
    svg += label(left - 8, y(share * most) + 4, "end", fmt::format("{:.3g}", share * most));
  }
  const auto width = (right - left) / static_cast<double>(groups);
  const auto bar = 0.8 * width / static_cast<double>(std::max<std::size_t>(series.size(), 1));
  for (std::size_t s = 0; s < series.size(); ++s) {
    for (std::size_t g = 0; g < series[s].values.size(); ++g) {
      const auto value = series[s].values[g];
      svg += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"/>\n",
          left + width * (static_cast<double>(g) + 0.1) + bar * static_cast<double>(s), y(value),
          bar, bottom - y(value), colour_of(s));
    }
  }
  const auto every = std::max<std::size_t>(1, groups / 16);
  for (std::size_t g = 0; g < groups; g += every) {
    svg += label(left + width * (static_cast<double>(g) + 0.5), bottom + 20, "middle",
                 std::to_string(g));
  }
  return svg + "</svg>\n";
}

}  // namespace troupe
