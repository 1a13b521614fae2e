// results.hpp — what the runs say: means with their standard errors, which differences are told apart, table and picture.
//
// Plain data, one thread. A row is one machine, one graph, with or without the program's priorities.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace bench {

struct Sample {  // times of one policy in one row, a seed each
  std::vector<double> ms;

  double mean() const {
    double sum = 0;
    for (const double x : ms) sum += x;
    return ms.empty() ? 0 : sum / static_cast<double>(ms.size());
  }
  // Of the mean; 0 with fewer than two.
  double error() const {
    if (ms.size() < 2) return 0;
    double squares = 0;
    const double m = mean(), n = static_cast<double>(ms.size());
    for (const double x : ms) squares += (x - m) * (x - m);
    return std::sqrt(squares / (n - 1) / n);
  }
};

// Twice the standard error of the difference: what is smaller is not told apart.
struct Difference {
  double percent, error;  // that `other` takes longer than `mine`
  Difference(const Sample &mine, const Sample &other)
      : percent((other.mean() / mine.mean() - 1) * 100),
        error(std::hypot(mine.error(), other.error()) / mine.mean() * 100) {}
  bool told_apart() const { return std::fabs(percent) > 2 * error && std::fabs(percent) > 1e-6; }
};

struct Row {
  std::string machine, graph;
  bool priorities;
  std::vector<Sample> of;  // by policy; 0: the one that is compared
  std::string name() const { return machine + ", " + graph + (priorities ? ", with priorities" : ""); }
};

struct Results {
  std::vector<std::string> policies;
  std::vector<Row> rows;
  uint32_t seeds = 0;
  std::string noise;

  static std::string number(double x, const char *format) {
    char text[64];
    std::snprintf(text, sizeof text, format, x);
    return text;
  }

  std::string table() const {
    std::string s = "| machine, graph | " + policies[0] + ", ms |";
    for (size_t p = 1; p < policies.size(); ++p) s += " " + policies[p] + " |";
    s += "\n|---|---|";
    for (size_t p = 1; p < policies.size(); ++p) s += "---|";
    for (const Row &r : rows) {
      s += "\n| " + r.name() + " | " + number(r.of[0].mean(), "%.2f") + " ± " + number(r.of[0].error(), "%.2f") + " |";
      for (size_t p = 1; p < policies.size(); ++p) {
        const Difference d(r.of[0], r.of[p]);
        s += " " + number(d.percent, "%+.1f") + " ± " + number(d.error, "%.1f") + " %" + (d.told_apart() ? "" : " =") + " |";
      }
    }
    s += "\n\n" + policies[0] + ": mean and standard error of " + std::to_string(seeds) + " seeds, kernels ± " + noise +
         " by chance. The others: how much longer (+) or shorter (-) they take, and the standard error of that.\n"
         "Differences below twice the standard error are not told apart (=). Of two policies that are equally fast, "
         "about one row in twenty shows a difference by chance.\n";
    return s;
  }

  // One line for each other policy, and one for each machine and graph where the program's priorities matter.
  std::string summary() const {
    std::string s;
    for (size_t p = 1; p < policies.size(); ++p) {
      size_t better = 0, worse = 0;
      for (const Row &r : rows)
        if (const Difference d(r.of[0], r.of[p]); d.told_apart()) ++(d.percent > 0 ? better : worse);
      s += policies[0] + " against " + policies[p] + ": better in " + std::to_string(better) + ", worse in " +
           std::to_string(worse) + ", not told apart in " + std::to_string(rows.size() - better - worse) + " of " +
           std::to_string(rows.size()) + "\n";
    }
    for (const Row &without : rows)
      for (const Row &with : rows) {
        if (without.priorities || !with.priorities || with.machine != without.machine || with.graph != without.graph) continue;
        for (size_t p = 1; p < policies.size(); ++p) {
          const Difference a(without.of[0], without.of[p]), b(with.of[0], with.of[p]);
          const std::string where = policies[p] + " on " + without.name() + ": ";
          const std::string figures = number(a.percent, "%+.1f") + " % without, " + number(b.percent, "%+.1f") + " % with";
          const bool changes = std::fabs(a.percent - b.percent) > 2 * std::hypot(a.error, b.error);
          if (!changes) continue;  // what priorities change could be chance
          if (a.told_apart() && !b.told_apart())
            s += "priorities of the program hide the difference to " + where + figures + " (not told apart)\n";
          else if (a.told_apart() && b.told_apart() && a.percent * b.percent < 0)
            s += "priorities of the program turn the difference to " + where + figures + "\n";
        }
      }
    return s;
  }

