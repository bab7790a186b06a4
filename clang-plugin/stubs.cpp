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
struct prepped : zview { explicit prepped(zview name); prepped(const char* name); };
namespace prepare { class invocation {
 public:
  template <typename T> invocation& operator()(const T& value);
  template <typename T> invocation& operator()(const T& value, bool nonnull);
  invocation& operator()();
  result exec() const;
}; }
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
  result exec(prepped statement, params = {});
  prepare::invocation prepared(const std::string& statement);
  prepare::invocation parameterized(const std::string& query);
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

constexpr char kFormat[] = R"(#pragma once
#include <string>
#include <string_view>
namespace std {
template <class... A> string format(string_view text, A&&... arguments);
}
)";

constexpr char kFmt[] = R"(#pragma once
#include <string>
#include <string_view>
namespace fmt {
template <class... A> std::string format(std::string_view text, A&&... arguments);
template <class... A> std::string sprintf(std::string_view text, A&&... arguments);
template <class... A> void print(std::string_view text, A&&... arguments);
template <class R> std::string join(const R& range, std::string_view separator);
}
)";

constexpr char kAbseil[] = R"(#pragma once
#include <string>
#include <string_view>
namespace absl {
using string_view = std::string_view;
class AlphaNum {
 public:
  AlphaNum(int); AlphaNum(unsigned); AlphaNum(long); AlphaNum(unsigned long); AlphaNum(long long); AlphaNum(unsigned long long);
  AlphaNum(double); AlphaNum(const char*); AlphaNum(const std::string&); AlphaNum(std::string_view);
};
template <class... A> std::string StrCat(const A&... pieces);
template <class... A> void StrAppend(std::string* to, const A&... pieces);
template <class... A> std::string StrFormat(std::string_view text, const A&... arguments);
template <class... A> std::string Substitute(std::string_view text, const A&... arguments);
template <class R> std::string StrJoin(const R& range, std::string_view separator);
}
)";

constexpr char kBoostFormat[] = R"(#pragma once
#include <ostream>
#include <string>
namespace boost {
template <class C> class basic_format {
 public:
  explicit basic_format(const C* text);
  explicit basic_format(const std::basic_string<C>& text);
  template <class T> basic_format& operator%(const T& argument);
  std::basic_string<C> str() const;
};
using format = basic_format<char>;
template <class C> std::basic_string<C> str(const basic_format<C>& f);
}
)";

constexpr char kSoci[] = R"(#pragma once
#include <stdexcept>
#include <string>
#include <vector>
namespace soci {
struct soci_error : std::runtime_error { using std::runtime_error::runtime_error; };
enum indicator { i_ok, i_null, i_truncated };
struct row { template <class T> T get(std::size_t) const; template <class T> T get(const std::string&) const; };
namespace details {
struct use_type_ptr {};
struct into_type_ptr {};
struct once_temp_type {
  template <class T> once_temp_type& operator<<(const T& text);
  once_temp_type& operator,(const use_type_ptr&);
  once_temp_type& operator,(const into_type_ptr&);
};
struct prepare_temp_type {
  template <class T> prepare_temp_type& operator<<(const T& text);
  prepare_temp_type& operator,(const use_type_ptr&);
  prepare_temp_type& operator,(const into_type_ptr&);
};
struct once_type { template <class T> once_temp_type operator<<(const T& text); };
struct prepare_type { template <class T> prepare_temp_type operator<<(const T& text); };
}
template <class T> details::use_type_ptr use(const T& value, const std::string& name = {});
template <class T> details::use_type_ptr use(const T& value, const indicator& null, const std::string& name = {});
template <class T> details::into_type_ptr into(T& value);
template <class T> details::into_type_ptr into(T& value, indicator& null);
struct backend_factory {};
extern const backend_factory& postgresql;
class connection_pool;
class session {
 public:
  session();
  explicit session(const std::string& connect);
  session(const backend_factory&, const std::string& connect);
  session(const std::string& backend, const std::string& connect);
  explicit session(connection_pool&);
  ~session();
  void open(const std::string& connect);
  void open(const backend_factory&, const std::string& connect);
  void close();
  void reconnect();
  void begin();
  void commit();
  void rollback();
  details::once_type once;
  details::prepare_type prepare;
  template <class T> details::once_temp_type operator<<(const T& text) { return once << text; }
  bool got_data() const;
};
class connection_pool { public: explicit connection_pool(std::size_t size); session& at(std::size_t); std::size_t lease(); void give_back(std::size_t); };
class transaction { public: explicit transaction(session&); ~transaction(); void commit(); void rollback(); };
class statement {
 public:
  explicit statement(session&);
  statement(const details::prepare_temp_type&);
  ~statement();
  bool execute(bool with_data_exchange = false);
  bool fetch();
  void prepare(const std::string& query);
  template <class T> void exchange(const T&);
  void alloc();
  void define_and_bind();
};
template <class T> class rowset { public: rowset(const details::prepare_temp_type&); const T* begin() const; const T* end() const; };
}
)";

