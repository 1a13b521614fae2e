// The registry and its layers: nothing where none is named, order, errors, and answers that no layer may give.
#include <consort/layer.h>

#include "loader_support.hpp"

namespace consort {
namespace {

// A layer linked into the test: each of its functions is the inner's, one hook apart. The test sets its answer.
struct Answer {
  enum { kInner, kWrapped, kNothing, kOtherName, kNoOps, kThrows } what = kWrapped;
} answer;
std::vector<std::string> order;  // the layers and the plugins that they were asked to wrap
const void *inner_pop;              // of the scheduler, as the layer was given it

template <int kWhich>
const consort_plugin *wrap(void *, const consort_host *of, const consort_plugin *inner) {
  static consort_plugin outer[4];
  static consort_scheduler_ops ops;
  order.push_back(std::to_string(kWhich) + " " + inner->name);
  if (inner->kind != CONSORT_KIND_SCHEDULER || answer.what == Answer::kInner) return inner;
  if (answer.what == Answer::kNothing) return of->fail(of, CONSORT_E_UNSUPPORTED, "not this one"), nullptr;
  if (answer.what == Answer::kThrows) throw 1;
  inner_pop = reinterpret_cast<const void *>(static_cast<const consort_scheduler_ops *>(inner->ops)->pop);
  ops = *static_cast<const consort_scheduler_ops *>(inner->ops);
  ops.flush = [](void *) {};
  outer[kWhich] = *inner;
  outer[kWhich].ops = answer.what == Answer::kNoOps ? nullptr : &ops;
  if (answer.what == Answer::kOtherName) outer[kWhich].name = "somebody";
  return &outer[kWhich];
}
#define LAYER(id)                                                                                                    \
  const consort_layer_ops ops_##id = {sizeof(consort_layer_ops), 0, wrap<id>};                                       \
  const consort_plugin plugin_##id = {.size = sizeof(consort_plugin), .kind = CONSORT_KIND_LAYER,                    \
      .abi_major = CONSORT_LAYER_MAJOR, .abi_minor = CONSORT_LAYER_MINOR, .flags = 0, .name = "layer" #id,           \
      .version = "1", .summary = "", .license = "", .params = nullptr, .nparams = 0, .reserved = 0, .ops = &ops_##id, \
      .init = nullptr, .quiesce = nullptr, .fini = nullptr, .get = nullptr};                                         \
  const consort_module *entry_##id(const consort_host *) {                                                           \
    static const consort_plugin *const list[] = {&plugin_##id};                                                      \
    static const consort_module module = {sizeof(consort_module), 1, list};                                          \
    return &module;                                                                                                  \
  }
LAYER(0)
LAYER(1)

struct Made {
  explicit Made(Pairs set) {
    order.clear();
    folder.add("good");
    set.insert(set.end(), {{"plugin_path", folder.path().c_str()}, {"log", "debug"}});
    consort_entry_fn *const modules[] = {entry_0, entry_1};
    auto r = Registry::open(config_of(set), {}, Lines::write, &lines, modules, 2);
    EXPECT_TRUE(r) << r.error().text;
    if (r) registry = std::move(*r);
  }
  Result<Plugin *> load() { return registry->load(CONSORT_KIND_SCHEDULER, "good"); }
  std::string failure() {
    auto p = load();
    EXPECT_FALSE(p);
    return p ? "" : p.error().text;
  }
  Folder folder;
  Lines lines;
  std::unique_ptr<Registry> registry;
};

TEST(PluginLayers, WithoutLayersTheTableIsThePlugins) {
  Made m(Pairs{});
  auto manifest = m.registry->inspect(CONSORT_KIND_SCHEDULER, "good");
  ASSERT_TRUE(manifest);
  const consort_scheduler_ops before = *static_cast<const consort_scheduler_ops *>((*manifest)->ops);
  auto p = m.load();
  ASSERT_TRUE(p);
  EXPECT_EQ((*p)->manifest, *manifest);
  EXPECT_EQ(std::memcmp((*p)->scheduler(), &before, sizeof before), 0) << "the very same functions";
  EXPECT_TRUE(order.empty());
}

TEST(PluginLayers, FirstNamedLayerIsOutermost) {
  answer.what = Answer::kWrapped;
  Made m(Pairs{{"layers", "layer0,layer1"}});
  auto manifest = m.registry->inspect(CONSORT_KIND_SCHEDULER, "good");  // without layers
  ASSERT_TRUE(manifest);
  const auto pop = reinterpret_cast<const void *>(static_cast<const consort_scheduler_ops *>((*manifest)->ops)->pop);
  auto p = m.load();
  ASSERT_TRUE(p) << p.error().text;
  EXPECT_EQ(order, (std::vector<std::string>{"1 good", "0 good"}));
  EXPECT_NE((*p)->scheduler()->flush, nullptr) << "the layer's table is used";
  EXPECT_EQ(inner_pop, pop);
  EXPECT_EQ(*m.load(), *p);
  EXPECT_EQ(order.size(), 2u) << "once";
  EXPECT_STREQ((*p)->manifest->name, "good");
}

TEST(PluginLayers, LayerMayReturnTheInnerTable) {
  answer.what = Answer::kInner;
  Made m(Pairs{{"layers", "layer1"}});
  auto p = m.load();
  ASSERT_TRUE(p);
  EXPECT_EQ(order.size(), 1u);
  EXPECT_EQ((*p)->scheduler()->flush, nullptr);
  EXPECT_EQ((*p)->manifest->ops, (*p)->scheduler());
}

TEST(PluginLayers, RefusesBadLayerLists) {
  const auto says = [](const char *list, std::initializer_list<const char *> parts) {
    answer.what = Answer::kWrapped;
    Made m(Pairs{{"layers", list}});
    const std::string text = m.failure();
    for (const char *part : parts) EXPECT_NE(text.find(part), text.npos) << text;
    EXPECT_EQ(text.find('\n'), text.npos);
    auto drivers = m.registry->load_drivers();
    EXPECT_FALSE(drivers) << "no driver starts without the layers that were asked for";
    auto names = m.registry->check_names();
    EXPECT_TRUE(names || names.error().text.find("layer") != std::string::npos);
  };
  says("layr1", {"code: layer \"layr1\" not found", "did you mean \"layer1\"?", "consort plugins lists what there is"});
  says("layer0, layer0", {"code", "layer \"layer0\" is named twice"});
  says("good", {"layer \"good\" not found"});
}

TEST(PluginLayers, RefusesBadAnswersOfLayers) {
  const auto says = [](decltype(answer.what) what, std::initializer_list<const char *> parts) {
    answer.what = what;
    Made m(Pairs{{"layers", "layer0"}});
    for (int again = 0; again < 2; ++again) {
      const std::string text = m.failure();
      for (const char *part : parts) EXPECT_NE(text.find(part), text.npos) << text;
    }
    answer.what = Answer::kWrapped;
    EXPECT_TRUE(m.load()) << "the failed load left nothing";
  };
  says(Answer::kNothing, {"layer \"layer0\" over scheduler \"good\" refuses: not this one"});
  says(Answer::kOtherName, {"layer \"layer0\" over scheduler \"good\"", "answers another plugin"});
  says(Answer::kNoOps, {"layer \"layer0\" over scheduler \"good\"", "no function table"});
  says(Answer::kThrows, {"layer \"layer0\" over scheduler \"good\"", "threw an exception"});
}

}  // namespace
}  // namespace consort
