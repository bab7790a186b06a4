#include "program/types.h"

#include <doctest/doctest.h>

#include <vector>

using namespace pglocklint;

TEST_CASE("each built-in type has one spelling") {
  CHECK(canonicalType("INT8") == "bigint");
  CHECK(canonicalType("pg_catalog.int4") == "integer");
  CHECK(canonicalType("varchar(20)") == "character varying(20)");
  CHECK(canonicalType("bigserial") == "bigint");
  CHECK(canonicalType("timestamptz") == "timestamp with time zone");
  CHECK(canonicalType("int[]") == "integer[]");
  CHECK(canonicalType("\"char\"") == "\"char\"");
  CHECK(canonicalType("char(5)") == "character(5)");
  CHECK(canonicalType("job_id") == "job_id");
  CHECK(baseType("numeric(10,2)") == "numeric");
  CHECK(typeLength("bit(64)") == 64);
  CHECK(typeLength("bigint") == std::nullopt);
}

TEST_CASE("operators give the type PostgreSQL gives") {
  CHECK(operatorType("+", "integer", "bigint").type == "bigint");
  CHECK(operatorType("+", "smallint", "smallint").type == "smallint");
  CHECK(operatorType("/", "integer", "numeric").type == "numeric");
  CHECK(operatorType("*", "integer", "real").type == "double precision");
  CHECK(operatorType("*", "double precision", "integer").type == "double precision");
  CHECK(operatorType("<<", "bigint", "integer").type == "bigint");
  CHECK(operatorType("<<", "integer", "integer").type == "integer");
  CHECK(operatorType("<<", "bigint", "bigint").error == "operator does not exist: bigint << bigint");
  CHECK(operatorType("|", "bigint", "integer").type == "bigint");
  CHECK(operatorType("||", "unknown", "bigint").type == "text");
  CHECK(operatorType("||", "bigint", "bigint").error == "operator does not exist: bigint || bigint");
  CHECK(operatorType("+", "text", "integer").error == "operator does not exist: text + integer");
  CHECK(operatorType("-", "date", "date").type == "integer");
  CHECK(operatorType("+", "unknown", "integer").type == "integer");
  CHECK(operatorType("+", "", "integer").type == "");
  CHECK(operatorType("->>", "jsonb", "unknown").type == "text");
}

TEST_CASE("functions whose type depends on their arguments") {
  using Types = std::vector<std::string>;
  CHECK(functionType("abs", Types{"bigint"}) == "bigint");
  CHECK(functionType("mod", Types{"integer", "bigint"}) == "bigint");
  CHECK(functionType("sum", Types{"integer"}) == "bigint");
  CHECK(functionType("sum", Types{"bigint"}) == "numeric");
  CHECK(functionType("max", Types{"integer"}) == "integer");
  CHECK(functionType("floor", Types{"double precision"}) == "double precision");
  CHECK(functionType("floor", Types{"integer"}) == "double precision");
  CHECK(functionType("round", Types{"numeric"}) == "numeric");
  CHECK(functionType("unnest", Types{"bigint[]"}) == "bigint");
  CHECK(functionType("generate_series", Types{"integer", "bigint"}) == "bigint");
  CHECK(functionType("random", Types{}) == "double precision");
}

TEST_CASE("what may go where a bigint or integer is wanted") {
  CHECK(implicitlyConvertible("smallint", "integer") == true);
  CHECK(implicitlyConvertible("integer", "bigint") == true);
  CHECK(implicitlyConvertible("bigint", "integer") == false);
  CHECK(implicitlyConvertible("numeric", "bigint") == false);
  CHECK(implicitlyConvertible("oid", "bigint") == false);
  CHECK(implicitlyConvertible("unknown", "integer") == true);
  CHECK(implicitlyConvertible("tenant_id", "bigint") == std::nullopt);  // perhaps a domain over bigint
}
