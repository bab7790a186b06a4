// Runs one function of fixtures/projects/parcels on a connection as the environment describes it (PGHOST, …) and says how it ended:
// "returned", or the SQLSTATE of the error.
#include <functional>
#include <iostream>
#include <map>
#include <pqxx/pqxx>
#include <string>

#include "billing/src/locks.cpp"
#include "billing/src/billing.cpp"
#include "booking/src/booking.cpp"
#include "depot/src/archive.cpp"
#include "depot/src/depot.cpp"

namespace {

using Run = std::function<void(pqxx::connection&, int, int)>;

const std::map<std::string, Run> kFunctions{
    {"book", booking::book},
    {"offer", [](pqxx::connection& c, int route, int) { booking::offer(c, route); }},
    {"closeMonth", billing::closeMonth},
    {"refund", [](pqxx::connection& c, int account, int month) { billing::refund(c, account, month, 100); }},
    {"rebook", [](pqxx::connection& c, int from, int to) { billing::rebook(c, from, to, 100); }},
    {"reassign", depot::reassign},
    {"weigh", [](pqxx::connection& c, int scale, int printer) { depot::weigh(c, scale, printer); }},
    {"shelve", depot::shelve},
    {"rebuildIndex", [](pqxx::connection&, int, int) { archive::rebuildIndex(); }},
    {"sweepBoxes", [](pqxx::connection&, int, int) { archive::sweepBoxes(); }},
};

}  // namespace

// parcels FUNCTION NUMBER NUMBER, or: parcels STATEMENT, for a function of the database
int main(int count, char** words) {
  try {
    pqxx::connection c;
    if (count == 2) pqxx::nontransaction(c).exec(words[1]);
    else kFunctions.at(words[1])(c, std::stoi(words[2]), std::stoi(words[3]));
    std::cout << "returned\n";
  } catch (const pqxx::deadlock_detected&) {  // libpqxx 6 throws this without the SQLSTATE
    std::cout << "40P01\n";
  } catch (const pqxx::sql_error& error) {
    std::cout << error.sqlstate() << " " << error.what() << "\n";
  }
}
