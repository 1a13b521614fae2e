// drawing.cpp — writes SVG to a file, directly or converted to PNG by librsvg. librsvg is opened at run time, so the
// command starts and builds without it.
#include "drawing.hpp"

#include <dlfcn.h>

#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace tool {
namespace {

// Functions of librsvg, cairo and GLib, as documented since librsvg 2.52.
struct Librsvg {
  struct Error { uint32_t domain; int code; const char *message; };
  struct Rectangle { double x, y, width, height; };
  void *(*rsvg_handle_new_from_data)(const uint8_t *, size_t, Error **) = nullptr;
  int (*rsvg_handle_get_intrinsic_size_in_pixels)(void *, double *, double *) = nullptr;
  int (*rsvg_handle_render_document)(void *, void *, const Rectangle *, Error **) = nullptr;
  void (*g_object_unref)(void *) = nullptr;
  void (*g_error_free)(Error *) = nullptr;
  void *(*cairo_image_surface_create)(int format, int width, int height) = nullptr;
  void *(*cairo_create)(void *) = nullptr;
  void (*cairo_destroy)(void *) = nullptr;
  void (*cairo_surface_destroy)(void *) = nullptr;
  int (*cairo_surface_write_to_png)(void *, const char *) = nullptr;
  const char *(*cairo_status_to_string)(int) = nullptr;
  int (*cairo_surface_status)(void *) = nullptr;

  Librsvg() {
    void *library = dlopen("librsvg-2.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library)
      throw std::runtime_error(std::string("a picture needs librsvg (Debian: librsvg2-2), which cannot be opened: ") + dlerror() +
                               "; a file name that ends with .svg needs nothing");
#define FIND(name) find(library, #name, &name)
    FIND(rsvg_handle_new_from_data), FIND(rsvg_handle_get_intrinsic_size_in_pixels), FIND(rsvg_handle_render_document);
    FIND(g_object_unref), FIND(g_error_free), FIND(cairo_image_surface_create), FIND(cairo_create), FIND(cairo_destroy);
    FIND(cairo_surface_destroy), FIND(cairo_surface_write_to_png), FIND(cairo_status_to_string), FIND(cairo_surface_status);
#undef FIND
  }

 private:
  template <class F> static void find(void *library, const char *name, F **out) {
    *out = reinterpret_cast<F *>(dlsym(library, name));  // searches its dependencies too
    if (!*out) throw std::runtime_error(std::string("this librsvg has no ") + name + ": a picture needs 2.52 or newer");
  }
};

void write_png(const std::string &path, const std::string &svg) {
  constexpr int kColours = 0;                    // CAIRO_FORMAT_ARGB32
  const Librsvg lib;
  Librsvg::Error *error = nullptr;
  const auto fail = [&](const std::string &what) {
    const std::string text = what + (error && error->message ? std::string(": ") + error->message : "");
    if (error) lib.g_error_free(error);
    throw std::runtime_error(text);
  };
  const std::unique_ptr<void, void (*)(void *)> handle(
      lib.rsvg_handle_new_from_data(reinterpret_cast<const uint8_t *>(svg.data()), svg.size(), &error), lib.g_object_unref);
  if (!handle) fail("librsvg refuses the drawing");
  double width = 0, height = 0;
  if (!lib.rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height)) fail("the drawing has no size");
  const std::unique_ptr<void, void (*)(void *)> surface(
      lib.cairo_image_surface_create(kColours, static_cast<int>(std::lround(width)), static_cast<int>(std::lround(height))),
      lib.cairo_surface_destroy);
  if (const int s = lib.cairo_surface_status(surface.get())) fail(std::string("cannot create a picture of that size: ") + lib.cairo_status_to_string(s));
  {
    const std::unique_ptr<void, void (*)(void *)> canvas(lib.cairo_create(surface.get()), lib.cairo_destroy);
    const Librsvg::Rectangle all{0, 0, width, height};
    if (!lib.rsvg_handle_render_document(handle.get(), canvas.get(), &all, &error)) fail("librsvg cannot draw it");
  }
  if (const int s = lib.cairo_surface_write_to_png(surface.get(), path.c_str()))
    fail("cannot write " + path + ": " + lib.cairo_status_to_string(s));
}

}  // namespace

std::string escaped(const std::string &text) {
  std::string out;
  for (const char c : text)
    out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  return out;
}

std::string decimals(double x, int digits) {
  char text[48];
  std::snprintf(text, sizeof text, "%.*f", digits, x);
  return text;
}

void write_drawing(const std::string &path, const std::string &svg) {
  if (path.ends_with(".png")) return write_png(path, svg);
  std::ofstream file(path);
  file << svg;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

}  // namespace tool