constexpr char kQtSql[] = R"(#pragma once
#include <string>
using qint64 = long long;
using quint64 = unsigned long long;
class QString {
 public:
  QString();
  QString(const char*);
  static QString fromStdString(const std::string&);
  static QString fromUtf8(const char*, int size = -1);
  static QString fromLatin1(const char*, int size = -1);
  static QString number(int); static QString number(unsigned); static QString number(long); static QString number(unsigned long);
  static QString number(long long); static QString number(unsigned long long);
  static QString asprintf(const char*, ...);
  QString arg(const QString&, int width = 0) const;
  QString arg(const char*) const;
  QString arg(int, int width = 0, int base = 10) const; QString arg(unsigned, int width = 0, int base = 10) const;
  QString arg(long, int width = 0, int base = 10) const; QString arg(unsigned long, int width = 0, int base = 10) const;
  QString arg(long long, int width = 0, int base = 10) const; QString arg(unsigned long long, int width = 0, int base = 10) const;
  QString& append(const QString&);
  QString& operator+=(const QString&);
  std::string toStdString() const;
};
QString operator+(const QString&, const QString&);
QString operator+(const QString&, const char*);
QString operator+(const char*, const QString&);
QString operator"" _qs(const char16_t*, std::size_t);
#define QStringLiteral(text) QString(text)
#define QLatin1String(text) QString(text)
class QVariant {
 public:
  QVariant(); QVariant(int); QVariant(unsigned); QVariant(long long); QVariant(unsigned long long); QVariant(double); QVariant(bool);
  QVariant(const QString&); QVariant(const char*);
  template <class T> static QVariant fromValue(const T&);
  bool toBool() const; int toInt() const; long long toLongLong() const; QString toString() const; bool isNull() const;
};
class QSqlError { public: QString text() const; bool isValid() const; };
class QSqlQuery;
class QSqlDatabase {
 public:
  static QSqlDatabase database(const QString& name = QString());
  static QSqlDatabase addDatabase(const QString& type, const QString& name = QString());
  bool open(); void close(); bool isOpen() const;
  bool transaction(); bool commit(); bool rollback();
  QSqlQuery exec(const QString& query = QString()) const;
  QSqlError lastError() const;
};
class QSqlQuery {
 public:
  QSqlQuery(const QString& query = QString(), QSqlDatabase db = QSqlDatabase());
  explicit QSqlQuery(QSqlDatabase db);
  bool exec(const QString& query);
  bool exec();
  bool prepare(const QString& query);
  void bindValue(const QString& placeholder, const QVariant& value);
  void bindValue(int position, const QVariant& value);
  void addBindValue(const QVariant& value);
  bool next(); bool first(); bool isActive() const; void finish();
  QVariant value(int) const; QVariant value(const QString&) const;
  int numRowsAffected() const; int size() const;
  QSqlError lastError() const;
};
class QSqlQueryModel { public: void setQuery(const QString& query, const QSqlDatabase& db = QSqlDatabase()); };
)";

