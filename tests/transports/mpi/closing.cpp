// Two ranks drive the transport mpi by its table; rank 0 receives long messages of rank 1. The argument says what happens:
//   receive    rank 1 rests amid its send: rank 0 closes with a receive that MPI has matched, and does not cancel
//   send       rank 0 rests: rank 1 closes with a send without a receive
//   left       rank 0 leaves when it has received a message: rank 1 sees the end of its send and that of its peer at once
//   ended      rank 1 leaves behind its messages: rank 0 sees the end of 100 receives and of its peer at once
// Prints what the ranks see.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <consort/consort.h>

#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <string_view>
#include <thread>
#include <vector>

#include "transports/ranks.hpp"

namespace {

using namespace consort_test;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr uint64_t kLong = 32 << 20;
constexpr uint32_t kMany = 100, kBytes = 2048;  // kBytes: too long for a packet, short enough to be sent at once

void meet() { MPI_Barrier(MPI_COMM_WORLD); }

void drive(Rank &r, Clock::duration most, bool (*holds)(Rank &) = [](Rank &) { return false; }) {
  for (const auto end = Clock::now() + most; Clock::now() < end && !holds(r);) {
    for (const consort_done &d : r.poll())
      std::printf("rank %u: message %d: %s\n", r.number(), static_cast<int>(d.cookie), consort_status_name(d.status));
    std::this_thread::sleep_for(100us);  // nap: between two polls
  }
}

// MPI makes progress, and the transport does not look.
void progress(Clock::duration most) {
  int is_there = 0;
  for (const auto end = Clock::now() + most; Clock::now() < end;)
    MPI_Iprobe(MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &is_there, MPI_STATUS_IGNORE);
}

void await_loss(Rank &r) {
  drive(r, 20s, [](Rank &left) { return left.count(CONSORT_EV_PEER_LOST, 1 - left.number()) == 1; });
  std::printf("rank %u: events of a lost peer: %u\n", r.number(), r.count(CONSORT_EV_PEER_LOST, 1 - r.number()));
}

void close(Rank &r) {
  const auto begin = Clock::now();
  r.close();
  const std::chrono::duration<double> took = Clock::now() - begin;
  std::printf("rank %u: closed in %.2f s\n%s", r.number(), took.count(), r.host().log().c_str());
  std::fflush(stdout);
}

void connect(Rank &r) {
  std::vector<char> mine = r.address(), theirs(mine.size());
  const int peer = 1 - static_cast<int>(r.number()), n = static_cast<int>(mine.size());
  MPI_Sendrecv(mine.data(), n, MPI_CHAR, peer, 0, theirs.data(), n, MPI_CHAR, peer, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  r.connect(static_cast<uint32_t>(peer), theirs);
  drive(r, 30s, [](Rank &up) { return up.count(CONSORT_EV_PEER_UP, 1 - up.number()) == 1; });
  meet();
}

}  // namespace

int main(int argc, char **argv) {
  const std::string_view how = argc > 1 ? argv[1] : "";
  int granted = 0, number = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &granted);
  MPI_Comm_rank(MPI_COMM_WORLD, &number);
  Job job;
  job.plugin = "mpi";
  Rank rank(job, static_cast<uint32_t>(number));
  if (rank.opened() != CONSORT_OK) {
    std::fprintf(stderr, "rank %d: %s\n", number, rank.host().failure().c_str());
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  connect(rank);
  const uint32_t messages = how == "ended" ? kMany : 1;
  const uint64_t bytes = how == "ended" || how == "left" ? kBytes : kLong;
  std::vector<char> memory(messages * bytes);  // longer than the transport
  if (number == 1)
    for (uint32_t i = 0; i < messages; ++i) rank.post(Rank::send(0, i, memory.data() + i * bytes, bytes, 1));
  drive(rank, 500ms);  // the offers arrive
  meet();
  if (number == 0)
    for (uint32_t i = 0; i < messages; ++i) rank.post(Rank::recv(1, i, memory.data() + i * bytes, bytes, 1));
  meet();
  if (how == "left") {
    if (number == 1) progress(500ms), rank.poll();  // one look: the answer has arrived, the bytes leave
    meet();
    if (number == 0) drive(rank, 500ms), rank.ops().disconnect(rank.raw(), 1);
    meet();
    if (number == 1) progress(500ms), await_loss(rank);
  } else if (number == 1) {
    drive(rank, 500ms);  // the answers arrive, the bytes leave
  }
  if (how == "ended") {
    if (number == 1) rank.ops().disconnect(rank.raw(), 0);
    meet();
    if (number == 0) progress(500ms), await_loss(rank);
  } else if (how != "left") {
    // nap: MPI makes no progress in a rank that rests; rank 0 closes when rank 1 rests
    if (how == "receive") std::this_thread::sleep_for(number == 1 ? 6s : 1s);
    if (how == "send" && number == 0) std::this_thread::sleep_for(6s);  // nap: likewise
  }
  close(rank);
  meet();
  MPI_Finalize();
  std::printf("rank %d: finished\n", number);
}
