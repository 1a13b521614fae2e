// channel.hpp — frames over two pipes that never block, of one thread that polls.
#pragma once
#include <poll.h>

#include <string>
#include <string_view>
#include <vector>

#include "part_wire.hpp"

namespace tool {

class Channel {
 public:
  Channel(int in, int out);               // takes both descriptors
  Channel(const Channel &) = delete;
  Channel &operator=(const Channel &) = delete;
  ~Channel();

  void send_raw(std::string_view);        // sent by and by; lost if the other side has ended
  void send(FrameKind kind, std::string_view body) { send_raw(encoded(kind, body)); }
  size_t unsent() const { return unsent_.size(); }
  void flush();                           // writes what the pipe takes
  void read();                            // what is there
  void close_in();
  bool has_ended() const { return in_ < 0; }     // nothing more comes
  FrameReader &frames() { return frames_; }
  void add_to(std::vector<pollfd> *) const;      // two entries

 private:
  int in_, out_;
  std::string unsent_;
  FrameReader frames_;
};

}  // namespace tool
