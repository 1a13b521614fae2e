// partition_turn.hpp — actions of a step between a datum and its parts at its turn (graph/partition_order.hpp).
#pragma once

namespace consort {

enum class PartitionTurn {
  kDown,          // opens the parts for reading
  kDownToWrite,   // opens the parts for writing
  kLetWrite,      // open parts that were read may be written
  kLetReadWhole,  // open parts that were written: the whole may be read
  kGather,        // closes the parts; the whole is used exclusively
  kShut,          // closes parts that were only read
  kEnd,           // ends the plan
};

}  // namespace consort