constexpr char kPoco[] = R"(#pragma once
#include <cstdint>
#include <stdexcept>
#include <string>
namespace Poco { namespace Data {
struct DataException : std::runtime_error { using std::runtime_error::runtime_error; };
struct Binding {};
struct Extraction {};
class Statement;
using Manipulator = void (*)(Statement&);
class Session;
class Statement {
 public:
  explicit Statement(Session& session);
  ~Statement();
  template <class T> Statement& operator<<(const T& text);
  Statement& operator,(Manipulator);
  Statement& operator,(const Binding&);
  Statement& operator,(const Extraction&);
  template <class T> Statement& operator,(const T& value);
  std::size_t execute(bool reset = true);
  bool done();
};
class Session {
 public:
  Session(const std::string& connector, const std::string& connect, std::size_t timeout = 60);
  explicit Session(const std::string& connection);
  template <class T> Statement operator<<(const T& text);
  void begin(); void commit(); void rollback(); void close();
  bool isTransaction() const;
};
class SessionPool { public: SessionPool(const std::string& connector, const std::string& connect, int minimum = 1, int maximum = 32); Session get(); };
class Transaction { public: explicit Transaction(Session&, bool start = true); ~Transaction(); void commit(); void rollback(); };
namespace Keywords {
template <class T> Binding use(T& value, const std::string& name = {});
template <class T> Binding useRef(T& value, const std::string& name = {});
template <class T> Binding bind(T value, const std::string& name = {});
template <class T> Extraction into(T& value);
void now(Statement&);
}
} }
)";

constexpr char kOdbc[] = R"(#pragma once
#ifdef __cplusplus
extern "C" {
#endif
typedef unsigned char SQLCHAR; typedef unsigned short SQLWCHAR; typedef short SQLSMALLINT; typedef unsigned short SQLUSMALLINT;
typedef int SQLINTEGER; typedef unsigned int SQLUINTEGER; typedef long SQLLEN; typedef unsigned long SQLULEN;
typedef void* SQLPOINTER; typedef void* SQLHANDLE; typedef SQLHANDLE SQLHENV; typedef SQLHANDLE SQLHDBC; typedef SQLHANDLE SQLHSTMT;
typedef SQLSMALLINT SQLRETURN; typedef long long SQLBIGINT;
#define SQL_NTS (-3)
#define SQL_NULL_DATA (-1)
#define SQL_SUCCESS 0
#define SQL_SUCCESS_WITH_INFO 1
#define SQL_NO_DATA 100
#define SQL_ERROR (-1)
#define SQL_SUCCEEDED(rc) (((rc) & (~1)) == 0)
#define SQL_HANDLE_ENV 1
#define SQL_HANDLE_DBC 2
#define SQL_HANDLE_STMT 3
#define SQL_PARAM_INPUT 1
#define SQL_COMMIT 0
#define SQL_ROLLBACK 1
#define SQL_CHAR 1
#define SQL_INTEGER 4
#define SQL_VARCHAR 12
#define SQL_BIGINT (-5)
#define SQL_C_CHAR SQL_CHAR
#define SQL_C_LONG SQL_INTEGER
#define SQL_C_SLONG (-16)
#define SQL_C_SBIGINT (-25)
#define SQL_C_UBIGINT (-27)
#define SQL_C_BIT (-7)
#define SQL_ATTR_AUTOCOMMIT 102
SQLRETURN SQLAllocHandle(SQLSMALLINT type, SQLHANDLE in, SQLHANDLE* out);
SQLRETURN SQLFreeHandle(SQLSMALLINT type, SQLHANDLE handle);
SQLRETURN SQLConnect(SQLHDBC c, SQLCHAR* name, SQLSMALLINT n, SQLCHAR* user, SQLSMALLINT u, SQLCHAR* password, SQLSMALLINT p);
SQLRETURN SQLDisconnect(SQLHDBC c);
SQLRETURN SQLExecDirect(SQLHSTMT s, SQLCHAR* text, SQLINTEGER length);
SQLRETURN SQLPrepare(SQLHSTMT s, SQLCHAR* text, SQLINTEGER length);
SQLRETURN SQLExecute(SQLHSTMT s);
SQLRETURN SQLBindParameter(SQLHSTMT s, SQLUSMALLINT number, SQLSMALLINT direction, SQLSMALLINT c_type, SQLSMALLINT sql_type, SQLULEN size,
  SQLSMALLINT digits, SQLPOINTER value, SQLLEN room, SQLLEN* indicator);
SQLRETURN SQLBindCol(SQLHSTMT s, SQLUSMALLINT number, SQLSMALLINT c_type, SQLPOINTER value, SQLLEN room, SQLLEN* indicator);
SQLRETURN SQLFetch(SQLHSTMT s);
SQLRETURN SQLGetData(SQLHSTMT s, SQLUSMALLINT number, SQLSMALLINT c_type, SQLPOINTER value, SQLLEN room, SQLLEN* indicator);
SQLRETURN SQLEndTran(SQLSMALLINT type, SQLHANDLE handle, SQLSMALLINT how);
SQLRETURN SQLSetConnectAttr(SQLHDBC c, SQLINTEGER attribute, SQLPOINTER value, SQLINTEGER length);
#ifdef __cplusplus
}
#endif
)";

