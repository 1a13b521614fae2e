// `consort machine import`: a platform of a JSON file becomes a file that the driver sim reads; bad files are refused
// with a message.
#include "tools/command.hpp"

namespace {

using consort_test::ToolAnswer, consort_test::read_file;

constexpr char kPlatforms[] = R"({
 "overheads_us": {"gpu_task_queue": 10, "gpu_transfer_queue": 11, "gpu_malloc": 175, "gpu_free": 750,
                  "task_submit": 1, "task_push": 2, "fetch_input_per_buffer": 0.5, "host_pinned_malloc_per_MiB": 650},
 "platforms": {
  "small": {
   "cpu": "some \"cores\"", "ncores": 4, "ngpus": 1, "gpu_mem_bytes": 1073741824,
   "starpu_workers": {"cpu": 3, "gpu": 1},
   "links": {"Host": {"bandwidth_Bps": 6.5e9, "latency_s": 0}, "RAM-GPU0": {"bandwidth_Bps": 6e9, "latency_s": 1e-05},
             "GPU0-RAM": {"bandwidth_Bps": 5e9, "latency_s": 1.1e-05}},
   "routes": {"RAM->GPU0": ["RAM-GPU0", "Host"], "GPU0->RAM": ["GPU0-RAM", "Host"]},
   "kernels": {"lu_single": {"10": {"gemm": {"cpu": {"mean_us": 30}, "gpu0": {"mean_us": 3.5}, "flops": 2000}},
                             "20": {"gemm": {"cpu": {"mean_us": 240}, "gpu0": {"mean_us": 28}}}},
               "lu_double": {"10": {"qr": {"cpu": {"mean_us": 7}, "gpu0": {"mean_us": 8}}}}}
  },
  "plain": {
   "ncores": 4, "ngpus": 2, "gpu_mem_bytes": 1000000000,
   "bandwidth_MBps": [[0, 6000, 6000], [5000, 0, 3000], [5000, 0, 0]], "latency_us": [[0, 10, 10], [11, 0, 20], [11, 20, 0]],
   "kernels": {}
  }
 }
})";

class MachineImport : public consort_test::Tools {
 protected:
  std::string json(std::string text = kPlatforms) const {
    const std::string file = folder_ / "platforms.json";
    std::ofstream(file) << text;
    return file;
  }
  // The file with one thing changed; it must be there.
  std::string json_with(const std::string &from, const std::string &to) const {
    std::string text = kPlatforms;
    const size_t at = text.find(from);
    EXPECT_NE(at, text.npos) << from;
    return json(text.replace(at, from.size(), to));
  }
};

TEST_F(MachineImport, WritesAMachineFile) {
  const std::string toml = folder_ / "small.toml";
  const ToolAnswer a = run("machine import " + json() + " small --operands qr=5 -o " + toml);
  EXPECT_EQ(a.status, 0) << a.out;
  ToolAnswer text;
  text.out = read_file(toml);
  for (const char *part : {"submit = \"1us\"\ntask = \"2us\"\nfetch = \"0.5us\"\nlaunch = \"10us\"\ncopy = \"11us\"\nalloc = \"175us\"\n",
                           "class = \"cpu\"\nunits = 3\n", "name = \"gpu0\"\nclass = \"gpu\"\nunits = 1\ndepth = 2\nmemory = 1073741824\n",
                           "from = \"host\"\nto = \"gpu0\"\nwires = \"RAM-GPU0, Host\"\n", "name = \"GPU0-RAM\"\nbandwidth = 5000000000\nlatency = \"11us\"\n",
                           "set = \"lu_single\"\ncodelet = \"gemm\"\ndevice = \"gpu0\"\n1200 = \"3.5us\"  # 10\n4800 = \"28us\"  # 20\n",
                           "set = \"lu_double\"\ncodelet = \"qr\"\nclass = \"cpu\"\n4000 = \"7us\"  # 10\n"})
    EXPECT_TRUE(text.has(part)) << part << "\nis not in\n" << text.out;
  const ToolAnswer topo = run("--set drivers=sim --set time=virtual --set sim.machine=" + toml + " topo --table");
  EXPECT_EQ(topo.status, 0) << topo.out;
  for (const char *part : {"gpu0:ram", "1.0 GiB", "10000 ns", "11000 ns", "5.0", "6.0"}) EXPECT_TRUE(topo.has(part)) << part << "\n" << topo.out;
}

