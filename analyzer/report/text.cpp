#include "report/text.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace pglocklint {
namespace {

// Colours of the 16-colour palette, so that they fit dark and light terminals.
enum class Ink { Plain, Bold, Error, Warning, Note, Faint };
constexpr std::string_view kInk[] = {"", "\x1b[1m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m", "\x1b[34m"};

class TextWriter {
 public:
  TextWriter(const RunReport& run, const TextOptions& options, SourceCache& sources) : run_(run), options_(options), sources_(sources) {}

  std::string write() {
    for (const Finding& f : run_.findings) writeFinding(f);
    writeSummary();
    if (options_.list_coverage) writeCoverageList();
    return std::move(out_);
  }

 private:
  std::string paint(Ink ink, std::string_view text) const {
    if (!options_.color || ink == Ink::Plain) return std::string(text);
    return fmt::format("{}{}\x1b[0m", kInk[static_cast<int>(ink)], text);
  }
  static Ink inkOf(Severity s) { return s == Severity::Error ? Ink::Error : s == Severity::Warning ? Ink::Warning : Ink::Note; }
  static std::string placeOf(const Location& at) { return fmt::format("{}:{}:{}", printable(at.file), at.line, at.column); }

  void writeFinding(const Finding& f) {
    out_ += fmt::format("{}: {} {}\n", paint(Ink::Bold, placeOf(f.where)), paint(inkOf(f.severity), fmt::format("{}[{}]", nameOf(f.severity), f.code)),
                        paint(Ink::Bold, f.rule));
    out_ += wrapped(printable(f.message), options_.width, "  ");
    writeExcerpt(f.where, '^', inkOf(f.severity));
    for (const RelatedPlace& p : f.related) {
      out_ += wrapped(fmt::format("{}: {}", placeOf(p.where), printable(p.message)), options_.width, "  ");
      writeExcerpt(p.where, '-', Ink::Faint);
    }
    if (!f.path.empty()) out_ += "  path:\n";
    for (std::size_t i = 0; i < f.path.size(); ++i)
      out_ += wrapped(fmt::format("{}. {}: {}", i + 1, placeOf(f.path[i].where), printable(f.path[i].message)), options_.width, "    ");
    for (const FixEdit& fix : f.fixes) writeFix(fix);
    if (f.suppressed)
      out_ += wrapped("suppressed: " + (f.suppression_reason.empty() ? "no reason given" : printable(f.suppression_reason)), options_.width, "  ");
    if (explained_.insert(f.rule).second) out_ += fmt::format("  {} pglocklint explain {}\n", paint(Ink::Faint, "more:"), f.rule);
    out_ += '\n';
  }

  // Of a very long line only so much is looked at: a file may have all its findings in one.
  static constexpr std::size_t kLongLine = 20'000;
  static std::size_t skippedBytes(std::string_view line, std::size_t column) {
    constexpr std::size_t kBefore = 1'000;
    if (line.size() <= kLongLine || column <= kBefore) return 0;
    std::size_t skipped = std::min(column - kBefore, line.size());
    while (skipped > 0 && skipped < line.size() && (static_cast<unsigned char>(line[skipped]) & 0xC0) == 0x80) --skipped;
    return skipped;
  }

  // The line with the spot marked below it. Long lines are cut around the spot.
  void writeExcerpt(const Location& at, char mark, Ink ink) {
    const std::string_view whole = sources_.file(at.file).line(at.line);
    if (whole.empty()) return;
    const std::size_t skipped = skippedBytes(whole, at.column);
    const std::string_view line = whole.substr(skipped, skipped == 0 && whole.size() <= kLongLine ? whole.npos : kLongLine);
    const DisplayLine shown = displayLine(line);
    const auto column_of = [&](std::size_t byte_column) {
      const std::size_t byte = byte_column > skipped ? byte_column - skipped - 1 : 0;
      return shown.column_of_byte[std::min(byte, shown.column_of_byte.size() - 1)];
    };
    const std::size_t begin = column_of(at.column);
    const std::size_t end = std::max<std::size_t>(begin + 1, at.end_line > at.line ? shown.columns : column_of(at.end_column));
    const std::string number = std::to_string(at.line);
    const std::size_t room = std::max<std::size_t>(options_.width, 40) - 10;

    const auto [first, last] = window(begin, end, shown.columns, room);
    const bool cut = first > 0 || skipped > 0;
    const std::string_view left = cut ? "…" : "", right = last < shown.columns || skipped + line.size() < whole.size() ? "…" : "";
    const std::size_t mark_begin = std::max(begin, first) - first + (cut ? 1 : 0);
    const std::size_t mark_width = std::max<std::size_t>(1, std::min(end, last) - std::max(begin, first));
    out_ += fmt::format("{} {}{}{}\n", paint(Ink::Faint, fmt::format("{:>5} |", number)), left, slice(shown.text, first, last), right);
    out_ += fmt::format("{} {}{}\n", paint(Ink::Faint, "      |"), std::string(mark_begin, ' '), paint(ink, std::string(mark_width, mark)));
  }