constexpr char kNanodbc[] = R"(#pragma once
#include <stdexcept>
#include <string>
namespace nanodbc {
using string = std::string;
struct database_error : std::runtime_error { using std::runtime_error::runtime_error; };
class connection { public: connection(); explicit connection(const string& connect, long timeout = 0); bool connected() const; void disconnect(); };
class transaction { public: explicit transaction(const connection&); ~transaction(); void commit(); void rollback(); };
class result {
 public:
  bool next(); bool first(); short columns() const; long affected_rows() const; bool is_null(short) const; explicit operator bool() const;
  template <class T> T get(short column) const; template <class T> T get(short column, const T& fallback) const;
};
class statement {
 public:
  statement(); explicit statement(connection&); statement(connection&, const string& query, long timeout = 0); ~statement();
  void prepare(connection&, const string& query, long timeout = 0); void prepare(const string& query, long timeout = 0);
  result execute(long batch = 1, long timeout = 0); void just_execute(long batch = 1, long timeout = 0);
  result execute_direct(connection&, const string& query, long batch = 1, long timeout = 0);
  void just_execute_direct(connection&, const string& query, long batch = 1, long timeout = 0);
  template <class T> void bind(short index, const T* value); void bind_null(short index);
};
result execute(connection&, const string& query, long batch = 1, long timeout = 0);
void just_execute(connection&, const string& query, long batch = 1, long timeout = 0);
result execute(statement&, long batch = 1);
void just_execute(statement&, long batch = 1);
void prepare(statement&, const string& query, long timeout = 0);
}
)";

constexpr char kDrogon[] = R"(#pragma once
#include <functional>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>
namespace drogon { namespace orm {
struct DrogonDbException { virtual const std::exception& base() const; };
struct SqlError : std::runtime_error, DrogonDbException { using std::runtime_error::runtime_error; };
class Field { public: template <class T> T as() const; bool isNull() const; const char* c_str() const; };
class Row { public: Field operator[](std::size_t) const; Field operator[](const char*) const; };
class Result { public: Row operator[](std::size_t) const; std::size_t size() const; bool empty() const; std::size_t affectedRows() const; const Row* begin() const; const Row* end() const; };
using ResultCallback = std::function<void(const Result&)>;
using ExceptionCallback = std::function<void(const DrogonDbException&)>;
namespace internal {
class SqlBinder {
 public:
  template <class T> SqlBinder& operator<<(T&& value);
  template <class F> SqlBinder& operator>>(F&&) { return *this; }
  void exec();
};
template <class T> struct SqlAwaiter { bool await_ready(); void await_suspend(void*); T await_resume(); };
}
class Transaction;
class DbClient {
 public:
  static std::shared_ptr<DbClient> newPgClient(const std::string& connect, std::size_t connections, bool auto_batch = false);
  template <class R, class E, class... A> void execSqlAsync(const std::string& sql, R&&, E&&, A&&...) noexcept {}
  template <class... A> std::future<Result> execSqlAsyncFuture(const std::string& sql, A&&... values) noexcept;
  template <class... A> Result execSqlSync(const std::string& sql, A&&... values) noexcept(false);
  template <class... A> internal::SqlAwaiter<Result> execSqlCoro(const std::string& sql, A&&... values) noexcept;
  internal::SqlBinder operator<<(const std::string& sql);
  internal::SqlBinder operator<<(std::string&& sql);
  internal::SqlBinder operator<<(const char* sql);
  std::shared_ptr<Transaction> newTransaction(const std::function<void(bool)>& committed = {}) noexcept(false);
};
class Transaction : public DbClient { public: void rollback(); };
using DbClientPtr = std::shared_ptr<DbClient>;
} }
namespace drogon { class HttpAppFramework { public: orm::DbClientPtr getDbClient(const std::string& name = "default"); }; HttpAppFramework& app(); }
)";

