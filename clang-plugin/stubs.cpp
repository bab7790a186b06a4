#include "stubs.h"

#include <array>

namespace pglocklint::extract {
namespace {

constexpr char kPostgresExt[] = R"(#pragma once
typedef unsigned int Oid;
#define InvalidOid ((Oid)0)
)";

constexpr char kLibpq[] = R"(#pragma once
#include <stdio.h>
#include <postgres_ext.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct pg_conn PGconn;
typedef struct pg_result PGresult;
typedef struct pg_cancel PGcancel;
typedef struct pgNotify { char* relname; int be_pid; char* extra; struct pgNotify* next; } PGnotify;
typedef enum { CONNECTION_OK, CONNECTION_BAD, CONNECTION_STARTED, CONNECTION_MADE, CONNECTION_AWAITING_RESPONSE, CONNECTION_AUTH_OK,
  CONNECTION_SETENV, CONNECTION_SSL_STARTUP, CONNECTION_NEEDED, CONNECTION_CHECK_WRITABLE, CONNECTION_CONSUME } ConnStatusType;
typedef enum { PGRES_POLLING_FAILED, PGRES_POLLING_READING, PGRES_POLLING_WRITING, PGRES_POLLING_OK, PGRES_POLLING_ACTIVE } PostgresPollingStatusType;
typedef enum { PGRES_EMPTY_QUERY, PGRES_COMMAND_OK, PGRES_TUPLES_OK, PGRES_COPY_OUT, PGRES_COPY_IN, PGRES_BAD_RESPONSE, PGRES_NONFATAL_ERROR,
  PGRES_FATAL_ERROR, PGRES_COPY_BOTH, PGRES_SINGLE_TUPLE, PGRES_PIPELINE_SYNC, PGRES_PIPELINE_ABORTED } ExecStatusType;
typedef enum { PQTRANS_IDLE, PQTRANS_ACTIVE, PQTRANS_INTRANS, PQTRANS_INERROR, PQTRANS_UNKNOWN } PGTransactionStatusType;
typedef void (*PQnoticeReceiver)(void* arg, const PGresult* res);
typedef void (*PQnoticeProcessor)(void* arg, const char* message);
PGconn* PQconnectdb(const char* conninfo);
PGconn* PQconnectdbParams(const char* const* keywords, const char* const* values, int expand_dbname);
PGconn* PQconnectStart(const char* conninfo);
PGconn* PQsetdbLogin(const char* host, const char* port, const char* options, const char* tty, const char* db, const char* login, const char* pwd);
PostgresPollingStatusType PQconnectPoll(PGconn* conn);
void PQfinish(PGconn* conn);
void PQreset(PGconn* conn);
ConnStatusType PQstatus(const PGconn* conn);
PGTransactionStatusType PQtransactionStatus(const PGconn* conn);
const char* PQparameterStatus(const PGconn* conn, const char* name);
int PQserverVersion(const PGconn* conn);
char* PQerrorMessage(const PGconn* conn);
int PQsocket(const PGconn* conn);
int PQbackendPID(const PGconn* conn);
char* PQdb(const PGconn* conn);
char* PQhost(const PGconn* conn);
char* PQuser(const PGconn* conn);
PGresult* PQexec(PGconn* conn, const char* query);
PGresult* PQexecParams(PGconn* conn, const char* command, int nParams, const Oid* paramTypes, const char* const* paramValues,
  const int* paramLengths, const int* paramFormats, int resultFormat);
PGresult* PQprepare(PGconn* conn, const char* stmtName, const char* query, int nParams, const Oid* paramTypes);
PGresult* PQexecPrepared(PGconn* conn, const char* stmtName, int nParams, const char* const* paramValues, const int* paramLengths,
  const int* paramFormats, int resultFormat);
int PQsendQuery(PGconn* conn, const char* query);
int PQsendQueryParams(PGconn* conn, const char* command, int nParams, const Oid* paramTypes, const char* const* paramValues,
  const int* paramLengths, const int* paramFormats, int resultFormat);
int PQsendPrepare(PGconn* conn, const char* stmtName, const char* query, int nParams, const Oid* paramTypes);
int PQsendQueryPrepared(PGconn* conn, const char* stmtName, int nParams, const char* const* paramValues, const int* paramLengths,
  const int* paramFormats, int resultFormat);
int PQsetSingleRowMode(PGconn* conn);
PGresult* PQgetResult(PGconn* conn);
int PQisBusy(PGconn* conn);
int PQconsumeInput(PGconn* conn);
int PQflush(PGconn* conn);
int PQsetnonblocking(PGconn* conn, int arg);
int PQenterPipelineMode(PGconn* conn);
int PQexitPipelineMode(PGconn* conn);
int PQpipelineSync(PGconn* conn);
PGnotify* PQnotifies(PGconn* conn);
ExecStatusType PQresultStatus(const PGresult* res);
char* PQresStatus(ExecStatusType status);
char* PQresultErrorMessage(const PGresult* res);
char* PQresultErrorField(const PGresult* res, int fieldcode);
int PQntuples(const PGresult* res);
int PQnfields(const PGresult* res);
char* PQfname(const PGresult* res, int field_num);
int PQfnumber(const PGresult* res, const char* field_name);
char* PQcmdStatus(PGresult* res);
char* PQcmdTuples(PGresult* res);
char* PQgetvalue(const PGresult* res, int tup_num, int field_num);
int PQgetlength(const PGresult* res, int tup_num, int field_num);
int PQgetisnull(const PGresult* res, int tup_num, int field_num);
void PQclear(PGresult* res);
void PQfreemem(void* ptr);
char* PQescapeLiteral(PGconn* conn, const char* str, size_t len);
char* PQescapeIdentifier(PGconn* conn, const char* str, size_t len);
size_t PQescapeStringConn(PGconn* conn, char* to, const char* from, size_t length, int* error);
PQnoticeReceiver PQsetNoticeReceiver(PGconn* conn, PQnoticeReceiver proc, void* arg);
PQnoticeProcessor PQsetNoticeProcessor(PGconn* conn, PQnoticeProcessor proc, void* arg);
PGcancel* PQgetCancel(PGconn* conn);
void PQfreeCancel(PGcancel* cancel);
int PQcancel(PGcancel* cancel, char* errbuf, int errbufsize);
#define PG_DIAG_SQLSTATE 'C'
#define PG_DIAG_MESSAGE_PRIMARY 'M'
#ifdef __cplusplus
}
#endif
)";

