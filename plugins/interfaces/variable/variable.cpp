// The "variable" interface: one object of a fixed number of bytes. Functions are in dense.hpp.
#include "../dense.hpp"

namespace {
using layouts::Variable;

constexpr consort_interface_ops ops = layouts::dense_ops<Variable>();
constexpr consort_plugin plugin = layouts::layout_plugin("variable", "one object of a fixed number of bytes", ops);
}  // namespace

CONSORT_MODULE(variable, INTERFACE, layouts::kPluginFlags, "variable", "0.1.0", plugin);