  static std::string colour_of(size_t policy) {
    static constexpr const char *kColours[] = {"#d62728", "#1f77b4", "#2ca02c", "#ff7f0e", "#9467bd", "#8c564b", "#17becf", "#7f7f7f"};
    return kColours[policy % std::size(kColours)];
  }
  // The beginning of a circle: a ring for the first policy, so that dots below it are seen.
  static std::string dot(double x, double y, size_t policy) {
    return "<circle cx=\"" + number(x, "%.1f") + "\" cy=\"" + number(y, "%.1f") + "\" r=\"" + (policy ? "4" : "6") + "\" stroke=\"" +
           colour_of(policy) + "\" stroke-width=\"2\" fill=\"" + (policy ? colour_of(policy) : "none") + "\">";
  }

  // A line for each row, a dot for each policy with a bar of two standard errors either way; the best mean is 100 %.
  bool draw(const std::string &path) const {
    constexpr double kLeft = 330, kWide = 560, kLine = 22, kMost = 200;  // percent of the best at the right end
    const double top = 40, bottom = top + kLine * static_cast<double>(rows.size()), height = bottom + 60;
    const auto x = [&](double percent) { return kLeft + (std::min(percent, kMost) - 95) / (kMost - 95) * kWide; };
    std::ofstream f(path);
    f << "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" << kLeft + kWide + 80 << "\" height=\"" << height
      << "\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n";
    for (int percent = 100; percent <= kMost; percent += 20)
      f << "<line x1=\"" << x(percent) << "\" x2=\"" << x(percent) << "\" y1=\"" << top << "\" y2=\"" << bottom
        << "\" stroke=\"#ddd\"/><text x=\"" << x(percent) << "\" y=\"" << bottom + 16 << "\" text-anchor=\"middle\">" << percent
        << (percent == kMost ? " % and more" : " %") << "</text>\n";
    for (size_t i = 0; i < rows.size(); ++i) {
      const Row &r = rows[i];
      double best = r.of[0].mean();
      for (const Sample &s : r.of) best = std::min(best, s.mean());
      const double y = top + kLine * (static_cast<double>(i) + 0.5);
      f << "<text x=\"" << kLeft - 10 << "\" y=\"" << y + 4 << "\" text-anchor=\"end\">" << r.name() << "</text>\n";
      for (size_t p = policies.size(); p-- > 0;) {  // its own on top
        const double m = r.of[p].mean() / best * 100, e = 2 * r.of[p].error() / best * 100;
        const double at = y + 1.5 * (static_cast<double>(p) - static_cast<double>(policies.size() - 1) / 2);  // beside one another
        const std::string colour = colour_of(p);
        f << "<line x1=\"" << x(m - e) << "\" x2=\"" << x(m + e) << "\" y1=\"" << at << "\" y2=\"" << at << "\" stroke=\"" << colour
          << "\" stroke-width=\"2\"/>" << dot(x(m), at, p) << "<title>" << policies[p] << ": " << number(m, "%.1f") << " ± " << number(e / 2, "%.1f") << " %"
          << (m > kMost ? " (beyond the scale)" : "") << "</title></circle>\n";
      }
    }
    for (size_t p = 0; p < policies.size(); ++p) {
      const double at = 20 + 110 * static_cast<double>(p);
      f << dot(at, 18, p) << "</circle><text x=\"" << at + 10 << "\" y=\"22\">" << policies[p] << "</text>\n";
    }
    f << "<text x=\"" << kLeft << "\" y=\"" << bottom + 40 << "\">time, of the best policy's mean; bars: two standard errors; "
      << seeds << " seeds</text>\n</svg>\n";
    f.close();
    return !f.fail();
  }
};

}  // namespace bench
