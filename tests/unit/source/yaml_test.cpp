// YAML: the tree, places, files with errors, files that are made to hurt.
#include "source/yaml.h"

#include <doctest/doctest.h>

#include <string>

#include "source/pooler.h"

using namespace pglocklint;

TEST_CASE("mappings, sequences, merged fields and places") {
  const auto documents = readYaml("base: &b {mode: session, port: 5432}\nit:\n  <<: *b\n  mode: transaction\n  list: [x, 'y z']\n---\nother: 1\n");
  REQUIRE(documents.size() == 2);
  const YamlNode& it = documents[0]["it"];
  CHECK(it["mode"].text == "transaction");
  CHECK(it["port"].text == "5432");
  CHECK(it["list"].items.at(1).text == "y z");
  CHECK(it["mode"].line == 4);
  CHECK(it["mode"].column == 9);
  CHECK(it["none"]["of"]["them"].kind == YamlNode::Kind::Null);
  CHECK(documents[1]["other"].text == "1");
}

TEST_CASE("places are bytes, whatever the characters before them") {
  const std::string text = "\xEF\xBB\xBF# größe\r\nÄ: {name: \"ü…\", mode: transaction}\n";
  const auto documents = readYaml(text);
  REQUIRE(documents.size() == 1);
  const YamlNode& mode = documents[0]["Ä"]["mode"];
  CHECK(text.substr(mode.begin, mode.end - mode.begin) == "transaction");
  CHECK(mode.line == 2);
  CHECK(mode.column == mode.begin - text.find("Ä") + 1);
}

TEST_CASE("what is no YAML is not there, and what stands before it is") {
  CHECK(readYaml("a: 1\n---\nb: {{ .Values.b }}: {\n").size() == 1);
  CHECK(readYaml("\t{ [").empty());
  CHECK(readYaml("").empty());
}

TEST_CASE("a file that names a pooler and is no YAML is told") {
  CHECK(unreadPart("compose.yml", "services:\n  pgbouncer:\n    image: x\n   y: {{ z }}\n").find("no YAML at line 4") != std::string::npos);
  CHECK(unreadPart("compose.yml", "services:\n  web:\n    image: x\n   y: {{ z }}\n").empty());
  CHECK(unreadPart("compose.yml", "services: {pgbouncer: {image: x}}\n").empty());
  CHECK(unreadPart("pgbouncer.ini", "{ [").empty());
}

TEST_CASE("hostile files end early") {
  CHECK(readYaml(std::string(100'000, '[')).empty());
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 60; ++i) {
    const std::string before = "*a" + std::to_string(i - 1), name = "a" + std::to_string(i);
    bomb += name + ": &" + name + " [" + before + ", " + before + "]\n";
  }
  CHECK(readYaml(bomb).empty());
}

TEST_CASE("a mode that is not known makes no pooler") {
  CHECK(readPoolers("compose.yml", "services: {p: {image: edoburu/pgbouncer, environment: {POOL_MODE: \"${MODE}\"}}}").empty());
  const auto all = readPoolers("compose.yml", "services: {p: {image: edoburu/pgbouncer, environment: {POOL_MODE: \"${MODE:-statement}\"}}}");
  REQUIRE(all.size() == 1);
  CHECK(all[0].pools.at(0).mode == PoolMode::Statement);
  CHECK(all[0].port == "5432");
}
