// consort/plugin.hpp — plugins in C++20: a class for each kind, the C tables made of it. Header only; links nothing.
//
// The front of plugin/*.hpp; a plugin that wants one kind may include that file alone. Nothing of C++ crosses the
// boundary: no exception, no type. An application includes consort/consort.hpp, not this.
#pragma once
#include "plugin/driver.hpp"
#include "plugin/host.hpp"
#include "plugin/interface.hpp"
#include "plugin/members.hpp"
#include "plugin/scheduler.hpp"
#include "plugin/table.hpp"
#include "plugin/transport.hpp"
