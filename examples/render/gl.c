#include "gl.h"

#include <stddef.h>

/* Functions of GL's, found by name once there is a context. */
#define FUNCTIONS(X)                                                                                             \
  X(PFNGLGENBUFFERSPROC, glGenBuffers)                                                                           \
  X(PFNGLBINDBUFFERPROC, glBindBuffer)                                                                           \
  X(PFNGLBUFFERDATAPROC, glBufferData)                                                                           \
  X(PFNGLDELETEBUFFERSPROC, glDeleteBuffers)                                                                     \
  X(PFNGLGENFRAMEBUFFERSPROC, glGenFramebuffers)                                                                 \
  X(PFNGLBINDFRAMEBUFFERPROC, glBindFramebuffer)                                                                 \
  X(PFNGLDELETEFRAMEBUFFERSPROC, glDeleteFramebuffers)                                                           \
  X(PFNGLGENRENDERBUFFERSPROC, glGenRenderbuffers)                                                               \
  X(PFNGLBINDRENDERBUFFERPROC, glBindRenderbuffer)                                                               \
  X(PFNGLRENDERBUFFERSTORAGEPROC, glRenderbufferStorage)                                                         \
  X(PFNGLDELETERENDERBUFFERSPROC, glDeleteRenderbuffers)                                                         \
  X(PFNGLFRAMEBUFFERRENDERBUFFERPROC, glFramebufferRenderbuffer)                                                 \
  X(enable_fn, glEnableClientState)                                                                              \
  X(pointer_fn, glVertexPointer)                                                                                 \
  X(pointer_fn, glColorPointer)                                                                                  \
  X(draw_fn, glDrawArrays)                                                                                       \
  X(view_fn, glViewport)                                                                                         \
  X(color_fn, glClearColor)                                                                                      \
  X(enable_fn, glClear)                                                                                          \
  X(read_fn, glReadPixels)                                                                                       \
  X(error_fn, glGetError)
typedef void (*enable_fn)(GLenum);
typedef void (*pointer_fn)(GLint, GLenum, GLsizei, const void *);
typedef void (*draw_fn)(GLenum, GLint, GLsizei);
typedef void (*view_fn)(GLint, GLint, GLsizei, GLsizei);
typedef void (*color_fn)(GLfloat, GLfloat, GLfloat, GLfloat);
typedef void (*read_fn)(GLint, GLint, GLsizei, GLsizei, GLenum, GLenum, void *);
typedef GLenum (*error_fn)(void);
static struct {
#define X(type, name) type name;
  FUNCTIONS(X)
#undef X
} gl;

static EGLDisplay display = EGL_NO_DISPLAY;
static EGLContext context = EGL_NO_CONTEXT;

/* Mesa has a display of no surface at all, NVIDIA's library one for each device. */
static EGLDisplay some_display(void) {
  const PFNEGLGETPLATFORMDISPLAYEXTPROC of = (PFNEGLGETPLATFORMDISPLAYEXTPROC)eglGetProcAddress("eglGetPlatformDisplayEXT");
  const PFNEGLQUERYDEVICESEXTPROC devices = (PFNEGLQUERYDEVICESEXTPROC)eglGetProcAddress("eglQueryDevicesEXT");
  EGLDeviceEXT device = NULL;
  EGLint n = 0;
  EGLDisplay all[3] = {EGL_NO_DISPLAY, EGL_NO_DISPLAY, EGL_NO_DISPLAY};
  if (of && devices && devices(1, &device, &n) && n > 0) all[0] = of(EGL_PLATFORM_DEVICE_EXT, device, NULL);
  if (of) all[1] = of(EGL_PLATFORM_SURFACELESS_MESA, EGL_DEFAULT_DISPLAY, NULL);
  all[2] = eglGetDisplay(EGL_DEFAULT_DISPLAY);
  for (int i = 0; i < 3; i++)
    if (all[i] != EGL_NO_DISPLAY && eglInitialize(all[i], NULL, NULL)) return all[i];
  return EGL_NO_DISPLAY;
}

const char *gl_begin(void) {
  static const EGLint wanted[] = {EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT, EGL_SURFACE_TYPE, EGL_PBUFFER_BIT, EGL_NONE};
  EGLConfig config = NULL;
  EGLint n = 0;
  display = some_display();
  if (display == EGL_NO_DISPLAY) return "EGL has no display without a window";
  if (!eglBindAPI(EGL_OPENGL_API) || !eglChooseConfig(display, wanted, &config, 1, &n) || n == 0) return "EGL has no OpenGL";
  context = eglCreateContext(display, config, EGL_NO_CONTEXT, NULL);
  if (context == EGL_NO_CONTEXT || !eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, context))
    return "EGL makes no context without a surface";
#define X(type, name)                                 \
  gl.name = (type)eglGetProcAddress(#name);           \
  if (!gl.name) return "OpenGL has no " #name;
  FUNCTIONS(X)
#undef X
  return NULL;
}

void gl_end(void) {
  eglMakeCurrent(display, EGL_NO_SURFACE, EGL_NO_SURFACE, EGL_NO_CONTEXT);
  if (context != EGL_NO_CONTEXT) eglDestroyContext(display, context);
  eglTerminate(display);
}

GLuint gl_buffer(uint64_t vertices) {
  GLuint buffer = 0;
  gl.glGenBuffers(1, &buffer);
  gl.glBindBuffer(GL_ARRAY_BUFFER, buffer);
  gl.glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)(vertices * sizeof(vertex)), NULL, GL_DYNAMIC_DRAW);
  gl.glBindBuffer(GL_ARRAY_BUFFER, 0);
  return buffer;
}

void gl_drop(GLuint buffer) { gl.glDeleteBuffers(1, &buffer); }

unsigned gl_draw(GLuint buffer, int width, int height, uint32_t *pixels) {
  GLuint frame = 0, picture = 0;
  gl.glGenFramebuffers(1, &frame);
  gl.glGenRenderbuffers(1, &picture);
  gl.glBindFramebuffer(GL_FRAMEBUFFER, frame);
  gl.glBindRenderbuffer(GL_RENDERBUFFER, picture);
  gl.glRenderbufferStorage(GL_RENDERBUFFER, GL_RGBA8, width, height);
  gl.glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_RENDERBUFFER, picture);
  gl.glViewport(0, 0, width, height);
  gl.glClearColor(0, 0, 0, 0);
  gl.glClear(GL_COLOR_BUFFER_BIT);
  gl.glBindBuffer(GL_ARRAY_BUFFER, buffer);
  gl.glEnableClientState(GL_VERTEX_ARRAY);
  gl.glEnableClientState(GL_COLOR_ARRAY);
  gl.glVertexPointer(2, GL_FLOAT, sizeof(vertex), (const void *)offsetof(vertex, x));
  gl.glColorPointer(4, GL_UNSIGNED_BYTE, sizeof(vertex), (const void *)offsetof(vertex, colour));
  gl.glDrawArrays(GL_POINTS, 0, width * height);
  gl.glReadPixels(0, 0, width, height, GL_RGBA, GL_UNSIGNED_BYTE, pixels);
  gl.glBindBuffer(GL_ARRAY_BUFFER, 0);
  gl.glBindFramebuffer(GL_FRAMEBUFFER, 0);
  gl.glDeleteRenderbuffers(1, &picture);
  gl.glDeleteFramebuffers(1, &frame);
  return gl.glGetError();
}
