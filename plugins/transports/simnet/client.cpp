#include "client.hpp"

#include <sys/socket.h>

#include <consort/plugin/host.hpp>

#include "wire.hpp"

namespace simnet {

using consort::plugin::Error;

Client::Client(const std::string &socket, uint32_t rank, Secret secret)
    : rank_(rank), fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_un at;
  const socklen_t n = address_of(socket, &at);
  if (!fd_ || ::connect(fd_.get(), reinterpret_cast<sockaddr *>(&at), n) < 0)
    throw Error(CONSORT_E_PEER_LOST, "rank 0, which has the clock of the job, is not reached: it has ended, or is on another machine");
  if (!is_own_user(fd_.get())) throw Error(CONSORT_E_INVAL, "rank 0 belongs to another user");
  limit(fd_.get(), 10);
  const Hello hello{rank, new_nonce()};
  Answer answer;
  if (!send_all(fd_.get(), &hello, sizeof hello) || !receive_all(fd_.get(), &answer, sizeof answer))
    throw Error(CONSORT_E_PEER_LOST, "rank 0 does not answer");
  if (!is_same(answer.proof, prove(secret, "simnet clock", hello.nonce, rank))) throw Error(CONSORT_E_INVAL, "rank 0 has another secret");
  const Proof mine = prove(secret, "simnet rank", answer.nonce, rank);
  char is_good = 0;
  if (!send_all(fd_.get(), &mine, sizeof mine) || !receive_all(fd_.get(), &is_good, 1))
    throw Error(CONSORT_E_INVAL, "rank 0 refuses this rank: there is one of its number, or its secret is another");
  limit(fd_.get(), 0);
}

Grant Client::wait(uint64_t now, uint64_t until, std::vector<Post> posts) {
  Bytes frame;
  Grant g;
  if (!send_frame(fd_.get(), encode(Turn{Turn::kWait, now, until, std::move(posts)})) || !receive_frame(fd_.get(), &frame, kMostFrame) ||
      !decode(frame, &g))
    throw Error(CONSORT_E_PEER_LOST, "rank 0, which has the clock of the job, has ended");
  g.rank = rank_;
  return g;
}

void Client::leave(std::vector<Post> posts) noexcept {
  try {
    (void)send_frame(fd_.get(), encode(Turn{Turn::kLeave, 0, 0, std::move(posts)}));
  } catch (const std::bad_alloc &) {  // its end is seen all the same
  }
}

}  // namespace simnet
