// Virtual functions: what is called may be any overrider that is in view.
#include <pqxx/pqxx>

#include <stdexcept>

int number(int n) {
  if (n < 0) throw std::runtime_error("no such number");
  return n;
}

class Job {
 public:
  virtual ~Job() = default;
  virtual void run(pqxx::connection& c) = 0;
};

class Takes : public Job {
 public:
  void run(pqxx::connection& c) override {
    pqxx::nontransaction n(c);
    n.exec("SELECT pg_advisory_lock(506, 1)");
  }
};
class Works : public Job {
 public:
  void run(pqxx::connection&) override { number(1); }
};

void takesPerhaps(Job& job, pqxx::connection& c) {
  job.run(c);
  pqxx::nontransaction n(c);
  n.exec("SELECT pg_advisory_unlock(506, 1)");
}

// One overrider releases, and is the only one.
class Lease {
 public:
  virtual ~Lease() = default;
  virtual void release(pqxx::connection& c) = 0;
};
class SessionLease : public Lease {
 public:
  void release(pqxx::connection& c) override {
    pqxx::nontransaction n(c);
    n.exec("SELECT pg_advisory_unlock(506, 2)");
  }
};
void leased(Lease& lease, pqxx::connection& c) {
  pqxx::nontransaction n(c);
  n.exec("SELECT pg_advisory_lock(506, 2)");
  try {
    number(2);
  } catch (...) {
  }
  lease.release(c);
}
