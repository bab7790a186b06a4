// Runs one function of a C++ fixture on a connection of its own, and says which advisory locks the session still holds afterwards.
// Compiled with FIXTURE (a file) and ENTRIES (functions of it that take a pqxx::connection&, as {"name", name}, …).
#include <iostream>
#include <map>
#include <string>
#include <pqxx/pqxx>

#include FIXTURE

const std::map<std::string, void (*)(pqxx::connection&)> kEntries{ENTRIES};

// driver CONNINFO ENTRY
int main(int, char** words) {
  pqxx::connection connection(words[1]);
  try {
    kEntries.at(words[2])(connection);
    std::cout << "returned\n";
  } catch (const std::exception&) {
    std::cout << "threw\n";
  }
  pqxx::nontransaction after(connection);
  std::cout << after.exec1("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")[0].as<int>() << " locks\n";
}