constexpr char kLibpqxx[] = R"(#pragma once
#include <cstddef>
#include <exception>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>
namespace pqxx {
using result_size_type = int;
using row_size_type = int;
struct zview : std::string_view {
  using std::string_view::string_view;
  zview(const char*);
  zview(const std::string&);
  zview(std::string_view);
  const char* c_str() const;
};
struct failure : std::runtime_error { using std::runtime_error::runtime_error; };
struct broken_connection : failure { using failure::failure; };
struct sql_error : failure { using failure::failure; const std::string& query() const; const std::string& sqlstate() const; };
struct in_doubt_error : failure { using failure::failure; };
struct transaction_rollback : sql_error { using sql_error::sql_error; };
struct serialization_failure : transaction_rollback { using transaction_rollback::transaction_rollback; };
struct deadlock_detected : transaction_rollback { using transaction_rollback::transaction_rollback; };
struct unique_violation : sql_error { using sql_error::sql_error; };
struct unexpected_rows : std::runtime_error { using std::runtime_error::runtime_error; };
struct usage_error : std::logic_error { using std::logic_error::logic_error; };
struct conversion_error : std::domain_error { using std::domain_error::domain_error; };
class field {
 public:
  bool is_null() const;
  const char* c_str() const;
  std::string_view view() const;
  const char* name() const;
  std::size_t size() const;
  template <typename T> T as() const;
  template <typename T> T as(const T& other) const;
  template <typename T> std::optional<T> get() const;
  template <typename T> bool to(T&) const;
};
class row {
 public:
  field operator[](int) const;
  field operator[](const char*) const;
  field operator[](const std::string&) const;
  field at(int) const;
  field at(const char*) const;
  field front() const;
  int size() const;
  bool empty() const;
  const field* begin() const;
  const field* end() const;
  template <typename... T> std::tuple<T...> as() const;
};
class result {
 public:
  result();
  row operator[](int) const;
  row at(int) const;
  row front() const;
  row back() const;
  row one_row() const;
  field one_field() const;
  int size() const;
  bool empty() const;
  int columns() const;
  int affected_rows() const;
  const row* begin() const;
  const row* end() const;
  const std::string& query() const;
  void no_rows() const;
  template <typename... T> std::vector<std::tuple<T...>> iter() const;
};
class params {
 public:
  template <typename... T> params(T&&...);
  template <typename T> void append(T&&);
};
class connection {
 public:
  connection();
  explicit connection(const char*);
  explicit connection(const std::string&);
  explicit connection(std::string_view);
  bool is_open() const;
  void close();
  void disconnect();
  const char* dbname() const;
  int backendpid() const;
  int server_version() const;
  void prepare(zview name, zview definition);
  void prepare(zview definition);
  void unprepare(std::string_view name);
  std::string esc(std::string_view) const;
  std::string quote_name(std::string_view) const;
  template <typename T> std::string quote(const T&) const;
  void set_variable(std::string_view, std::string_view);
};
using connection_base = connection;
using lazyconnection = connection;
class transaction_base {
 public:
  virtual ~transaction_base();
  void commit();
  void abort();
  result exec(zview query);
  result exec(zview query, zview desc);
  result exec(zview query, params);
  result exec0(zview query);
  row exec1(zview query);
  result exec_n(int rows, zview query);
  template <typename... A> result exec_params(zview query, A&&... args);
  template <typename... A> result exec_params0(zview query, A&&... args);
  template <typename... A> row exec_params1(zview query, A&&... args);
  template <typename... A> result exec_params_n(int rows, zview query, A&&... args);
  template <typename... A> result exec_prepared(zview statement, A&&... args);
  template <typename... A> result exec_prepared0(zview statement, A&&... args);
  template <typename... A> row exec_prepared1(zview statement, A&&... args);
  template <typename T> T query_value(zview query);
  template <typename T> T query_value(zview query, params);
  template <typename... T> std::tuple<T...> query1(zview query);
  template <typename... T> std::tuple<T...> query1(zview query, params);
  template <typename... T> std::optional<std::tuple<T...>> query01(zview query);
  template <typename... T> std::vector<std::tuple<T...>> query(zview query);
  template <typename... T> std::vector<std::tuple<T...>> query(zview query, params);
  template <typename F> void for_query(zview query, F&& f);
  template <typename F> void for_each(zview query, F&& f);
  template <typename... T> std::vector<std::tuple<T...>> stream(std::string_view query);
  connection& conn() const;
  std::string esc(std::string_view) const;
  std::string quote_name(std::string_view) const;
  template <typename T> std::string quote(const T&) const;
  void set_variable(std::string_view, std::string_view);
};
class dbtransaction : public transaction_base {};
enum isolation_level { read_committed, repeatable_read, serializable };
enum class write_policy { read_only, read_write };
template <isolation_level I = read_committed, write_policy W = write_policy::read_write>
class transaction : public dbtransaction {
 public:
  explicit transaction(connection&);
  transaction(connection&, std::string_view name);
  ~transaction();
};
using work = transaction<>;
using read_transaction = transaction<read_committed, write_policy::read_only>;
class nontransaction : public transaction_base {
 public:
  explicit nontransaction(connection&);
  nontransaction(connection&, std::string_view name);
  ~nontransaction();
};
template <isolation_level I = read_committed>
class robusttransaction : public dbtransaction {
 public:
  explicit robusttransaction(connection&);
  robusttransaction(connection&, std::string_view name);
  ~robusttransaction();
};
class subtransaction : public dbtransaction {
 public:
  explicit subtransaction(dbtransaction&);
  subtransaction(dbtransaction&, std::string_view name);
  ~subtransaction();
};
class pipeline {
 public:
  explicit pipeline(transaction_base&);
  int insert(std::string_view query);
  void complete();
};
template <typename T> std::string to_string(const T&);
template <typename T> T from_string(std::string_view);
template <typename F> auto perform(F&& f, int attempts = 3) -> decltype(f());
}
)";