  // The columns [first, last) to show of a line of `columns`, at most `room`, so that the spot is seen with something before it.
  static std::pair<std::size_t, std::size_t> window(std::size_t begin, std::size_t end, std::size_t columns, std::size_t room) {
    if (columns <= room) return {0, columns};
    constexpr std::size_t kBefore = 20;
    std::size_t first = end <= room ? 0 : begin > kBefore ? begin - kBefore : 0;
    if (end > room && end + kBefore / 2 >= columns) first = columns - std::min(columns, std::max(room, columns - begin));
    return {first, std::min(columns, first + room)};
  }

  // Columns [first, last) of a text whose code points take one column each.
  static std::string_view slice(std::string_view text, std::size_t first, std::size_t last) {
    std::size_t column = 0, begin = text.size(), end = text.size();
    for (std::size_t i = 0; i < text.size(); ++i) {
      if ((static_cast<unsigned char>(text[i]) & 0xC0) == 0x80) continue;
      if (column == first) begin = i;
      if (column == last) {
        end = i;
        break;
      }
      ++column;
    }
    return text.substr(std::min(begin, end), end - std::min(begin, end));
  }

  void writeFix(const FixEdit& fix) {
    const SourceLines& source = sources_.file(fix.file);
    const auto [line, column] = source.at(fix.start);
    const std::string old = fix.end <= source.text().size() && fix.start <= fix.end ? source.text().substr(fix.start, fix.end - fix.start) : "";
    const std::string place = fmt::format("{}:{}:{}", printable(fix.file), line, column);
    std::string what;
    if (old.empty())
      what = fmt::format("insert `{}`", printable(fix.text));
    else if (fix.text.empty())
      what = fmt::format("delete `{}`", printable(old));
    else
      what = fmt::format("replace `{}` by `{}`", printable(old), printable(fix.text));
    out_ += wrapped(fmt::format("fix at {}: {}", place, what), options_.width, "  ");
  }

  void writeSummary() {
    std::uint64_t counts[3] = {0, 0, 0};
    for (const Finding& f : run_.findings)
      if (!f.suppressed) ++counts[static_cast<int>(f.severity)];
    std::string found;
    for (const Severity s : {Severity::Error, Severity::Warning, Severity::Note})
      if (const auto n = counts[static_cast<int>(s)]; n > 0)
        found += fmt::format("{}{}", found.empty() ? "" : ", ", paint(inkOf(s), counted(n, nameOf(s))));
    if (found.empty()) found = "No findings";
    std::string withheld;
    if (run_.coverage.suppressed > 0) withheld = fmt::format("{} suppressed", run_.coverage.suppressed);
    if (run_.baselined > 0) withheld += fmt::format("{}{} in the baseline", withheld.empty() ? "" : ", ", run_.baselined);
    out_ += fmt::format("{} in {}{}\n", found, counted(run_.coverage.files, "file"), withheld.empty() ? "" : " (" + withheld + ")");

    const Coverage& c = run_.coverage;
    const std::size_t missing = c.not_understood.size();
    out_ += fmt::format("Coverage: {}, {}", counted(c.statements, "statement"), counted(c.call_sites, "call site"));
    if (c.superseded > 0) out_ += fmt::format(", {}", counted(c.superseded, "superseded definition"));
    out_ += fmt::format(", {} not understood", missing);
    if (!c.units.empty()) out_ += fmt::format(", {} not read in full", counted(c.units.size(), "file"));
    if ((missing > 0 || !c.units.empty()) && !options_.list_coverage) out_ += " (list: --coverage)";
    out_ += '\n';
  }

  void writeCoverageList() {
    for (const CoverageEntry& e : run_.coverage.not_understood)
      out_ += fmt::format("  {}:{}: not understood: {}\n", printable(e.file), e.line, printable(e.reason));
    for (const UnitStatus& u : run_.coverage.units)
      out_ += fmt::format("  {}: {}: {}\n", printable(u.file), u.status, printable(u.reason));
  }

  const RunReport& run_;
  const TextOptions& options_;
  SourceCache& sources_;
  std::string out_;
  std::set<std::string> explained_;
};

}  // namespace

std::string counted(std::uint64_t n, std::string_view noun) { return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s"); }

std::string wrapped(std::string_view text, std::size_t width, std::string_view margin) {
  const std::size_t room = width > margin.size() + 20 ? width - margin.size() : 20;
  std::string out, line;
  std::size_t columns = 0;
  const auto flush = [&] {
    out.append(margin).append(line).append("\n");
    line.clear(), columns = 0;
  };
  while (!text.empty()) {
    const auto end = text.find(' ');
    const std::string_view word = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view() : text.substr(end + 1);
    if (word.empty()) continue;
    const std::size_t more = columnsOf(word) + (line.empty() ? 0 : 1);
    if (!line.empty() && columns + more > room) flush();
    if (!line.empty()) line += ' ', ++columns;
    line += word, columns += columnsOf(word);
  }
  if (!line.empty()) flush();
  return out;
}

std::string textReport(const RunReport& run, const TextOptions& options, SourceCache& sources) {
  return TextWriter(run, options, sources).write();
}

}  // namespace pglocklint
