#pragma once
/// \file svg_plot.hpp
/// Two kinds of plot as SVG text that any browser shows: points over two logarithmic axes, and bars.
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace troupe {

/// A named line of a plot, or a named group of bars.
struct PointSeries {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< x > 0, y > 0; others are left out
};
struct BarSeries {
  std::string name;
  std::vector<double> values;  ///< [groups], >= 0
};

struct PlotText {
  std::string title;
  std::string x;
  std::string y;
};

/// Points joined by lines; ticks are powers of ten.
std::string log_log_plot(const PlotText& text, std::span<const PointSeries> series);

/// A group of bars for each value, a bar of it for each series; the y axis begins at 0.
std::string bar_plot(const PlotText& text, std::span<const BarSeries> series);

}  // namespace troupe
