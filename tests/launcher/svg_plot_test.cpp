#include "launcher/svg_plot.hpp"

#include "tests/support/expect.hpp"

namespace troupe {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++found;
  }
  return found;
}

TEST(LogLogPlot, EveryPointThatCanBeShownIsInsideTheFrame) {
  const std::vector<PointSeries> series = {{"a", {{1, 1000}, {2, 100}, {4, 0}, {0, 7}}},
                                           {"b & <c>", {{1e6, 1}, {8, 5e9}}}};
  const auto svg = log_log_plot({"title", "x", "y"}, series);
  EXPECT_EQ(count(svg, "<circle"), 4U);
  EXPECT_EQ(count(svg, "<polyline"), 2U);
  EXPECT_GE(count(svg, "b &amp; &lt;c&gt;"), 1U);
  EXPECT_GE(count(svg, "cx=\"80.0\""), 1U);   // 10^0 of 10^0 to 10^6
  EXPECT_GE(count(svg, "cx=\"520.0\""), 1U);  // 10^6
  EXPECT_GE(count(svg, "cy=\"340.0\""), 1U);  // 10^0
  EXPECT_EQ(count(svg, "nan"), 0U);
  EXPECT_EQ(count(svg, "inf"), 0U);
  EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
}

TEST(LogLogPlot, NamesThatDoNotFitAreCounted) {
  const std::vector<PointSeries> series(40, {"one", {{1, 1}}});
  const auto svg = log_log_plot({"t", "x", "y"}, series);
  EXPECT_EQ(count(svg, ">one<"), 17U);
  EXPECT_EQ(count(svg, ">and 23 more<"), 1U);
}

TEST(LogLogPlot, NothingToShowIsAnEmptyFrame) {
  EXPECT_EQ(count(log_log_plot({"t", "x", "y"}, {}), "<circle"), 0U);
}

TEST(BarPlot, TheLargestValueIsTheHeightOfThePlot) {
  const std::vector<BarSeries> series = {{"nodes", {1, 0.5, 0}}, {"edges", {0.25, 2, 1}}};
  const auto svg = bar_plot({"sizes", "part", "share"}, series);
  EXPECT_EQ(count(svg, "<rect"), 1U + 2U + 6U);   // paper, legend, bars
  EXPECT_GE(count(svg, "height=\"300.0\""), 1U);  // 2
  EXPECT_GE(count(svg, "height=\"150.0\""), 1U);  // 1
  EXPECT_GE(count(svg, "height=\"0.0\""), 1U);
  EXPECT_EQ(count(bar_plot({"t", "x", "y"}, {}), "nan"), 0U);
}

}  // namespace
}  // namespace troupe
