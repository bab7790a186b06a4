// Statements that run something, end or begin transactions, or change settings.
#include <algorithm>
#include <array>
#include <cctype>
#include <limits>

#include "sql/lower_tree.h"
#include "model/ascii.h"
#include "sql/types.h"

namespace pglocklint::sql {
namespace {

std::string text(const char* s) { return s ? s : ""; }

// Words that name a kind of statement or object; what follows them is the user's.
constexpr auto kHeadWords = std::to_array<std::string_view>(
    {"aggregate",  "all",        "alter",        "analyze",     "begin",    "call",       "cast",         "characteristics",
     "checkpoint", "close",      "cluster",      "collation",   "column",   "comment",    "commit",       "constraints",
     "copy",       "create",     "database",     "deallocate",  "declare",  "default",    "delete",       "discard",
     "do",         "domain",     "drop",         "end",         "event",    "execute",    "explain",      "extension",
     "fetch",      "foreign",    "from",         "function",    "grant",    "import",     "index",        "insert",
     "into",       "language",   "listen",       "load",        "local",    "lock",       "materialized", "merge",
     "move",       "notify",     "on",           "operator",    "owned",    "plans",      "policy",       "prepare",
     "prepared",   "privileges", "procedure",    "publication", "reassign", "refresh",    "reindex",      "release",
     "reset",      "revoke",     "role",         "rollback",    "routine",  "rule",       "savepoint",    "schema",
     "security",   "select",     "sequence",     "sequences",   "server",   "session",    "set",          "show",
     "start",      "statistics", "subscription", "system",      "table",    "tablespace", "temp",         "transaction",
     "trigger",    "truncate",   "type",         "unlisten",    "update",   "user",       "vacuum",       "values",
     "view",       "with"});
static_assert(std::ranges::is_sorted(kHeadWords));

// Words between the verb and its object that tell nothing about the kind.
constexpr auto kHeadFillers =
    std::to_array<std::string_view>({"constraint", "or", "recursive", "replace", "temporary", "unique", "unlogged"});

// A setting's value as one text: SET a = b, 'c', 3.
std::string argumentText(const Node* n) {
  if (!contentOf(n)) return {};
  if (n->node_case == PG_QUERY__NODE__NODE_TYPE_CAST) return argumentText(n->type_cast->arg);
  if (n->node_case != PG_QUERY__NODE__NODE_A_CONST) return std::string(stringOf(n));
  const auto& c = *n->a_const;
  switch (c.val_case) {
    case PG_QUERY__A__CONST__VAL_IVAL: return std::to_string(c.ival->ival);
    case PG_QUERY__A__CONST__VAL_FVAL: return normalNumber(c.fval->fval);
    case PG_QUERY__A__CONST__VAL_BOOLVAL: return c.boolval->boolval ? "true" : "false";
    case PG_QUERY__A__CONST__VAL_SVAL: return text(c.sval->sval);
    case PG_QUERY__A__CONST__VAL_BSVAL: return text(c.bsval->bsval);
    default: return c.isnull ? "" : "0";
  }
}

bool isTrueOption(const PgQuery__DefElem& d) {
  if (!contentOf(d.arg)) return true;
  if (d.arg->node_case == PG_QUERY__NODE__NODE_BOOLEAN) return d.arg->boolean->boolval;
  if (d.arg->node_case == PG_QUERY__NODE__NODE_INTEGER) return d.arg->integer->ival != 0;
  const std::string value = lowered(stringOf(d.arg));
  return value == "true" || value == "on";
}

}  // namespace

std::string Lowering::head(Span region) const {
  std::string head;
  int words = 0;
  for (std::int32_t i = region.first; region.known() && i <= region.last && words < 3; ++i) {
    if (tokens_[i].kind != TokenKind::Word) break;
    std::string word = lowered(tokens_.text(i));
    if (words > 0 && std::ranges::find(kHeadFillers, word) != kHeadFillers.end()) continue;
    if (words > 0 && !std::ranges::binary_search(kHeadWords, word)) break;
    std::ranges::transform(word, word.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (words++ > 0) head += ' ';
    head += word;
  }
  return head;
}

Statement Lowering::plain(StatementKind kind, Span region) const {
  Statement s;
  s.kind = kind, s.range = range(region), s.head = head(region);
  return s;
}

void Lowering::statement(const Node* node, Span region, ParsedStatement& out) {
  if (!contentOf(node)) return;
  const bool materialized_view = node->node_case == PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT &&
                                 node->create_table_as_stmt->objtype == PG_QUERY__OBJECT_TYPE__OBJECT_MATVIEW;
  if (materialized_view)
    createMaterializedView(*node->create_table_as_stmt, region, out);
  else if (auto s = executable(node, region))
    out.events.emplace_back(std::move(*s));
  else if (!sessionStatement(node, region, out) && !definition(node, region, out)) {
    Statement utility = plain(StatementKind::Utility, region);
    utility.exprs = callsIn(*contentOf(node));
    out.events.emplace_back(std::move(utility));
  }
}

// SELECT and the like, and what wraps one query.
std::optional<Statement> Lowering::executable(const Node* node, Span region) {
  const auto wrap = [&](StatementKind kind, const Node* query) {
    Statement s = plain(kind, region);
    if (auto inner = executable(query, region)) {
      s.query = std::move(inner->query), s.exprs = std::move(inner->exprs), s.name = std::move(inner->name);
      s.no_data = inner->no_data;
    }
    return s;
  };
  switch (node->node_case) {
    case PG_QUERY__NODE__NODE_SELECT_STMT: {
      const PgQuery__SelectStmt* leaf = node->select_stmt;
      while (leaf->larg && leaf->op != PG_QUERY__SET_OPERATION__SETOP_NONE) leaf = leaf->larg;
      Statement s = plain(leaf->into_clause ? StatementKind::CreateTableAs : StatementKind::Query, region);
      s.query = optionalQuery(node, region);
      return s;
    }
    case PG_QUERY__NODE__NODE_INSERT_STMT:
    case PG_QUERY__NODE__NODE_UPDATE_STMT:
    case PG_QUERY__NODE__NODE_DELETE_STMT:
    case PG_QUERY__NODE__NODE_MERGE_STMT: {
      Statement s = plain(StatementKind::Query, region);
      s.query = optionalQuery(node, region);
      return s;
    }
    case PG_QUERY__NODE__NODE_EXPLAIN_STMT: {
      bool analyze = false;
      for (const Node* n : nodes(node->explain_stmt->n_options, node->explain_stmt->options))
        if (n->node_case == PG_QUERY__NODE__NODE_DEF_ELEM && text(n->def_elem->defname) == "analyze")
          analyze = isTrueOption(*n->def_elem);
      return wrap(analyze ? StatementKind::ExplainAnalyze : StatementKind::Explain, node->explain_stmt->query);
    }
    case PG_QUERY__NODE__NODE_PREPARE_STMT: {
      Statement s = wrap(StatementKind::Prepare, node->prepare_stmt->query);
      s.name = text(node->prepare_stmt->name);
      return s;
    }
    case PG_QUERY__NODE__NODE_EXECUTE_STMT: {
      Statement s = plain(StatementKind::Execute, region);
      s.name = text(node->execute_stmt->name);
      exprs(nodes(node->execute_stmt->n_params, node->execute_stmt->params), s.exprs);
      return s;
    }
    case PG_QUERY__NODE__NODE_DECLARE_CURSOR_STMT: {
      constexpr int kHold = 0x20;  // CURSOR_OPT_HOLD since PostgreSQL 14
      Statement s = wrap(StatementKind::DeclareCursor, node->declare_cursor_stmt->query);
      s.name = text(node->declare_cursor_stmt->portalname);
      s.hold = node->declare_cursor_stmt->options & kHold;
      return s;
    }
    case PG_QUERY__NODE__NODE_FETCH_STMT: {
      const auto& f = *node->fetch_stmt;
      Statement s = plain(f.ismove ? StatementKind::Move : StatementKind::Fetch, region);
      s.name = text(f.portalname);
      s.fetch_backward = f.direction == PG_QUERY__FETCH_DIRECTION__FETCH_BACKWARD;
      const bool all = f.how_many >= std::numeric_limits<std::int32_t>::max();
      const bool last =
          f.direction == PG_QUERY__FETCH_DIRECTION__FETCH_ABSOLUTE && f.how_many < 0;  // from the end: reads everything
      s.fetch_count = all || last ? -1 : f.how_many;
      const bool absolute = f.direction == PG_QUERY__FETCH_DIRECTION__FETCH_ABSOLUTE, relative = f.direction == PG_QUERY__FETCH_DIRECTION__FETCH_RELATIVE;
      s.fetch_skips = (absolute || relative) && f.how_many != 1;
      if (relative && f.how_many == 0) s.fetch_backward = true;  // the same row again
      if (!all && !last && f.how_many < 0) s.fetch_count = -f.how_many, s.fetch_backward = !s.fetch_backward;
      return s;
    }
    case PG_QUERY__NODE__NODE_CLOSE_PORTAL_STMT: {
      Statement s = plain(StatementKind::CloseCursor, region);
      s.name = text(node->close_portal_stmt->portalname);
      return s;
    }
    case PG_QUERY__NODE__NODE_CREATE_TABLE_AS_STMT: return tableAs(*node->create_table_as_stmt, region);
    case PG_QUERY__NODE__NODE_COPY_STMT: {
      const auto& c = *node->copy_stmt;
      if (!contentOf(c.query)) return std::nullopt;
      Statement s = plain(StatementKind::Copy, region);
      Span inner;
      for (std::int32_t i = region.first; region.known() && i <= region.last && !inner.known(); ++i)
        if (tokens_.isText(i, "(")) inner = tokens_.inside(i);
      s.query = optionalQuery(c.query, inner);
      return s;
    }
    case PG_QUERY__NODE__NODE_CALL_STMT: {
      Statement s = plain(StatementKind::Call, region);
      if (const auto* f = node->call_stmt->funccall) {
        Expr& e = s.exprs.emplace_back();
        const Span span = call(*f, e);
        if (!e.range.known()) e.range = range(span);
      }
      return s;
    }
    case PG_QUERY__NODE__NODE_REFRESH_MAT_VIEW_STMT: {
      Statement s = plain(StatementKind::Utility, region);
      s.no_data = node->refresh_mat_view_stmt->skip_data;
      if (const auto* r = node->refresh_mat_view_stmt->relation) s.name = text(r->relname);
      return s;
    }
    default: return std::nullopt;
  }
}

Statement Lowering::tableAs(const PgQuery__CreateTableAsStmt& c, Span region) {
  Span query = region;
  if (query.known() && tokens_.isWord(query.last, "data")) query.last -= tokens_.isWord(query.last - 1, "no") ? 3 : 2;
  Statement s = plain(StatementKind::CreateTableAs, region);
  if (contentOf(c.query) && c.query->node_case == PG_QUERY__NODE__NODE_EXECUTE_STMT) {
    s.name = text(c.query->execute_stmt->name);
    exprs(nodes(c.query->execute_stmt->n_params, c.query->execute_stmt->params), s.exprs);
  } else {
    s.query = optionalQuery(c.query, query);
  }
  s.no_data = c.into && c.into->skip_data;
  return s;
}

bool Lowering::sessionStatement(const Node* node, Span region, ParsedStatement& out) {
  switch (node->node_case) {
    case PG_QUERY__NODE__NODE_TRANSACTION_STMT: transaction(*node->transaction_stmt, region, out); return true;
    case PG_QUERY__NODE__NODE_VARIABLE_SET_STMT: return setting(*node->variable_set_stmt, region, out);
    case PG_QUERY__NODE__NODE_CONSTRAINTS_SET_STMT: {
      const auto& c = *node->constraints_set_stmt;
      Setting set;
      set.range = range(region), set.scope = SettingScope::Local, set.value = c.deferred ? "deferred" : "immediate";
      const NodeList names = nodes(c.n_constraints, c.constraints);
      if (names.empty()) set.name = "constraints", out.events.emplace_back(set);
      for (const Node* n : names)
        if (n->node_case == PG_QUERY__NODE__NODE_RANGE_VAR) set.name = "constraints " + text(n->range_var->relname), out.events.emplace_back(set);
      return true;
    }
    case PG_QUERY__NODE__NODE_DISCARD_STMT: {
      if (node->discard_stmt->target != PG_QUERY__DISCARD_MODE__DISCARD_ALL) return false;
      SessionOp op;
      op.verb = SessionVerb::DiscardAll, op.range = range(region);
      out.events.emplace_back(std::move(op));
      return true;
    }
    case PG_QUERY__NODE__NODE_DO_STMT: doBlock(*node->do_stmt, region, out); return true;
    default: return false;
  }
}

namespace {

TransactionVerb verbOf(PgQuery__TransactionStmtKind kind) {
  switch (kind) {
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_COMMIT: return TransactionVerb::Commit;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK: return TransactionVerb::Rollback;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_SAVEPOINT: return TransactionVerb::Savepoint;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_RELEASE: return TransactionVerb::Release;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK_TO: return TransactionVerb::RollbackTo;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_PREPARE: return TransactionVerb::PrepareTransaction;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_COMMIT_PREPARED: return TransactionVerb::CommitPrepared;
    case PG_QUERY__TRANSACTION_STMT_KIND__TRANS_STMT_ROLLBACK_PREPARED: return TransactionVerb::RollbackPrepared;
    default: return TransactionVerb::Begin;
  }
}

std::string isolationOf(NodeList options) {
  for (const Node* n : options)
    if (n->node_case == PG_QUERY__NODE__NODE_DEF_ELEM && text(n->def_elem->defname) == "transaction_isolation")
      return argumentText(n->def_elem->arg);
  return {};
}

}  // namespace

void Lowering::transaction(const PgQuery__TransactionStmt& t, Span region, ParsedStatement& out) {
  TransactionOp op;
  op.verb = verbOf(t.kind), op.range = range(region), op.chain = t.chain;
  op.name = t.savepoint_name && *t.savepoint_name ? t.savepoint_name : text(t.gid);
  op.isolation = isolationOf(nodes(t.n_options, t.options));
  out.events.emplace_back(std::move(op));
}

Setting Lowering::settingOf(const PgQuery__VariableSetStmt& s, Span region) const {
  Setting setting;
  setting.range = range(region);
  setting.name = lowered(text(s.name));
  for (const Node* n : nodes(s.n_args, s.args)) {
    if (!setting.value.empty()) setting.value += ", ";
    setting.value += argumentText(n);
  }
  setting.scope = s.is_local ? SettingScope::Local : SettingScope::Session;
  if (s.kind == PG_QUERY__VARIABLE_SET_KIND__VAR_RESET || s.kind == PG_QUERY__VARIABLE_SET_KIND__VAR_RESET_ALL ||
      s.kind == PG_QUERY__VARIABLE_SET_KIND__VAR_SET_DEFAULT)
    setting.scope = SettingScope::Reset;
  if (s.kind == PG_QUERY__VARIABLE_SET_KIND__VAR_RESET_ALL) setting.name = "all";
  return setting;
}

bool Lowering::setting(const PgQuery__VariableSetStmt& s, Span region, ParsedStatement& out) {
  if (s.kind == PG_QUERY__VARIABLE_SET_KIND__VAR_SET_MULTI) {
    const std::string what = text(s.name);
    const std::string isolation = isolationOf(nodes(s.n_args, s.args));
    if (what == "TRANSACTION") {
      TransactionOp op;
      op.verb = TransactionVerb::SetTransaction, op.range = range(region), op.isolation = isolation;
      out.events.emplace_back(std::move(op));
      return true;
    }
    if (what != "SESSION CHARACTERISTICS" || isolation.empty()) return false;
    Setting setting;
    setting.range = range(region), setting.name = "default_transaction_isolation", setting.value = isolation;
    out.events.emplace_back(std::move(setting));
    return true;
  }
  out.events.emplace_back(settingOf(s, region));
  if (out.events.back().setting[0].name == "search_path") {
    Ddl d = ddl(DdlKind::SetSearchPath, region);
    d.name = out.events.back().setting[0].value;
    for (const Node* n : nodes(s.n_args, s.args)) d.options.push_back(argumentText(n));
    add(std::move(d), out);
  }
  return true;
}

}  // namespace pglocklint::sql