constexpr char kPostgres[] = R"(#pragma once
#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <postgres_ext.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef signed char int8; typedef short int16; typedef int int32; typedef long int64; typedef unsigned char uint8; typedef unsigned short uint16;
typedef unsigned int uint32; typedef unsigned long uint64; typedef size_t Size; typedef uintptr_t Datum; typedef Oid RegProcedure;
typedef struct varlena text;
typedef struct NullableDatum { Datum value; bool isnull; } NullableDatum;
static inline Datum Int64GetDatum(int64 x) { return (Datum)x; }
static inline Datum Int32GetDatum(int32 x) { return (Datum)x; }
static inline Datum Int16GetDatum(int16 x) { return (Datum)x; }
static inline Datum UInt32GetDatum(uint32 x) { return (Datum)x; }
static inline Datum UInt64GetDatum(uint64 x) { return (Datum)x; }
static inline Datum ObjectIdGetDatum(Oid x) { return (Datum)x; }
static inline Datum BoolGetDatum(bool x) { return (Datum)x; }
static inline Datum PointerGetDatum(const void* x) { return (Datum)x; }
static inline Datum CStringGetDatum(const char* x) { return (Datum)x; }
static inline bool DatumGetBool(Datum x) { return x != 0; }
static inline int64 DatumGetInt64(Datum x) { return (int64)x; }
static inline int32 DatumGetInt32(Datum x) { return (int32)x; }
static inline Oid DatumGetObjectId(Datum x) { return (Oid)x; }
#define DEBUG1 14
#define LOG 15
#define NOTICE 18
#define WARNING 19
#define ERROR 21
#define FATAL 22
#define PANIC 23
void pglocklint_elog(int level, const char* text, ...);
#define PGLOCKLINT_RAISES(level) do { if (__builtin_constant_p(level) && (level) >= ERROR) __builtin_unreachable(); } while (0)
#define elog(level, ...) do { pglocklint_elog(level, __VA_ARGS__); PGLOCKLINT_RAISES(level); } while (0)
int errcode(int); int errmsg(const char* text, ...); int errdetail(const char* text, ...); int errhint(const char* text, ...);
#define ereport(level, ...) do { (void)(__VA_ARGS__); pglocklint_elog(level, ""); PGLOCKLINT_RAISES(level); } while (0)
extern Oid MyDatabaseId; extern int MyProcPid;
char* psprintf(const char* text, ...); char* pstrdup(const char*); void* palloc(Size); void* palloc0(Size); void pfree(void*);
char* text_to_cstring(const text*); text* cstring_to_text(const char*);
#define PG_MODULE_MAGIC
#define Assert(x) ((void)(x))
extern jmp_buf* PG_exception_stack;
extern void pg_re_throw(void) __attribute__((noreturn));
#define PG_RE_THROW() pg_re_throw()
#define PG_TRY(...) do { jmp_buf* save_exception_stack##__VA_ARGS__ = PG_exception_stack; jmp_buf local_jmp_buf##__VA_ARGS__; bool do_rethrow##__VA_ARGS__ = false; \
  if (setjmp(local_jmp_buf##__VA_ARGS__) == 0) { PG_exception_stack = &local_jmp_buf##__VA_ARGS__
#define PG_CATCH(...) } else { PG_exception_stack = save_exception_stack##__VA_ARGS__
#define PG_FINALLY(...) } else { do_rethrow##__VA_ARGS__ = true; } { PG_exception_stack = save_exception_stack##__VA_ARGS__
#define PG_END_TRY(...) } if (do_rethrow##__VA_ARGS__) PG_RE_THROW(); PG_exception_stack = save_exception_stack##__VA_ARGS__; } while (0)
#ifdef __cplusplus
}
#endif
)";

