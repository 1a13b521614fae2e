// partition_turn.hpp — what a step between a datum and its parts does when its turn comes (graph/partition_order.hpp).
#pragma once

namespace consort {

enum class PartitionTurn {
  kDown,          // the parts are opened, to be read
  kDownToWrite,   // the parts are opened, to be written
  kLetWrite,      // open parts that were read may be written
  kLetReadWhole,  // open parts that were written: the whole may be read
  kGather,        // the parts are closed, and the whole is used alone
  kShut,          // parts that were only read are closed
  kEnd,           // the plan ends
};

}  // namespace consort
