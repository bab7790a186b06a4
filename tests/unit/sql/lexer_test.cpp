// The lexer against the manual's chapter 4.1 and against the places where drivers and templates bend it.
#include "sql/lexer.h"

#include <doctest/doctest.h>

#include <string>

using namespace pglocklint::sql;

namespace {

std::string kindLetter(TokenKind kind) {
  switch (kind) {
    case TokenKind::End: return "End";
    case TokenKind::Word: return "W";
    case TokenKind::QuotedWord: return "Q";
    case TokenKind::String: return "S";
    case TokenKind::EscapeString: return "E";
    case TokenKind::BitString: return "B";
    case TokenKind::DollarString: return "D";
    case TokenKind::Number: return "N";
    case TokenKind::Param: return "P";
    case TokenKind::Operator: return "O";
    case TokenKind::Punctuation: return "";
    case TokenKind::Placeholder: return "X";
    case TokenKind::MetaCommand: return "M";
    case TokenKind::Comment: return "C";
    case TokenKind::Error: return "!";
  }
  return "?";
}

// "W:select N:1 ;" for `select 1;`: each token's kind and text.
std::string lexed(std::string_view text, LexOptions options = {}) {
  Lexer lexer(text, options);
  std::string out;
  for (Token t = lexer.next(); t.kind != TokenKind::End; t = lexer.next()) {
    if (!out.empty()) out += ' ';
    const std::string kind = kindLetter(t.kind);
    out += (kind.empty() ? "" : kind + ":") + std::string(lexer.text(t));
  }
  return out;
}

constexpr LexOptions kPlain{.psql = false, .placeholders = false, .keep_comments = false};

}  // namespace

TEST_CASE("words, quoted words and strings") {
  CHECK(lexed("select naïve, \"a\"\"b\", x$1 from t;") == "W:select W:naïve , Q:\"a\"\"b\" , W:x$1 W:from W:t ;");
  CHECK(lexed("'it''s' E'a\\'b' U&'d\\0061' n'x' b'01' X'ff' u&\"q\"") ==
        "S:'it''s' E:E'a\\'b' E:U&'d\\0061' S:n'x' B:b'01' B:X'ff' Q:u&\"q\"");
  CHECK(lexed("'back\\' x") == "S:'back\\' W:x");
  CHECK(lexed("E'a'\n'b\\'c' 'd\\'") == "E:E'a' E:'b\\'c' S:'d\\'");
  CHECK(lexed("e 'x' u & 'y'") == "W:e S:'x' W:u O:& S:'y'");
}

TEST_CASE("dollar quotes have tags, nest by tag, and do not start inside a word") {
  CHECK(lexed("$$a;b$$ $f$ $$ $g$ $f$ a$b$c$") == "D:$$a;b$$ D:$f$ $$ $g$ $f$ W:a$b$c$");
  CHECK(lexed("$1 + $23") == "P:$1 O:+ P:$23");
  CHECK(lexed("$f$ never closed") == "!:$f$ never closed");
}

TEST_CASE("comments nest; an open comment or quote reaches to the end") {
  CHECK(lexed("a /* x /* y */ z */ b -- c\nd") == "W:a W:b W:d");
  CHECK(lexed("a /* x /* y */ b") == "W:a !:/* x /* y */ b");
  CHECK(lexed("a 'b") == "W:a !:'b");
  CHECK(lexed("a \"b") == "W:a !:\"b");
  CHECK(lexed("a -- b\n/* c */", {.keep_comments = true}) == "W:a C:-- b C:/* c */");
  CHECK(lexed("/*/ */x") == "W:x");
}

TEST_CASE("operators are cut as PostgreSQL cuts them") {
  CHECK(lexed("a<>-1", kPlain) == "W:a O:<> O:- N:1");
  CHECK(lexed("a@-b", kPlain) == "W:a O:@- W:b");
  CHECK(lexed("a+--c\nb", kPlain) == "W:a O:+ W:b");
  CHECK(lexed("a*/*c*/b", kPlain) == "W:a O:* W:b");
  CHECK(lexed("a=-+b", kPlain) == "W:a O:= O:- O:+ W:b");
  CHECK(lexed("a->>'b' := c => d::e", kPlain) == "W:a O:->> S:'b' O::= W:c O:=> W:d O::: W:e");
}

TEST_CASE("numbers") {
  CHECK(lexed("1..10", kPlain) == "N:1 O:.. N:10");
  CHECK(lexed("1.5 .5 1. 1e10 1E-5 1e", kPlain) == "N:1.5 N:.5 N:1. N:1e10 N:1E-5 N:1 W:e");
  CHECK(lexed("0xCAFE_12 0o17 0b101 1_000 1__0 0x", kPlain) == "N:0xCAFE_12 N:0o17 N:0b101 N:1_000 N:1 W:__0 N:0 W:x");
}