constexpr char kFmgr[] = R"(#pragma once
#include <postgres.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct FunctionCallInfoBaseData { short nargs; NullableDatum args[8]; } FunctionCallInfoBaseData;
typedef FunctionCallInfoBaseData* FunctionCallInfo;
typedef Datum (*PGFunction)(FunctionCallInfo fcinfo);
#define PG_FUNCTION_ARGS FunctionCallInfo fcinfo
#define PG_FUNCTION_INFO_V1(name) extern Datum name(PG_FUNCTION_ARGS)
#define PG_GETARG_DATUM(n) (fcinfo->args[n].value)
#define PG_GETARG_INT32(n) DatumGetInt32(PG_GETARG_DATUM(n))
#define PG_GETARG_INT64(n) DatumGetInt64(PG_GETARG_DATUM(n))
#define PG_GETARG_OID(n) DatumGetObjectId(PG_GETARG_DATUM(n))
#define PG_ARGISNULL(n) (fcinfo->args[n].isnull)
#define PG_RETURN_VOID() return (Datum)0
#define PG_RETURN_BOOL(x) return BoolGetDatum(x)
#define PG_RETURN_NULL() return (Datum)0
Datum DirectFunctionCall1Coll(PGFunction f, Oid collation, Datum a);
Datum DirectFunctionCall2Coll(PGFunction f, Oid collation, Datum a, Datum b);
Datum DirectFunctionCall3Coll(PGFunction f, Oid collation, Datum a, Datum b, Datum c);
#define DirectFunctionCall1(f, a) DirectFunctionCall1Coll(f, InvalidOid, a)
#define DirectFunctionCall2(f, a, b) DirectFunctionCall2Coll(f, InvalidOid, a, b)
#define DirectFunctionCall3(f, a, b, c) DirectFunctionCall3Coll(f, InvalidOid, a, b, c)
#ifdef __cplusplus
}
#endif
)";

constexpr char kFmgrProtos[] = R"(#pragma once
#include <fmgr.h>
#ifdef __cplusplus
extern "C" {
#endif
#define PGLOCKLINT_FOUR(name) extern Datum name##_int8(PG_FUNCTION_ARGS); extern Datum name##_int4(PG_FUNCTION_ARGS); \
  extern Datum name##_shared_int8(PG_FUNCTION_ARGS); extern Datum name##_shared_int4(PG_FUNCTION_ARGS)
PGLOCKLINT_FOUR(pg_advisory_lock); PGLOCKLINT_FOUR(pg_advisory_xact_lock); PGLOCKLINT_FOUR(pg_try_advisory_lock);
PGLOCKLINT_FOUR(pg_try_advisory_xact_lock); PGLOCKLINT_FOUR(pg_advisory_unlock);
extern Datum pg_advisory_unlock_all(PG_FUNCTION_ARGS);
#ifdef __cplusplus
}
#endif
)";

constexpr char kSpi[] = R"(#pragma once
#include <postgres.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef struct _SPI_plan* SPIPlanPtr; typedef struct PortalData* Portal; typedef struct ParamListInfoData* ParamListInfo;
typedef struct HeapTupleData* HeapTuple; typedef struct TupleDescData* TupleDesc;
typedef struct SPITupleTable { TupleDesc tupdesc; HeapTuple* vals; uint64 numvals; } SPITupleTable;
extern uint64 SPI_processed; extern SPITupleTable* SPI_tuptable;
#define SPI_OK_CONNECT 1
#define SPI_OK_FINISH 2
#define SPI_OK_UTILITY 4
#define SPI_OK_SELECT 5
int SPI_connect(void); int SPI_connect_ext(int options); int SPI_finish(void);
int SPI_exec(const char* src, long tcount);
int SPI_execute(const char* src, bool read_only, long tcount);
int SPI_execute_with_args(const char* src, int nargs, Oid* argtypes, Datum* Values, const char* Nulls, bool read_only, long tcount);
SPIPlanPtr SPI_prepare(const char* src, int nargs, Oid* argtypes);
int SPI_keepplan(SPIPlanPtr plan);
int SPI_execute_plan(SPIPlanPtr plan, Datum* Values, const char* Nulls, bool read_only, long tcount);
int SPI_execp(SPIPlanPtr plan, Datum* values, const char* Nulls, long tcount);
Portal SPI_cursor_open_with_args(const char* name, const char* src, int nargs, Oid* argtypes, Datum* Values, const char* Nulls, bool read_only, int options);
Datum SPI_getbinval(HeapTuple tuple, TupleDesc tupdesc, int fnumber, bool* isnull);
char* SPI_getvalue(HeapTuple tuple, TupleDesc tupdesc, int fnumber);
void SPI_commit(void); void SPI_rollback(void); void SPI_start_transaction(void);
#ifdef __cplusplus
}
#endif
)";

