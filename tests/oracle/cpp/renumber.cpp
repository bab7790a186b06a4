// A session lock that an exception leaves behind, and the forms that do not.
#include <pqxx/pqxx>

void renumber(pqxx::connection& connection) {
  pqxx::nontransaction session(connection);
  session.exec("SELECT pg_advisory_lock(8101)");
  session.exec("UPDATE no_such_table SET number = number + 1");  // throws: the unlock is passed over
  session.exec("SELECT pg_advisory_unlock(8101)");
}

class SessionLock {
 public:
  explicit SessionLock(pqxx::nontransaction& session) : session_(session) { session_.exec("SELECT pg_advisory_lock(8101)"); }
  ~SessionLock() { session_.exec("SELECT pg_advisory_unlock(8101)"); }

 private:
  pqxx::nontransaction& session_;
};

void renumber_guarded(pqxx::connection& connection) {
  pqxx::nontransaction session(connection);
  const SessionLock lock(session);
  session.exec("UPDATE no_such_table SET number = number + 1");
}

void renumber_in_transaction(pqxx::connection& connection) {
  pqxx::work transaction(connection);
  transaction.exec("SELECT pg_advisory_xact_lock(8101)");
  transaction.exec("UPDATE no_such_table SET number = number + 1");
  transaction.commit();
}
