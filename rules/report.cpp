// Report: what every finding has in common is filled in here, so that a rule states only what is its own.
#include "rule.h"

#include <fmt/format.h>

namespace pglocklint {
namespace {

std::string_view formName(KeyForm form) {
  switch (form) {
    case KeyForm::Bigint: return "bigint";
    case KeyForm::Pair: return "pair";
    case KeyForm::Tag: return "tag";
    case KeyForm::None:
    case KeyForm::NoOverload:
    case KeyForm::Unknown: break;
  }
  return "";
}

std::string subjectAt(const Program& program, int unit, const SourceRange& range) {
  return fmt::format("{}:{}", program.units[static_cast<std::size_t>(unit)].files[range.file], range.begin);
}

}  // namespace

Finding& Report::at(const LockSite& site, const SourceRange& range, std::string message) {
  Finding& finding = at(site.unit, range, std::move(message));
  finding.function = functionName(site.function);
  finding.key_form = formName(site.key.form);
  finding.key_text = site.key.class_text;
  if (site.call) finding.subject = subjectAt(program_, site.unit, site.call->range);
  return finding;
}

Finding& Report::at(int unit, const SourceRange& range, std::string message) {
  Finding& finding = out_.emplace_back();
  finding.rule = info_.name;
  finding.code = info_.code;
  finding.severity = info_.severity;
  finding.where = program_.locate(unit, range);
  finding.message = std::move(message);
  finding.subject = subjectAt(program_, unit, range);
  return finding;
}

void Report::alsoAbout(Finding& finding, int unit, const SourceRange& call) const {
  finding.other_subjects.push_back(subjectAt(program_, unit, call));
}

RelatedPlace Report::place(int unit, const SourceRange& range, std::string message) const {
  return {program_.locate(unit, range), std::move(message)};
}

}  // namespace pglocklint