constexpr char kLock[] = R"(#pragma once
#include <postgres.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef int LOCKMODE;
#define NoLock 0
#define AccessShareLock 1
#define RowShareLock 2
#define RowExclusiveLock 3
#define ShareUpdateExclusiveLock 4
#define ShareLock 5
#define ShareRowExclusiveLock 6
#define ExclusiveLock 7
#define AccessExclusiveLock 8
typedef enum LockTagType { LOCKTAG_RELATION, LOCKTAG_RELATION_EXTEND, LOCKTAG_DATABASE_FROZEN_IDS, LOCKTAG_PAGE, LOCKTAG_TUPLE, LOCKTAG_TRANSACTION,
  LOCKTAG_VIRTUALTRANSACTION, LOCKTAG_SPECULATIVE_TOKEN, LOCKTAG_OBJECT, LOCKTAG_USERLOCK, LOCKTAG_ADVISORY } LockTagType;
typedef struct LOCKTAG { uint32 locktag_field1, locktag_field2, locktag_field3; uint16 locktag_field4; uint8 locktag_type, locktag_lockmethodid; } LOCKTAG;
#define DEFAULT_LOCKMETHOD 1
#define USER_LOCKMETHOD 2
#define SET_LOCKTAG_ADVISORY(locktag, id1, id2, id3, id4) \
  ((locktag).locktag_field1 = (id1), (locktag).locktag_field2 = (id2), (locktag).locktag_field3 = (id3), (locktag).locktag_field4 = (id4), \
   (locktag).locktag_type = LOCKTAG_ADVISORY, (locktag).locktag_lockmethodid = USER_LOCKMETHOD)
typedef enum { LOCKACQUIRE_NOT_AVAIL, LOCKACQUIRE_OK, LOCKACQUIRE_ALREADY_HELD, LOCKACQUIRE_ALREADY_CLEAR } LockAcquireResult;
typedef struct LOCALLOCK LOCALLOCK;
LockAcquireResult LockAcquire(const LOCKTAG* locktag, LOCKMODE lockmode, bool sessionLock, bool dontWait);
LockAcquireResult LockAcquireExtended(const LOCKTAG* locktag, LOCKMODE lockmode, bool sessionLock, bool dontWait, bool reportMemoryError, LOCALLOCK** locallockp);
bool LockRelease(const LOCKTAG* locktag, LOCKMODE lockmode, bool sessionLock);
void LockReleaseAll(int lockmethodid, bool allLocks);
#ifdef __cplusplus
}
#endif
)";

constexpr char kLexicalCast[] = R"(#pragma once
#include <string>
namespace boost {
template <class To, class From> To lexical_cast(const From& value);
}
)";

