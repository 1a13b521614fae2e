// Endpoint: how two ranks meet. Each sends a hello with a nonce. When a rank has called connect() and has the other's hello,
// it sends a proof: an HMAC-SHA256 with the job's secret over both ranks and both hellos. A rank whose proof is right is up.
#include <nettle/hmac.h>
#include <nettle/memops.h>
#include <sys/random.h>

#include <bit>
#include <cstring>

#include "endpoint.hpp"

namespace transports {

void Endpoint::write_address(std::byte *to) const noexcept {
  Writer w(to);
  w.raw({reinterpret_cast<const uint8_t *>(mine_.magic), sizeof mine_.magic});
  w.number(mine_.version, 4), w.number(mine_.rank, 4), w.number(mine_.nranks, 4), w.number(mine_.job, 8);
  w.raw(mine_.id);
}

Address Endpoint::check_address(uint32_t rank, std::span<const std::byte> bytes, size_t wanted) const {
  check_rank(rank, links_.size());
  if (bytes.size() != wanted)
    throw Error(CONSORT_E_INVAL, "an address of this transport has " + std::to_string(wanted) + " bytes, this one has " +
                                     std::to_string(bytes.size()));
  Address a;
  Reader r(bytes.data());
  r.raw({reinterpret_cast<uint8_t *>(a.magic), sizeof a.magic});
  const auto version = r.number<uint32_t>();
  a.rank = r.number<uint32_t>(), a.nranks = r.number<uint32_t>(), a.job = r.number<uint64_t>();
  r.raw(a.id);
  if (std::memcmp(a.magic, mine_.magic, sizeof a.magic) != 0) refuse_address(rank);
  if (version != kPacketVersion)
    throw Error(CONSORT_E_INVAL, name(rank) + " speaks version " + std::to_string(version) + " of the protocol, this rank version " +
                                     std::to_string(kPacketVersion) + "; use one version of Consort on all ranks");
  check_owner(a.rank, rank);
  if (a.job != mine_.job || a.nranks != mine_.nranks)
    throw Error(CONSORT_E_INVAL, "the address belongs to another job than \"" + std::string(boot_.job ? boot_.job : "") + "\"");
  return a;
}

void Endpoint::want(uint32_t rank, const Address &a) {
  Link &l = links_[rank];
  check_free(rank);
  Hello h{};
  std::memcpy(h.from_id, mine_.id, sizeof h.from_id);
  std::memcpy(h.to_id, a.id, sizeof h.to_id);
  if (getrandom(h.nonce, sizeof h.nonce, 0) != sizeof h.nonce) throw Error(CONSORT_E_IO, "the system gives no random numbers");
  h.job = mine_.job, h.nranks = mine_.nranks, h.depth = limits_.depth, h.unexpected = limits_.unexpected;
  if (!l.kept) {  // all that may throw, first
    l.free_kept.reserve(limits_.unexpected);
    l.kept.reset(new char[size_t{limits_.unexpected} * kShort + 1]);
    add_slots(limits_.depth + 8);  // answers to cancels, hellos, proofs, a bye
  }
  std::list<Arrived> more(limits_.depth + size_t{limits_.unexpected});
  Slot *const slot = new_packet(rank, PacketKind::kHello, {}, kHelloBytes);
  if (!slot) throw Error(CONSORT_E_BUSY, "no room for a packet to " + name(rank) + "; poll, then connect it again");
  spare_arrived_.splice(spare_arrived_.end(), more);
  l.waits = limits_.depth + limits_.unexpected;
  l.free_kept.clear();
  for (uint32_t i = limits_.unexpected; i-- > 0;) l.free_kept.push_back(i);
  std::memcpy(l.id, a.id, sizeof l.id);
  l.mine = h, l.state = State::kWanted;
  l.has_token = l.has_left = false, l.moving = l.announced = 0;
  l.sent = l.sent_freed = l.freed = l.freed_told = 0;
  encode(h, slot->data + kPacketHead);
  enqueue(*slot);
  if (l.has_hello) answer(rank);
  if (polls_drive_) flush();
}

void Endpoint::mac(uint8_t (&out)[32], const char *what, uint32_t from, uint32_t to, const Hello &of_from,
                   const Hello &of_to) const noexcept {
  std::byte text[8 + 2 * kHelloBytes];
  Writer w(text);
  w.number(from, 4), w.number(to, 4);
  encode(of_from, text + 8), encode(of_to, text + 8 + kHelloBytes);
  hmac_sha256_ctx c;
  hmac_sha256_set_key(&c, boot_.nsecret, boot_.secret ? boot_.secret : reinterpret_cast<const uint8_t *>(""));
  hmac_sha256_update(&c, std::strlen(what) + 1, reinterpret_cast<const uint8_t *>(what));
  hmac_sha256_update(&c, sizeof text, reinterpret_cast<const uint8_t *>(text));
  hmac_sha256_digest(&c, sizeof out, out);
  explicit_bzero(&c, sizeof c);  // a key schedule of the secret
}

void Endpoint::hear_hello(uint32_t rank, const std::byte *payload) noexcept {
  Link &l = links_[rank];
  const Hello h = decode_hello(payload);
  if (h.job != mine_.job || h.nranks != mine_.nranks || std::memcmp(h.to_id, mine_.id, sizeof h.to_id) != 0)
    return complain("a process says that it is " + name(rank) + ", and is no rank of this job; it is refused");
  l.theirs = h, l.has_hello = true;
  if (l.state == State::kWanted) answer(rank);
}

void Endpoint::answer(uint32_t rank) noexcept {
  Link &l = links_[rank];
  if (std::memcmp(l.theirs.from_id, l.id, sizeof l.id) != 0) {
    l.has_hello = false;
    return complain("a process says that it is " + name(rank) + ", and has another address; it is refused");
  }
  if (l.theirs.depth != limits_.depth || l.theirs.unexpected != limits_.unexpected)
    return complain(name(rank) + " is not connected: it has another depth or unexpected; give all ranks the same");
  uint8_t proof[32];
  mac(proof, "consort proof 1", rank_, rank, l.mine, l.theirs);
  Slot *const slot = new_packet(rank, PacketKind::kProof, {}, kProofBytes);
  if (!slot) return;
  std::memcpy(slot->data + kPacketHead, proof, sizeof proof);
  enqueue(*slot);
}

void Endpoint::hear_proof(uint32_t rank, const std::byte *payload) noexcept {
  Link &l = links_[rank];
  if (l.state != State::kWanted || !l.has_hello || std::memcmp(l.theirs.from_id, l.id, sizeof l.id) != 0) return;
  uint8_t right[32];
  mac(right, "consort proof 1", rank, rank_, l.theirs, l.mine);
  if (!memeql_sec(right, payload, sizeof right))
    return complain(name(rank) + " is not connected: it does not have this job's secret");
  if (l.theirs.depth != limits_.depth || l.theirs.unexpected != limits_.unexpected) return;
  bring_up(rank);
}

void Endpoint::bring_up(uint32_t rank) noexcept {
  Link &l = links_[rank];
  uint8_t in[32], out[32];
  mac(in, "consort token 1", rank, rank_, l.theirs, l.mine);
  mac(out, "consort token 1", rank_, rank, l.mine, l.theirs);
  std::memcpy(&l.token_in, in, sizeof l.token_in);
  std::memcpy(&l.token_out, out, sizeof l.token_out);
  if constexpr (std::endian::native == std::endian::big)
    l.token_in = __builtin_bswap64(l.token_in), l.token_out = __builtin_bswap64(l.token_out);
  l.has_token = true, l.has_hello = false;
  l.state = State::kUp;
  raise(CONSORT_EV_PEER_UP, rank);
}

}  // namespace transports
