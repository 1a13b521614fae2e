// machine_file.hpp — the reader of descriptions, by the names of this driver.
#pragma once
#include <consort/shared/described_file.hpp>

namespace sim {

using Bad = consort::shared::BadDescription;
using consort::shared::read_bytes, consort::shared::read_flag, consort::shared::read_number, consort::shared::read_rate,
    consort::shared::read_tables, consort::shared::read_time, consort::shared::split, consort::shared::Table;

}  // namespace sim