constexpr StubHeader kStubs[] = {
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
    StubHeader{"format", kFormat},
    StubHeader{"fmt/core.h", kFmt},
    StubHeader{"fmt/format.h", "#include <fmt/core.h>\n"},
    StubHeader{"fmt/printf.h", "#include <fmt/core.h>\n"},
    StubHeader{"fmt/ranges.h", "#include <fmt/core.h>\n"},
    StubHeader{"fmt/compile.h", "#include <fmt/core.h>\n"},
    StubHeader{"fmt/base.h", "#include <fmt/core.h>\n"},
    StubHeader{"absl/strings/str_cat.h", kAbseil},
    StubHeader{"absl/strings/str_format.h", "#include <absl/strings/str_cat.h>\n"},
    StubHeader{"absl/strings/substitute.h", "#include <absl/strings/str_cat.h>\n"},
    StubHeader{"absl/strings/string_view.h", "#include <absl/strings/str_cat.h>\n"},
    StubHeader{"absl/strings/str_join.h", "#include <absl/strings/str_cat.h>\n"},
    StubHeader{"boost/format.hpp", kBoostFormat},
    StubHeader{"boost/lexical_cast.hpp", kLexicalCast},
    StubHeader{"soci/soci.h", kSoci},
    StubHeader{"soci.h", "#include <soci/soci.h>\n"},
    StubHeader{"soci/session.h", "#include <soci/soci.h>\n"},
    StubHeader{"soci/statement.h", "#include <soci/soci.h>\n"},
    StubHeader{"soci/transaction.h", "#include <soci/soci.h>\n"},
    StubHeader{"soci/connection-pool.h", "#include <soci/soci.h>\n"},
    StubHeader{"soci/postgresql/soci-postgresql.h", "#include <soci/soci.h>\n"},
    StubHeader{"soci-postgresql.h", "#include <soci/soci.h>\n"},
    StubHeader{"soci/soci-postgresql.h", "#include <soci/soci.h>\n"},
    StubHeader{"QtSql/QtSql", kQtSql},
    StubHeader{"QtSql", "#include <QtSql/QtSql>\n"},
    StubHeader{"QSqlQuery", "#include <QtSql/QtSql>\n"},
    StubHeader{"QSqlDatabase", "#include <QtSql/QtSql>\n"},
    StubHeader{"QSqlError", "#include <QtSql/QtSql>\n"},
    StubHeader{"QSqlQueryModel", "#include <QtSql/QtSql>\n"},
    StubHeader{"QString", "#include <QtSql/QtSql>\n"},
    StubHeader{"QVariant", "#include <QtSql/QtSql>\n"},
    StubHeader{"QStringLiteral", "#include <QtSql/QtSql>\n"},
    StubHeader{"QtSql/QSqlQuery", "#include <QtSql/QtSql>\n"},
    StubHeader{"QtSql/QSqlDatabase", "#include <QtSql/QtSql>\n"},
    StubHeader{"QtSql/QSqlError", "#include <QtSql/QtSql>\n"},
    StubHeader{"QtCore/QString", "#include <QtSql/QtSql>\n"},
    StubHeader{"QtCore/QVariant", "#include <QtSql/QtSql>\n"},
    StubHeader{"Poco/Data/Session.h", kPoco},
    StubHeader{"Poco/Data/Statement.h", "#include <Poco/Data/Session.h>\n"},
    StubHeader{"Poco/Data/Transaction.h", "#include <Poco/Data/Session.h>\n"},
    StubHeader{"Poco/Data/SessionPool.h", "#include <Poco/Data/Session.h>\n"},
    StubHeader{"Poco/Data/SessionFactory.h", "#include <Poco/Data/Session.h>\n"},
    StubHeader{"Poco/Data/DataException.h", "#include <Poco/Data/Session.h>\n"},
    StubHeader{"Poco/Data/Data.h", "#include <Poco/Data/Session.h>\n"},
    StubHeader{"Poco/Data/PostgreSQL/PostgreSQL.h", "#include <Poco/Data/Session.h>\n"},
    StubHeader{"Poco/Data/PostgreSQL/Connector.h", "#include <Poco/Data/Session.h>\n"},
    StubHeader{"sql.h", kOdbc},
    StubHeader{"sqlext.h", "#include <sql.h>\n"},
    StubHeader{"sqltypes.h", "#include <sql.h>\n"},
    StubHeader{"sqlucode.h", "#include <sql.h>\n"},
    StubHeader{"nanodbc/nanodbc.h", kNanodbc},
    StubHeader{"nanodbc.h", "#include <nanodbc/nanodbc.h>\n"},
    StubHeader{"drogon/orm/DbClient.h", kDrogon},
    StubHeader{"drogon/drogon.h", "#include <drogon/orm/DbClient.h>\n"},
    StubHeader{"drogon/orm/Result.h", "#include <drogon/orm/DbClient.h>\n"},
    StubHeader{"drogon/orm/Exception.h", "#include <drogon/orm/DbClient.h>\n"},
    StubHeader{"drogon/HttpAppFramework.h", "#include <drogon/orm/DbClient.h>\n"},
    StubHeader{"postgres.h", kPostgres},
    StubHeader{"fmgr.h", kFmgr},
    StubHeader{"utils/fmgrprotos.h", kFmgrProtos},
    StubHeader{"utils/builtins.h", "#include <utils/fmgrprotos.h>\n"},
    StubHeader{"executor/spi.h", kSpi},
    StubHeader{"storage/lock.h", kLock},
    StubHeader{"storage/lmgr.h", "#include <storage/lock.h>\n"},
    StubHeader{"storage/lockdefs.h", "#include <storage/lock.h>\n"},
    StubHeader{"miscadmin.h", "#include <postgres.h>\n"},
    StubHeader{"utils/elog.h", "#include <postgres.h>\n"},
    StubHeader{"utils/palloc.h", "#include <postgres.h>\n"},
};

}  // namespace

std::span<const StubHeader> stubHeaders() { return kStubs; }

}  // namespace pglocklint::extract