TEST_F(MachineImport, UsesMatricesWithoutRoutes) {
  const ToolAnswer a = run("machine import " + json() + " plain");
  EXPECT_EQ(a.status, 0) << a.out;
  EXPECT_TRUE(a.has("units = 2\n")) << "each accelerator has a core: " << a.out;
  EXPECT_TRUE(a.has("from = \"cuda0\"\nto = \"cuda1\"\nbandwidth = 3000000000\nlatency = \"20us\"\nboth = false\n")) << a.out;
  EXPECT_FALSE(a.has("from = \"cuda1\"\nto = \"cuda0\"")) << "no bandwidth: over the host";
}

TEST_F(MachineImport, RefusesBadFiles) {
  const auto says = [&](const std::string &file, const std::string &name, const char *what) {
    const ToolAnswer a = run("machine import " + file + " " + name + " --operands qr=1");
    EXPECT_EQ(a.status, 1) << a.out;
    EXPECT_TRUE(a.has(what)) << a.out;
  };
  says(json("{"), "small", "is not JSON");
  says(folder_ / "none.json", "small", "cannot be read");
  says(json("{}"), "small", "has no \"platforms\"");
  says(json(), "smal", "has no platform \"smal\" (did you mean \"small\"?); it has: plain, small");
  says(json_with("\"mean_us\": 3.5", "\"mean_us\": 0"), "small", "platforms.small.kernels.lu_single.10.gemm.gpu0.mean_us: must be more than 0");
  says(json_with("\"mean_us\": 3.5", "\"mean_us\": \"3\""), "small", "gemm.gpu0.mean_us: is not a number");
  says(json_with(", \"gpu0\": {\"mean_us\": 28}", ""), "small", "20.gemm: has no \"gpu0\"");
  says(json_with("\"20\":", "\"big\":"), "small", "lu_single.big: is not a tile size");
  says(json_with("6e9", "-6e9"), "small", "links.RAM-GPU0.bandwidth_Bps: -6000000000.0 is too small");
  says(json_with("[\"RAM-GPU0\",", "[\"RAM-GPU1\","), "small", "routes.RAM->GPU0[0]: no link \"RAM-GPU1\"");
  says(json_with("\"GPU0->RAM\"", "\"GPU7->RAM\""), "small", "\"GPU7\" is neither RAM nor one of the 1 accelerators");
  says(json_with(", \"GPU0->RAM\": [\"GPU0-RAM\", \"Host\"]", ""), "small", "routes: none from gpu0 to host");
  says(json_with("\"ngpus\": 1", "\"ngpus\": 2"), "small", "ngpus: is 2, but starpu_workers has 1");
  says(json_with("\"gpu_mem_bytes\": 1073741824,", ""), "small", "has no \"gpu_mem_bytes\"");
  const ToolAnswer unknown = run("machine import " + json() + " small");
  EXPECT_EQ(unknown.status, 1);
  EXPECT_TRUE(unknown.has("lu_double.10.qr: its number of tiles is unknown; give --operands qr=N")) << unknown.out;
  EXPECT_EQ(run("machine import " + json() + " small --operands qr").status, 1);
  EXPECT_EQ(run("machine").status, 2);
}

// A key that the import does not know would be dropped, and the machine would be another one.
TEST_F(MachineImport, RefusesUnknownKeysByName) {
  const auto says = [&](const std::string &from, const std::string &to, const char *what) {
    const ToolAnswer a = run("machine import " + json_with(from, to) + " small --operands qr=1");
    EXPECT_EQ(a.status, 1) << a.out;
    EXPECT_TRUE(a.has(what)) << a.out;
  };
  says("\"overheads_us\"", "\"overheads\"", "platforms.json: has an unknown key \"overheads\"");
  says("\"task_submit\"", "\"task_submits\"", "overheads_us: has an unknown key \"task_submits\" (did you mean \"task_submit\"?)");
  says("\"gpu_malloc\"", "\"cuda_malloc\"", "overheads_us: has an unknown key \"cuda_malloc\"");
  says("\"gpu_mem_bytes\": 1073741824", "\"gpu_mem_bytes\": 1, \"gpu_mem\": 2", "small: has an unknown key \"gpu_mem\"");
  says("\"latency_s\": 1e-05", "\"latency_us\": 10, \"latency_s\": 1e-05", "links.RAM-GPU0: has an unknown key \"latency_us\"");
  says("\"gpu0\": {\"mean_us\": 28}", "\"gpu0\": {\"mean_us\": 28}, \"gpu1\": {\"mean_us\": 28}", "20.gemm: has an unknown key \"gpu1\"");
  says("{\"mean_us\": 28}", "{\"mean_us\": 28, \"median\": 27}", "gemm.gpu0: has an unknown key \"median\"");
  EXPECT_EQ(run("machine import " + json_with("\"task_submit\"", "\"_note\": \"of 2014\", \"task_submit\"") + " small --operands qr=1").status, 0)
      << "keys that begin with _ are notes";
}

}  // namespace
