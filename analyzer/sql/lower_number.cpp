// The identity of call sites: their order in the text.
#include <algorithm>
#include <tuple>

#include "sql/lower_tree.h"

namespace pglocklint::sql {
namespace {

// Visits every expression below a model value through its field list.
struct CallCollector {
  std::vector<Expr*> calls;

  void operator()(std::string_view, auto& value) { visit(value); }
  template <class T>
  void visit(Rare<T>& value) {
    if (value.stored()) visit(value.edit());
  }
  template <class T>
  void visit(List<T>& list) {
    if constexpr (std::is_class_v<T>)
      for (T& item : list) visit(item);
  }
  void visit(Expr& e) {
    if (e.call_id >= 0) calls.push_back(&e);
    Expr::describe(e, *this);
  }
  template <class T>
  requires requires(T& value, CallCollector& v) { T::describe(value, v); }
  void visit(T& value) { T::describe(value, *this); }
  void visit(auto&) {}
  void visit(SourceRange&) {}
  void visit(std::string&) {}

  void number() {
    const auto place = [](const Expr* e) { return std::tuple(e->range.begin, e->range.end); };
    std::ranges::stable_sort(calls, {}, place);
    std::int32_t id = -1;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      // A window clause that several calls name is written once.
      if (i == 0 || place(calls[i]) != place(calls[i - 1]) || calls[i]->name != calls[i - 1]->name) ++id;
      calls[i]->call_id = id;
    }
  }
};

template <class T>
void numberIn(T& value) {
  CallCollector collector;
  collector.visit(value);
  collector.number();
}

}  // namespace

void numberCalls(ParsedStatement& parsed) {
  for (Event& e : parsed.events)
    for (Statement& s : e.statement) numberIn(s);
  for (Ddl& d : parsed.ddl) numberIn(d);
  for (Function& f : parsed.functions) {
    for (Parameter& p : f.parameters) numberIn(p);
    for (Block& b : f.blocks)
      for (Event& e : b.events)
        for (Statement& s : e.statement) numberIn(s);
  }
}

void numberCalls(Query& query) { numberIn(query); }

}  // namespace pglocklint::sql
