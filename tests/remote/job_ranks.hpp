// job_ranks.hpp — the ranks of a job as threads of the test, each with a runtime of its own.
//
// Header only. They meet in a folder, as ranks that `consort run` starts, and talk over a transport within the process.
#pragma once
#include <consort/distributed.h>

#include <functional>

#include "api/harness.hpp"
#include "support/folder.hpp"

namespace consort_test {

class JobRank {
 public:
  JobRank(const std::string &folder, uint32_t rank, uint32_t ranks, std::vector<consort_setting> settings) {
    const std::string number = std::to_string(rank), all = std::to_string(ranks);
    settings.insert(settings.begin(), {{"rendezvous", folder.c_str()}, {"rank", number.c_str()}, {"ranks", all.c_str()},
                                       {"workers", "1"}, {"bind", "false"}, {"log", "error"}, {"transport", "inproc"}});
    consort_settings s = CONSORT_SETTINGS_INIT;
    s.set = settings.data(), s.nset = static_cast<uint32_t>(settings.size());
    EXPECT_EQ(consort_start(&s, &rt), CONSORT_OK) << consort_error();
    joined = rt ? consort_job_join(rt, nullptr) : CONSORT_E_INTERNAL;
    if (joined < 0) why = consort_error();
    info.size = sizeof info;
    if (joined >= 0) {
      EXPECT_EQ(consort_job_get(rt, &info), CONSORT_OK) << consort_error();
    }
  }
  ~JobRank() { (void)stop(); }
  JobRank(const JobRank &) = delete;
  JobRank &operator=(const JobRank &) = delete;
  consort_status stop() { return consort_stop(std::exchange(rt, nullptr)); }

  uint32_t rank() const { return info.rank; }
  uint32_t ranks() const { return info.nranks; }
  consort_codelet_id codelet(const char *name, consort_call_fn *fn) {
    consort_impl impl{};
    impl.klass = "cpu", impl.fn = fn;
    consort_codelet d = CONSORT_CODELET_INIT;
    d.name = name, d.impls = &impl, d.nimpls = 1;
    consort_codelet_id id{};
    EXPECT_EQ(consort_codelet_add(rt, &d, &id), CONSORT_OK) << consort_error();
    return id;
  }
  // Of the job: its memory is `home` at the owner, and without a home elsewhere.
  consort_data_id vector(void *home, uint64_t n, uint64_t elem, uint64_t tag, uint32_t owner) {
    consort_data_id id{};
    EXPECT_EQ(consort_register_vector(rt, owner == rank() ? home : nullptr, n, elem, &id), CONSORT_OK) << consort_error();
    EXPECT_EQ(consort_data_distribute(rt, id, tag, owner), CONSORT_OK) << consort_error();
    return id;
  }
  consort_task_id submit(consort_codelet_id c, const std::vector<consort_use> &uses, const consort_place *place = nullptr) {
    consort_task_desc d = CONSORT_TASK_INIT;
    d.codelet = c, d.uses = uses.data(), d.nuses = static_cast<uint32_t>(uses.size());
    consort_task_id id{};
    EXPECT_EQ(consort_job_submit(rt, &d, place, &id), CONSORT_OK) << consort_error();
    return id;
  }
  consort_message message(consort_data_id data, uint32_t peer, uint64_t tag) const {
    consort_message m = CONSORT_MESSAGE_INIT;
    m.data = data, m.rank = peer, m.tag = tag;
    return m;
  }
  consort_task_id send(const consort_message &m) {
    consort_task_id id{};
    EXPECT_EQ(consort_send(rt, &m, &id), CONSORT_OK) << consort_error();
    return id;
  }
  consort_task_id receive(const consort_message &m) {
    consort_task_id id{};
    EXPECT_EQ(consort_receive(rt, &m, &id), CONSORT_OK) << consort_error();
    return id;
  }
  consort_status wait(consort_task_id t) { return consort_task_wait(rt, t, CONSORT_FOREVER, 0); }
  consort_status wait_all() { return consort_wait_all(rt, CONSORT_FOREVER, 0); }

  consort_runtime *rt = nullptr;
  consort_job_info info{};
  consort_status joined = CONSORT_E_INTERNAL;
  std::string why;
};

inline void make_secret(const Folder &folder) {
  FILE *f = std::fopen((folder / "secret").c_str(), "w");
  std::fputs("0123456789abcdef0123456789abcdef", f);
  std::fclose(f);
  chmod((folder / "secret").c_str(), 0600);
}

// Runs f as each rank, and joins all.
inline void as_ranks(uint32_t ranks, const std::function<void(JobRank &)> &f, const std::vector<consort_setting> &settings = {}) {
  const Folder folder("ranks");  // consort run removes abandoned folders of the name that it gives
  make_secret(folder);
  std::vector<std::thread> threads;
  for (uint32_t r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      JobRank rank(folder.path(), r, ranks, settings);
      ASSERT_EQ(rank.joined, CONSORT_OK) << rank.why;
      f(rank);
    });
  for (std::thread &t : threads) t.join();
}

template <class T> T *elements(const consort_call *c, uint32_t i = 0) {
  return static_cast<T *>(consort_ptr(static_cast<const consort_vector_view *>(c->views[i])->addr));
}
inline uint64_t size_of(const consort_call *c, uint32_t i = 0) { return static_cast<const consort_vector_view *>(c->views[i])->n; }

}  // namespace consort_test