constexpr std::array kStubs{
    StubHeader{"postgres_ext.h", kPostgresExt},
    StubHeader{"libpq-fe.h", kLibpq},
    StubHeader{"postgresql/libpq-fe.h", "#include <libpq-fe.h>\n"},
    StubHeader{"pgsql/libpq-fe.h", "#include <libpq-fe.h>\n"},
    StubHeader{"pqxx/pqxx", kLibpqxx},
    StubHeader{"pqxx/connection", "#include <pqxx/pqxx>\n"},
    StubHeader{"pqxx/connection.hxx", "#include <pqxx/pqxx>\n"},
    StubHeader{"pqxx/transaction", "#include <pqxx/pqxx>\n"},
    StubHeader{"pqxx/transaction.hxx", "#include <pqxx/pqxx>\n"},
    StubHeader{"pqxx/transaction_base", "#include <pqxx/pqxx>\n"},
    StubHeader{"pqxx/nontransaction", "#include <pqxx/pqxx>\n"},
    StubHeader{"pqxx/subtransaction", "#include <pqxx/pqxx>\n"},
    StubHeader{"pqxx/result", "#include <pqxx/pqxx>\n"},
    StubHeader{"pqxx/row", "#include <pqxx/pqxx>\n"},
    StubHeader{"pqxx/except", "#include <pqxx/pqxx>\n"},
    StubHeader{"pqxx/prepared_statement", "#include <pqxx/pqxx>\n"},
};

}  // namespace

std::span<const StubHeader> stubHeaders() { return kStubs; }

}  // namespace pglocklint::extract
