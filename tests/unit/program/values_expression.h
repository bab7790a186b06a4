// SQL expressions for tests of this layer, which knows no parser: expr("hashtext('a' || $1)") builds the Expr that a front end
// would. Literals, casts, operators with PostgreSQL's precedence, calls, columns, $n, CASE, COALESCE, NULLIF.
#pragma once
#include <cctype>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/query_shape.h"

namespace pglocklint::test {

class ExpressionReader {
 public:
  explicit ExpressionReader(std::string text) : text_(std::move(text)) {}
  Expr read() {
    Expr e = binary(0);
    space();
    if (at_ != text_.size()) throw std::runtime_error("test expression not understood: " + text_.substr(at_));
    return e;
  }

 private:
  // Loosest first: comparison, other operators, + -, * / %, ^.
  static int level(const std::string& op) {
    if (op == "=" || op == "<" || op == ">" || op == "<>" || op == "<=" || op == ">=") return 1;
    if (op == "+" || op == "-") return 3;
    if (op == "*" || op == "/" || op == "%") return 4;
    return op == "^" ? 5 : 2;
  }
  void space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(std::string_view s) {
    space();
    if (text_.compare(at_, s.size(), s) != 0) return false;
    if (std::isalpha(static_cast<unsigned char>(s[0])) != 0 && at_ + s.size() < text_.size() && isWord(text_[at_ + s.size()])) return false;
    at_ += s.size();
    return true;
  }
  static bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
  std::string operatorHere() {
    space();
    std::size_t end = at_;
    while (end < text_.size() && std::string_view("+-*/%^|&#<>=~@").find(text_[end]) != std::string_view::npos) ++end;
    std::string op = text_.substr(at_, end - at_);
    while (op.size() > 1 && (op.back() == '-' || op.back() == '~') && op != "->") op.pop_back();  // a sign of the next operand
    return op;
  }
  std::string word() {
    space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && isWord(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }
  std::string quoted() {
    std::string s;
    for (++at_; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\'') {
        if (at_ + 1 >= text_.size() || text_[at_ + 1] != '\'') break;
        ++at_;
      }
      s += text_[at_];
    }
    ++at_;
    return s;
  }
  static Expr literal(LiteralKind kind, std::string text) {
    Expr e;
    e.kind = ExprKind::Const, e.literal = kind, e.text = std::move(text);
    return e;
  }
  Expr binary(int loosest) {
    Expr left = unary();
    for (;;) {
      const std::string op = operatorHere();
      if (op.empty() || level(op) < loosest) return left;
      at_ += op.size();
      Expr e;
      e.kind = ExprKind::Op, e.name = op;
      Expr right = binary(level(op) + 1);
      if (left.is(ExprKind::Op) && left.name == op && left.args.size() > 1 && !parenthesized_) {
        left.args.push_back(std::move(right));  // a long chain is one operator
        continue;
      }
      parenthesized_ = false;
      e.args = {std::move(left), std::move(right)};
      left = std::move(e);
    }
  }
  Expr unary() {
    const std::string op = operatorHere();
    if (op != "-" && op != "~" && op != "+" && op != "@") return postfix(primary());
    at_ += 1;
    Expr e;
    e.kind = ExprKind::Op, e.name = op, e.args = {unary()};
    return e;
  }
  Expr postfix(Expr e) {
    while (take("::")) {
      Expr c;
      c.kind = ExprKind::Cast, c.type = type(), c.args = {std::move(e)};
      e = std::move(c);
    }
    return e;
  }
  std::string type() {
    std::string t = take("\"char\"") ? "\"char\"" : word();
    if (t == "double") t += " " + word();
    if (t == "timestamp" && take("with time zone")) t += " with time zone";
    space();
    if (at_ < text_.size() && text_[at_] == '(') {
      const auto close = text_.find(')', at_);
      t += text_.substr(at_, close - at_ + 1);
      at_ = close + 1;
    }
    if (take("[]")) t += "[]";
    return t;
  }
  std::vector<Expr> list(char close) {
    std::vector<Expr> args;
    space();
    while (at_ < text_.size() && text_[at_] != close) {
      args.push_back(binary(0));
      take(",");
      space();
    }
    ++at_;
    return args;
  }
  Expr primary() {
    space();
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    if (c == '(') {
      ++at_;
      Expr e = binary(0);
      take(")");
      parenthesized_ = true;
      return e;
    }
    if (c == '\'') return literal(LiteralKind::String, quoted());
    if ((c == 'x' || c == 'b') && text_.compare(at_ + 1, 1, "'") == 0) {
      ++at_;
      return literal(LiteralKind::BitString, c + quoted());
    }
    if (c == '$') {
      ++at_;
      Expr e;
      e.kind = ExprKind::Param, e.text = word();
      return e;
    }
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '.') return number();
    return named();
  }
  Expr number() {
    const std::size_t begin = at_;
    while (at_ < text_.size() && (isWord(text_[at_]) || text_[at_] == '.')) ++at_;
    const std::string s = text_.substr(begin, at_ - begin);
    const bool fraction = s.find('.') != std::string::npos || (s.find('e') != std::string::npos && !s.starts_with("0x"));
    return literal(fraction ? LiteralKind::Numeric : LiteralKind::Integer, s);
  }
  Expr named() {
    Expr e;
    std::string name = word();
    if (name.empty()) throw std::runtime_error("test expression not understood: " + text_);
    if (name == "NULL") return literal(LiteralKind::Null, "");
    if (name == "true" || name == "false") return literal(LiteralKind::Boolean, name);
    if (name == "CASE") return caseExpression();
    if (take(".")) e.qualifier = name, name = word();
    e.name = name;
    if (take("[")) {
      e.kind = ExprKind::Array, e.name.clear();
      e.args = list(']');
      return e;
    }
    if (!take("(")) {
      e.kind = ExprKind::Column;
      return e;
    }
    e.kind = name == "COALESCE"                          ? ExprKind::Coalesce
             : name == "NULLIF"                          ? ExprKind::NullIf
             : name == "GREATEST" || name == "LEAST"     ? ExprKind::MinMax
             : name == "row"                             ? ExprKind::Row
                                                         : ExprKind::Call;
    if (take("*")) e.call_star = true;
    e.args = list(')');
    return e;
  }
  Expr caseExpression() {
    Expr e;
    e.kind = ExprKind::Case;
    while (take("WHEN")) {
      e.args.push_back(binary(0));
      take("THEN");
      e.args.push_back(binary(0));
    }
    if (take("ELSE")) e.has_else = true, e.args.push_back(binary(0));
    take("END");
    return e;
  }

  std::string text_;
  std::size_t at_ = 0;
  bool parenthesized_ = false;
};

inline Expr expr(const std::string& text) { return ExpressionReader(text).read(); }

}  // namespace pglocklint::test