TEST_CASE("psql variables are placeholders, casts and slices are not") {
  CHECK(lexed("select :id, :'name', :\"tab\", x::int") == "W:select X::id , X::'name' , X::\"tab\" , W:x O::: W:int");
  CHECK(lexed("limit :n") == "W:limit X::n");
  CHECK(lexed("a[1:n], a[:n], a[lo:hi], f(a[x])[1:y]") ==
        "W:a [ N:1 : W:n ] , W:a [ : W:n ] , W:a [ W:lo : W:hi ] , W:f ( W:a [ W:x ] ) [ N:1 : W:y ]");
  CHECK(lexed("array[:a, :b]") == "W:array [ X::a , X::b ]");
  CHECK(lexed("x := :v; y:=1") == "W:x O::= X::v ; W:y O::= N:1");
  CHECK(lexed("where id = :id::bigint") == "W:where W:id O:= X::id O::: W:bigint");
}

TEST_CASE("a placeholder that could be an operator stands only where an operand is expected") {
  CHECK(lexed("f(?, ?)") == "W:f ( X:? , X:? )");
  CHECK(lexed("where id=? and x>=?") == "W:where W:id O:= X:? W:and W:x O:>= X:?");
  CHECK(lexed("data ? 'x' and data ?| b and (c)? 'y'") == "W:data O:? S:'x' W:and W:data O:?| W:b W:and ( W:c ) O:? S:'y'");
  CHECK(lexed("a % s and b = %s and c = %(name)s") == "W:a O:% W:s W:and W:b O:= X:%s W:and W:c O:= X:%(name)s");
  CHECK(lexed("t.c%TYPE") == "W:t . W:c O:% W:TYPE");
  CHECK(lexed("a @> b, c <@ d, @x, y = @id, z=@id") == "W:a O:@> W:b , W:c O:<@ W:d , X:@x , W:y O:= X:@id , W:z O:= X:@id");
  CHECK(lexed("from @extschema@.t, @extschema:hstore@.f") == "W:from X:@extschema@ . W:t , X:@extschema:hstore@ . W:f");
  CHECK(lexed("values (?1, ?2)") == "W:values ( X:?1 , X:?2 )");
}

TEST_CASE("templates") {
  CHECK(lexed("${schema}.t, {{ ref('x') }}, a_${env}_b, __schema__.t, {name}") ==
        "X:${schema} . W:t , X:{{ ref('x') }} , W:a_ X:${env} W:_b , X:__schema__ . W:t , X:{name}");
  CHECK(lexed("{% if a %} select {# why #} 1 {% endif %}") == "W:select N:1");
}

TEST_CASE("psql commands reach to the end of the line or to the next command") {
  CHECK(lexed("select 1 \\gset\nselect 2") == "W:select N:1 M:\\gset W:select N:2");
  CHECK(lexed("\\set a 'x\\'y' \\echo b\\\\ select 1;") == "M:\\set a 'x\\'y' M:\\echo b M:\\\\ W:select N:1 ;");
  CHECK(lexed("\\copy t from 'a\\b'  \r\nx") == "M:\\copy t from 'a\\b' W:x");
  CHECK(lexed("a \\; b") == "W:a M:\\; W:b");
}

TEST_CASE("a byte order mark is no part of the first word, and line starts are known") {
  Lexer lexer("\xEF\xBB\xBFselect\n  1 2");
  const Token a = lexer.next(), b = lexer.next(), c = lexer.next();
  CHECK(a.begin == 3);
  CHECK(a.line_start);
  CHECK(b.line_start);
  CHECK_FALSE(c.line_start);
}

TEST_CASE("hostile bytes end in tokens, never in a hang") {
  CHECK(lexed("").empty());
  CHECK(lexed(std::string_view("a\0b", 3)) == std::string("W:a \0 W:b", 9));
  CHECK(lexed("{{ never closed") == "{ { W:never W:closed");
  CHECK(lexed("\xff\xfe\x80") == "W:\xff\xfe\x80");
  std::string every_byte;
  for (int c = 0; c < 256; ++c) every_byte += static_cast<char>(c);
  for (int c = 0; c < 256; ++c) {
    Lexer lexer(every_byte, {}, static_cast<std::uint32_t>(c));
    std::uint32_t last = 0;
    for (Token t = lexer.next(); t.kind != TokenKind::End; t = lexer.next()) {
      REQUIRE(t.end > t.begin);
      REQUIRE(t.begin >= last);
      REQUIRE(t.end <= 256);
      last = t.end;
    }
  }
}

TEST_CASE("identifiers fold as PostgreSQL folds them") {
  CHECK(foldIdentifier("Abc") == "abc");
  CHECK(foldIdentifier("\"Ab\"\"c\"") == "Ab\"c");
  CHECK(foldIdentifier("U&\"d\\0061t\\+000061\"") == "data");
  CHECK(foldIdentifier("ÄB") == "Äb");
  CHECK(isKeyword("SeLeCt", "select"));
  CHECK_FALSE(isKeyword("selects", "select"));
}
